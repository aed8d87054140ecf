"""Calls of NVML (pynvml, py3nvml, nvidia_smi), NVTX and GPUtil: an Ascend machine has neither."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, NPU_SMI, TRANSFER, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, UNSUPPORTED, found

CODE = "MIG135"
#: Library -> the sentence about its calls.
LIBRARIES = {"pynvml": "nvml", "py3nvml": "nvml", "nvidia_smi": "nvml", "GPUtil": "nvml", "gpustat": "nvml",
             "nvtx": "nvtx"}  # fmt: skip
TOKENS = set(LIBRARIES)
KNOWN = Known(DOCUMENTED, NPU_SMI, hours={"nvml": 0.5, "nvtx": 0.1}, links={"nvtx": TRANSFER})
EXAMPLES = (
    ("import pynvml\npynvml.nvmlInit()  # 显存\n", "unsupported", None),
    ("from pynvml import nvmlDeviceGetHandleByIndex as get\nh = get(0)\n", "unsupported", None),
    ("import nvtx\nwith nvtx.annotate('前向'):\n    pass\n", "manual", None),
)
NEAR_MISSES = (
    "import pynvml  # 只导入\n",
    "from mine import nvtx\nnvtx.mark('前向')\n",
    "def nvmlInit():\n    pass\nnvmlInit()\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.nodes(ast.Call):
        name = source.names.call(call)
        outcome = LIBRARIES.get(name.split(".")[0]) if "." in name else None
        if outcome:
            repair = UNSUPPORTED if outcome == "nvml" else MANUAL
            yield found(source, call, f"MIG135.{outcome}", repair, name=name)
