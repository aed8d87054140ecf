"""Which accelerator is here, and why the better ones are not.

Tiers: `npu` (a real one), `npu-simulated`, `cuda`, `cpu`. Nothing is imported in this process: a broken
torch_npu breaks `import torch`, so each question is put to a child with a time limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from helpers import cann, simulator
from helpers.errors import WorkbookError
from helpers.report import TIERS
from helpers.words import Scalar

TIMEOUT_S = 120.0
PROBE = Path(__file__).with_name("device_probe.py")
Why = "dict[str, Any]"


@dataclass(frozen=True)
class Device:
    """What was found: tier, its name (`Ascend910B2`), how many, and for each better tier why it is not here."""

    tier: str
    name: str
    count: int
    versions: dict[str, str] = field(default_factory=dict)
    why_not: dict[str, dict[str, Scalar]] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        return self.tier == "npu-simulated"

    @property
    def accelerator(self) -> str:
        """The torch device type: `npu`, `cuda` or `cpu`."""
        return "npu" if self.tier.startswith("npu") else self.tier


def find(wanted: str = "auto", *, python: str = sys.executable) -> Device:
    """The best tier that is here, or exactly the one asked for.

    Raises WorkbookError `device.absent` with the reason where the tier asked for is not here: `npu` never
    falls back to a simulated one.
    """
    if wanted != "auto" and wanted not in TIERS:
        raise WorkbookError("device.unknown", wanted=wanted)
    why_not: dict[str, dict[str, Scalar]] = {}
    for tier in TIERS if wanted == "auto" else (wanted,):
        answer = _ask(tier, python)
        if "why" not in answer:
            return Device(tier, answer["name"], answer["count"], answer["versions"], why_not)
        why_not[tier] = answer["why"]
    raise WorkbookError("device.absent", wanted=wanted, why=why_not[wanted])


def baseline(wanted: str = "auto", *, python: str = sys.executable) -> Device:
    """What a GPU script is compared against: CUDA, else the CPU standing in for it."""
    if wanted not in ("auto", "cuda", "cpu"):
        raise WorkbookError("device.unknown", wanted=wanted)
    if wanted != "auto":
        return find(wanted, python=python)
    cuda = _ask("cuda", python)
    if "why" not in cuda:
        return Device("cuda", cuda["name"], cuda["count"], cuda["versions"])
    cpu = find("cpu", python=python)
    return Device("cpu", cpu.name, cpu.count, cpu.versions, {"cuda": cuda["why"]})


def child_environment(tier: str, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment a child needs to see the tier's device.

    TASK_QUEUE_ENABLE is left out: in a notebook torch_npu has overwritten it with 0 for this process, and a
    child would inherit that (torch_npu/utils/_module.py sets it when Python is interactive).
    """
    clean = cann.without_simulator(os.environ if base is None else base)
    clean.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    if tier.startswith("npu"):
        clean.pop("TASK_QUEUE_ENABLE", None)
    if tier == "npu-simulated":
        return simulator.environment(base=clean)
    if tier == "npu":
        here = cann.find(clean)
        if here and not here.sourced:
            return cann.sourced_environment(here.root, clean) or clean
        return clean
    clean["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    return clean


def _ask(tier: str, python: str) -> dict[str, Any]:
    early = _cannot_be(tier)
    if early:
        return {"why": early}
    command = [python, str(PROBE), tier]
    try:
        done = subprocess.run(
            command, env=child_environment(tier), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return {"why": {"say": "device.why.timeout", "args": {"seconds": int(TIMEOUT_S)}}}
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        error = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"why": {"say": "device.why.import", "args": {"error": error}}}
    return answer


def _cannot_be(tier: str) -> dict[str, Scalar] | None:
    """Reasons that need no child: a missing CANN, torch_npu or simulator."""
    if tier == "npu":
        here = cann.find(cann.without_simulator(os.environ))
        if here is None:
            active = cann.find()
            return {"say": "device.why.not_real" if active and active.simulated else "device.why.no_cann"}
        if not _installed("torch_npu"):
            return {"say": "device.why.no_torch_npu"}
    if tier == "npu-simulated" and not simulator.is_built():
        return {"say": "device.why.no_simulator"}
    return None


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
