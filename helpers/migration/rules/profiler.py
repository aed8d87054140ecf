"""torch.profiler: replaced by torch_npu.profiler, which has no key_averages() and writes other files.

The autograd profiler is not replaced: `use_device="cuda"` raises TypeError.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import ASCEND, MEASURED, Known
from helpers.migration.reading.calls import argument, method
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import AUTO, MANUAL, found

CODE = "MIG124"
WORDS = ("profiler",)
NEEDS = ("torch",)
PATTERN = r"\b(?:profile|schedule|tensorboard_trace_handler|ProfilerActivity|emit_nvtx)\b"
KNOWN = Known(MEASURED, ASCEND + "docs/zh/developer_notes/ascend_pytorch_profiler_user_guide.md")
REPLACED = {
    "torch.profiler.profile",
    "torch.profiler.schedule",
    "torch.profiler.tensorboard_trace_handler",
    "torch.profiler.ProfilerActivity.CUDA",
}
#: For NVIDIA's own profilers: entering it raises where torch has no NVTX.
EMIT = "torch.autograd.profiler.emit_nvtx"
EXAMPLES = (
    (
        "from torch.profiler import profile, ProfilerActivity\n"
        "with profile(activities=[ProfilerActivity.CUDA]):  # 采集\n    pass\n",
        "auto",
        None,
    ),
    (
        "import torch\nwith torch.profiler.profile() as p:\n    pass\nprint('表', p.key_averages().table())\n",
        "manual",
        None,
    ),
    ("import torch\nwith torch.autograd.profiler.profile(use_device='cuda'):\n    pass\n", "manual", None),
    ("import torch\nwith torch.autograd.profiler.emit_nvtx():  # 标记\n    pass\n", "manual", None),
)
NEAR_MISSES = (
    "from mine import emit_nvtx\nwith emit_nvtx():\n    pass\n",
    "from torch.profiler import record_function\nwith record_function('前向'):\n    pass\n",
    "import cProfile\np = cProfile.Profile()\n",
    "import torch\nwith torch.autograd.profiler.profile():\n    pass\n",
)


def check(source: Source) -> Iterable[Finding]:
    used = False
    for node, name in source.names.named:
        if name in REPLACED and load(node):
            used = True
            yield found(source, node, "MIG124.replaced", AUTO)
    for call in source.nodes(ast.Call):
        if used and method(call) == "key_averages":
            yield found(source, call, "MIG124.key_averages", MANUAL)
        elif source.names.call(call) == EMIT or (
            source.names.call(call) == "torch.autograd.profiler.profile"
            and (argument(call, 1, "use_cuda") or argument(call, 99, "use_device"))
        ):
            yield found(source, call, "MIG124.autograd", MANUAL)
