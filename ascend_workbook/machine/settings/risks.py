"""How much a difference endangers the comparison of precision, and why: the tables of risks.json, one for each group.

high: results are expected to part, or the runs are different experiments. medium: results may part. low: values do
not depend on it, or in the last bit only. expected: a GPU and an NPU differ in it by nature.
Sources: torch reproducibility notes (https://pytorch.org/docs/stable/notes/randomness.html), CUDA semantics (TF32),
CANN environment variables (HCCL_DETERMINISTIC, INF_NAN_MODE_ENABLE), MindStudio msprobe's config_check
(core/config_check/resource: which variables and packages it compares, and which GPU variable answers which of NPU's).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HIGH, MEDIUM, LOW, EXPECTED = "high", "medium", "low", "expected"
ORDER = (HIGH, MEDIUM, LOW, EXPECTED)
_TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("risks.json").read_text(encoding="utf-8"))
#: name -> (risk, ending of the sentences settings.why.… and settings.do.…)
VARIABLES, FLAGS, MACHINE, RUN = (
    {name: (risk, why) for risk, why, names in _TABLES[group] for name in names.split()}
    for group in ("variables", "flags", "machine", "run")
)
#: A GPU's variable and the NPU's that answers it: across tiers the one is held against the other.
ANSWERS: dict[str, str] = _TABLES["answers"]
PACKAGES = {name: why for why, names in _TABLES["packages"].items() for name in names.split()}
#: Packages of one accelerator only.
OWN = re.compile(r"torch_npu|torchair|triton(_ascend)?|pytorch_triton|te|hccl|(nvidia|cuda|cupy|ascend|mindstudio)_.*")
#: Of the machine: by nature different where the tiers are.
BY_TIER = ("tier", "device", "cann", "cuda", "driver", "arch", "system", "count")


def package_risk(name: str, left: str, right: str, across: bool) -> tuple[str, str]:
    """Return risk and reason of a package's versions, empty where it is missing; `across`: the tiers differ."""
    if across and OWN.fullmatch(name) and not (left and right):
        return EXPECTED, "device"
    if name == "torch":
        same = left and right and left.split("+")[0] == right.split("+")[0]
        return (EXPECTED, "build") if same else (HIGH, "torch")
    if name == "torch_npu":
        return HIGH, "torch"
    why = PACKAGES.get(name, "other")
    return {"model": HIGH, "other": LOW}.get(why, MEDIUM), why
