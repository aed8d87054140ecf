"""`.cuda()` as `.npu()`, `def cuda(self)` of a class as `def npu(self)`, `.is_cuda` as `.is_npu`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.calls import method
from helpers.migration.explicit.known import KNOWN, Spans, edited, touches
from helpers.migration.names import load
from helpers.migration.rules.is_cuda import is_own
from helpers.migration.source import Source

__all__ = ["KNOWN", "check"]
EXAMPLES = (
    ("model = net().cuda()  # 放到显卡\n", "model = net().npu()  # 放到显卡\n"),
    ("x = x.cuda(0, non_blocking=True)\n", "x = x.npu(0, non_blocking=True)\n"),
    ("x = x.cuda('cuda:0')\n", "x = x.to('npu:0')\n"),
    (
        "class Batch:\n    def cuda(self, n):\n        self.x = self.x.cuda(n)\n",
        "class Batch:\n    def npu(self, n):\n        self.x = self.x.npu(n)\n",
    ),
    ("assert x.is_cuda\n", "assert x.is_npu\n"),
    (
        "if x.is_cuda:\n    scan_cuda(x)\n",
        'if (x.is_cuda and x.device.type != "npu"):\n    scan_cuda(x)\n',
    ),
)
NEAR_MISSES = (
    "use = args.cuda\n",
    "cuda()  # 函数\n",
    "def cuda():\n    pass\n",
    "ok = x.is_cuda or x.is_npu\n",
    "x.is_cuda = True\n",
    "s = 'x.cuda()'\n",
)


def check(source: Source, spans: Spans) -> Iterable[Finding]:
    for call in source.nodes(ast.Call):
        if method(call) == "cuda" and not source.names.resolve(call.func).startswith("torch."):
            edits = source.replace(call.func, "cuda", "npu")
            if not touches(edits, spans):
                yield edited(source, call.func, "moved", edits, ".cuda()", ".npu()")
    for definition in source.nodes(ast.FunctionDef):
        if definition.name == "cuda" and isinstance(source.names.parent(definition), ast.ClassDef):
            yield edited(source, definition, "moved", _of_definition(source, definition), "def cuda", "def npu")
    for node in source.nodes(ast.Attribute):
        if node.attr != "is_cuda" or not load(node) or _knows_npu(source, node):
            continue
        if not is_own(source, node):
            edits = source.replace(node, "is_cuda", "is_npu")
            if not touches(edits, spans):
                yield edited(source, node, "asked", edits, ".is_cuda", ".is_npu")


def _of_definition(source: Source, definition: ast.FunctionDef) -> tuple[Edit, ...]:
    start, end = source.span(definition)
    found = re.compile(r"def[ \t]+(cuda)\b").match(source.text, start, end)
    return (Edit(found.start(1), found.end(1), "npu"),) if found else ()


def _knows_npu(source: Source, node: ast.AST) -> bool:
    """Part of an `and` or `or` that asks for the NPU too."""
    above = source.names.parent(node)
    return isinstance(above, ast.BoolOp) and any(
        (isinstance(inner, ast.Attribute) and inner.attr == "is_npu")
        or (isinstance(inner, ast.Constant) and inner.value == "npu")
        for inner in ast.walk(above)
    )
