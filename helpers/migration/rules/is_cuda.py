"""`x.is_cuda` is True for a tensor on an NPU under transfer_to_npu.

Right for "is it on the accelerator", wrong where the branch holds CUDA kernels or Triton: those would then
run on an NPU. Where the branch says so, the question gets `and x.device.type != "npu"`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.branches import branch, has_data_parallel, has_kernel
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import AUTO, MANUAL, REWRITE, found

CODE = "MIG105"
TOKENS = ("is_cuda",)
KNOWN = Known(MEASURED, TRANSFER)
EXAMPLES = (
    (
        "if x.is_cuda:  # 显卡分支\n    from .triton_ops import f\n    f(x)\n",
        "rewrite",
        'if (x.is_cuda and x.device.type != "npu"):  # 显卡分支\n    from .triton_ops import f\n    f(x)\n',
    ),
    (
        "def go(x):\n    return scan_cuda(x) if x.is_cuda else scan(x)\n",
        "rewrite",
        'def go(x):\n    return scan_cuda(x) if (x.is_cuda and x.device.type != "npu") else scan(x)\n',
    ),
    (
        "from . import _C\nclass F(Function):\n    def forward(self, x):\n        return _C.go(x)\n\n\n"
        "if ok and x.is_cuda:\n    y = F.apply(x)\n",
        "rewrite",
        "from . import _C\nclass F(Function):\n    def forward(self, x):\n        return _C.go(x)\n\n\n"
        'if ok and (x.is_cuda and x.device.type != "npu"):\n    y = F.apply(x)\n',
    ),
    (
        "if not x.is_cuda:  # 主机\n    y = scan(x)\nelse:\n    y = k.scan_cuda(x)\n",
        "rewrite",
        'if not (x.is_cuda and x.device.type != "npu"):  # 主机\n    y = scan(x)\nelse:\n    y = k.scan_cuda(x)\n',
    ),
    ("if not x.is_cuda:\n    scan_cuda(x.cpu())\nelse:\n    x = x.cpu()\n", "auto", None),
    ("if next(批).is_cuda:\n    y = scan_cuda(x)\n", "manual", None),
    ("while self.queue.pop().is_cuda:\n    pass\nif f(x).data.is_cuda:\n    scan_cuda(x)\n", "manual", None),
    (
        "if xs[0].is_cuda:\n    scan_cuda(xs)\n",
        "rewrite",
        'if (xs[0].is_cuda and xs[0].device.type != "npu"):\n    scan_cuda(xs)\n',
    ),
    (
        "from torch import nn\nif x.is_cuda and 卡数 > 1:\n    y = nn.parallel.data_parallel(m, x)\n",
        "manual",
        None,
    ),
    ("assert x.is_cuda, '须在显卡上'\n", "auto", None),
    ("if x.is_cuda:\n    x = x.cpu()\n", "auto", None),
)
NEAR_MISSES = (
    "x.is_cuda = True\n",
    "is_cuda = 1\nprint(is_cuda, '否')\n",
    "if (x.is_cuda and x.device.type != 'npu'):\n    scan_cuda(x)\n",
    "class L:\n    def __init__(self, d):\n        self.is_cuda = d\n        if self.is_cuda:\n            pass\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node in source.nodes(ast.Attribute):
        if node.attr != "is_cuda" or not load(node) or _guarded(source, node):
            continue
        if not is_own(source, node):
            taken = branch(source, node)
            if has_kernel(source, taken):
                yield found(source, node, "MIG105.kernel", REWRITE, _edits(source, node))
            elif has_data_parallel(source, taken):
                yield found(source, node, "MIG105.data_parallel", MANUAL)
            else:
                yield found(source, node, "MIG105.true", AUTO)


def is_own(source: Source, node: ast.Attribute) -> bool:
    """`self.is_cuda` of a class that sets it itself: no tensor's."""
    if not isinstance(node.value, ast.Name) or node.value.id != "self":
        return False
    stored = (each.value for each in source.nodes(ast.Attribute) if each.attr == "is_cuda" and not load(each))
    return any(isinstance(value, ast.Name) and value.id == "self" for value in stored)


def _guarded(source: Source, node: ast.Attribute) -> bool:
    """Part of an `and` that already asks for npu."""
    above = source.names.parent(node)
    return isinstance(above, ast.BoolOp) and any(
        isinstance(inner, ast.Constant) and inner.value == "npu" for value in above.values for inner in ast.walk(value)
    )


def _edits(source: Source, node: ast.Attribute) -> tuple[Edit, ...]:
    """None where asking twice is not asking once: `next(it).is_cuda`, `queue.pop().is_cuda`."""
    start, end = source.span(node)
    if source.text[end - 7 : end] != "is_cuda" or not _is_plain(node.value):
        return ()
    return (Edit(start, start, "("), Edit(end, end, f' and {source.segment(node.value)}.device.type != "npu")'))


def _is_plain(node: ast.expr) -> bool:
    """Reading it again gives the same: a name, its attributes, an element by a fixed index."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Constant, ast.Name, ast.UnaryOp)):
            return False
        node = node.value
    return isinstance(node, ast.Name)
