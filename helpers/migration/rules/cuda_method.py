"""`.cuda(...)` on tensors and modules.

transfer_to_npu makes it `.npu(...)`, and that takes nothing or a number. `Module.npu` calls
torch.device("npu", device), so a string or a torch.device raises TypeError (torch_npu/utils/_module.py);
`Tensor.npu` answers "Invalid device, must be npu device". `.to(...)` takes them all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import ASCEND, MEASURED, Known
from helpers.migration.reading.calls import argument
from helpers.migration.reading.kinds import NUMBER, STRING, UNKNOWN, about_devices, kinds
from helpers.migration.reading.source import Source
from helpers.migration.repair import AUTO, REWRITE, found_method

CODE = "MIG103"
TOKENS = ("cuda",)
KNOWN = Known(MEASURED, ASCEND + "torch_npu/utils/_module.py")
EXAMPLES = (
    ("model = net().cuda()  # 放到显卡\n", "auto", None),
    ("x = x.cuda(0, non_blocking=True)\n", "auto", None),
    ("x = x.cuda(args.gpu)\n", "auto", None),
    ("张量 = x.cuda('cuda:0')\n", "rewrite", "张量 = x.to('cuda:0')\n"),
    ("x = x.cuda('cuda:0', True)\n", "rewrite", "x = x.to('cuda:0', non_blocking=True)\n"),
    (
        "import torch\nm.cuda(device=torch.device('cuda'))\n",
        "rewrite",
        "import torch\nm.to(device=torch.device('cuda'))\n",
    ),
    ("def f(m, device):\n    m.cuda(device)\n", "rewrite", "def f(m, device):\n    m.to(device)\n"),
    (
        "import torch\ndef f(m, i=None):\n    device = torch.cuda.current_device() if i is None else i\n"
        "    m.cuda(device=device)  # 编号\n",
        "auto",
        None,
    ),
    ("x = x.cuda(y.device)\n", "rewrite", "x = x.to(y.device)\n"),
)
NEAR_MISSES = (
    "import torch\ntorch.cuda.synchronize()\n",
    "x.cuda\n",
    "import torch.version\nprint(torch.version.cuda, '显卡')\n",
    "cuda()\n",
    "# x.cuda('cuda:0')\n",
    "s = 'x.cuda(\"cuda:0\")'\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.names.methods.get("cuda", ()):
        if not source.names.resolve(call.func).startswith("torch."):
            yield from _judge(source, call)


def _judge(source: Source, call: ast.Call) -> Iterable[Finding]:
    assert isinstance(call.func, ast.Attribute)
    target = argument(call, 0, "device")
    if target is None or not _may_be_device(source, target):
        yield found_method(source, call, "MIG103.moved", AUTO)
        return
    edits = source.replace(call.func, "cuda", "to")
    if edits and len(call.args) > 1:
        start, _ = source.span(call.args[1])
        edits = (*edits, Edit(start, start, "non_blocking="))
    if len(call.args) > 2:  # Tensor.to has no third positional argument that means the same
        edits = ()
    yield found_method(source, call, "MIG103.takes_number", REWRITE, edits)


def _may_be_device(source: Source, target: ast.expr) -> bool:
    """A device or a string for sure, or unknown and named like one; `.to` is right for numbers too."""
    if isinstance(target, ast.Constant) and target.value is None:
        return False
    held = kinds(source, target)
    if held <= {NUMBER, UNKNOWN}:
        return held == {UNKNOWN} and about_devices(target)
    return bool(held - {NUMBER, UNKNOWN}) or STRING in held
