"""`x.is_cuda` is True for a tensor on an NPU under transfer_to_npu.

Right for "is it on the accelerator", wrong where the branch holds CUDA kernels or Triton: those would then
run on an NPU. Where the branch says so, the question gets `and x.device.type != "npu"`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.repair import AUTO, REWRITE, found
from helpers.migration.rules import triton
from helpers.migration.source import Source

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
    ("assert x.is_cuda, '须在显卡上'\n", "auto", None),
    ("if x.is_cuda:\n    x = x.cpu()\n", "auto", None),
)
NEAR_MISSES = (
    "x.is_cuda = True\n",
    "is_cuda = 1\nprint(is_cuda, '否')\n",
    "if (x.is_cuda and x.device.type != 'npu'):\n    scan_cuda(x)\n",
)
#: A call whose name says that it is a CUDA kernel: scan_cuda(...), _C.forward_cuda(...)
KERNEL = re.compile(r"(^|_)cuda(_|$)", re.IGNORECASE)


def check(source: Source) -> Iterable[Finding]:
    for node in source.nodes(ast.Attribute):
        if node.attr == "is_cuda" and isinstance(node.ctx, ast.Load) and not _guarded(source, node):
            if any(_runs_kernel(source, statement) for statement in _branch(source, node)):
                yield found(source, node, "MIG105.kernel", REWRITE, _edits(source, node))
            else:
                yield found(source, node, "MIG105.true", AUTO)


def _branch(source: Source, node: ast.AST) -> list[ast.AST]:
    """What runs where the question is answered with yes."""
    child = node
    for around in source.names.above(node):
        if isinstance(around, ast.If) and around.test is child:
            return list(around.body)
        if isinstance(around, ast.IfExp) and around.test is child:
            return [around.body]
        if isinstance(around, (ast.UnaryOp, ast.stmt)):
            return []
        child = around
    return []


def _runs_kernel(source: Source, statement: ast.AST) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and triton.imports_kernels(node):
            return True
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if KERNEL.search(called) and called != "cuda" and not source.names.call(node).startswith("torch.cuda"):
                return True
    return False


def _guarded(source: Source, node: ast.Attribute) -> bool:
    """Part of an `and` that already asks for npu."""
    above = source.names.parent(node)
    return isinstance(above, ast.BoolOp) and any(
        isinstance(inner, ast.Constant) and inner.value == "npu" for value in above.values for inner in ast.walk(value)
    )


def _edits(source: Source, node: ast.Attribute) -> tuple[Edit, ...]:
    start, end = source.span(node)
    if source.text[end - 7 : end] != "is_cuda":
        return ()
    return (Edit(start, start, "("), Edit(end, end, f' and {source.segment(node.value)}.device.type != "npu")'))
