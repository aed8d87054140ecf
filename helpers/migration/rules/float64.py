"""float64 on the device. HCCL refuses it in collectives (ProcessGroupHCCL.cpp, all but Ascend 950), and many
kernels have no double: torch_npu casts or raises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import ASCEND, DOCUMENTED, Known
from helpers.migration.reading.calls import argument, string
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, MANUAL, REWRITE, found

CODE = "MIG115"
TOKENS = ("float64", "double")
NEEDS = ("torch",)
#: Named in code, and beside it what makes it matter.
PATTERN = (
    r"\A(?=[\s\S]*?(?:\.|\bimport|[,(]) (?:double|float64)\b)"
    r"(?=[\s\S]*?(?:\. double \( \)|\bset_default_dtype\b|\bdevice =))"
)
KNOWN = Known(DOCUMENTED, ASCEND + "torch_npu/csrc/distributed/ProcessGroupHCCL.cpp", inferred=("kernel",))
DOUBLE = {"torch.float64", "torch.double"}
COLLECTIVES = {"all_reduce", "reduce", "all_gather", "broadcast", "reduce_scatter", "all_gather_into_tensor"}
#: Words of names and keys for a time of day.
OF_TIME = re.compile(r"(?:^|_)(?:time|timestamps?|start|now|clock)(?:_|$)", re.IGNORECASE)
EXAMPLES = (
    (
        "import torch\nimport torch.distributed as dist\ndef f(a):\n"
        "    和 = torch.tensor([a], dtype=torch.float64, device='cuda')\n    dist.all_reduce(和)\n",
        "rewrite",
        "import torch\nimport torch.distributed as dist\ndef f(a):\n"
        "    和 = torch.tensor([a], dtype=torch.float32, device='cuda')\n    dist.all_reduce(和)\n",
    ),
    (
        "import time\nimport torch\nimport torch.distributed as dist\n始 = time.time()\n"
        "t = torch.tensor([始], dtype=torch.double, device='cuda')\ndist.all_reduce(t, op=dist.ReduceOp.MIN)\n",
        "manual",
        None,
    ),
    ("import torch\nx = torch.zeros(3, dtype=torch.double, device='cuda')\n", "advice", None),
    ("import torch\ny = x.double()\n", "advice", None),
    ("import torch\ntorch.set_default_dtype(torch.float64)\n", "manual", None),
)
NEAR_MISSES = (
    "import torch\nx = torch.zeros(3, dtype=torch.float64)  # 留在主机\n",
    "import numpy as np\nx = np.zeros(3, dtype=np.float64)\n",
    "import torch\nx = torch.zeros(3, dtype=torch.float64, device='cpu')\n",
    "x.double(3)\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.names.called.get("torch.set_default_dtype", ()):
        if call.args and source.names.resolve(call.args[0]) in DOUBLE:
            yield found(source, call, "MIG115.default", MANUAL)
    for call in source.names.given.get("dtype", ()):
        dtype = argument(call, 99, "dtype")
        if dtype is not None and source.names.resolve(dtype) in DOUBLE:
            yield from _made(source, call, dtype)
    for call in source.names.methods.get("double", ()):
        if not call.args and not source.names.call(call).startswith(("numpy.", "torch.")):
            yield found(source, call, "MIG115.kernel", ADVICE)


def _made(source: Source, call: ast.Call, dtype: ast.expr) -> Iterable[Finding]:
    device = argument(call, 99, "device")
    if device is None or (string(device) or "").startswith("cpu"):
        return
    if _is_reduced(source, call) and _needs_digits(source, call):
        yield found(source, dtype, "MIG115.digits", MANUAL)
    elif _is_reduced(source, call):
        edits = source.replace(dtype, "float64", "float32") or source.replace(dtype, "double", "float32")
        yield found(source, dtype, "MIG115.collective", REWRITE, edits)
    else:
        yield found(source, dtype, "MIG115.kernel", ADVICE)


def _needs_digits(source: Source, call: ast.Call) -> bool:
    """A time of day: seconds since 1970 are told to 128 s in float32."""
    held = [inner for value in call.args for inner in ast.walk(value)]
    held += [inner for name in held if isinstance(name, ast.Name) for value in source.names.values(name)
             if isinstance(value, ast.expr) for inner in ast.walk(value)]  # fmt: skip
    words = (getattr(node, "id", "") or getattr(node, "attr", "") or string(node) or "" for node in held)
    return any(OF_TIME.search(word) for word in words)


def _is_reduced(source: Source, call: ast.Call) -> bool:
    """The tensor's name is handed to a collective in the same function."""
    above = source.names.parent(call)
    names = (
        {target.id for target in above.targets if isinstance(target, ast.Name)}
        if isinstance(above, ast.Assign)
        else set()
    )
    inside = source.names.function(call)
    for other in source.nodes(ast.Call):
        name = source.names.call(other)
        if name.startswith("torch.distributed.") and name.rsplit(".", 1)[-1] in COLLECTIVES:
            given = {inner.id for value in other.args for inner in ast.walk(value) if isinstance(inner, ast.Name)}
            if names & given and source.names.function(other) is inside:
                return True
    return False
