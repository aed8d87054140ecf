"""`.cuda()` as `.npu()`, `def cuda(self)` of a class as `def npu(self)`, `.is_cuda` as `.is_npu`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.reading.branches import branch, has_data_parallel
from helpers.migration.reading.calls import method
from helpers.migration.reading.kinds import is_options
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, found
from helpers.migration.rewrite.explicit.known import KNOWN, Spans, edited, touches
from helpers.migration.rules.is_cuda import is_own

__all__ = ["KNOWN", "check"]
EXAMPLES = (
    ("model = net().cuda()  # 放到显卡\n", "model = net().npu()  # 放到显卡\n"),
    ("x = x.cuda(0, non_blocking=True)\n", "x = x.npu(0, non_blocking=True)\n"),
    ("x = x.cuda('cuda:0')\n", "x = x.to('npu:0')\n"),
    (
        "class Batch:\n    def cuda(self, n):\n        self.x = self.x.cuda(n)\n",
        "class Batch:\n    def npu(self, n):\n        self.x = self.x.npu(n)\n",
    ),
    (
        "class Batch:\n    def cuda(self):\n        return self\n    def f(self):\n        return (self.cuda, self)\n",
        "class Batch:\n    def npu(self):\n        return self\n    def f(self):\n        return (self.npu, self)\n",
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
    "from torch import nn\nif x.is_cuda and 卡数 > 1:\n    y = nn.parallel.data_parallel(m, x)\nelse:\n    y = m(x)\n",
    "s = 'x.cuda()'\n",
    "class A:\n    @property\n    def cuda(self):\n        return self.n\n\nprint(A().cuda)\n",
    "class A:\n    @functools.cached_property\n    def cuda(self):\n        return self.n\n",
    "self.cuda = gpu  # 标志\nrun(self.cuda)\n",
    "f = Batch().cuda\nf()\n",
)
#: A method that is read like a value.
READ = ("property", "setter", "getter", "deleter")


def check(source: Source, spans: Spans) -> Iterable[Finding]:
    for call in source.nodes(ast.Call):
        if method(call) == "cuda" and not source.names.resolve(call.func).startswith("torch."):
            edits = source.replace(call.func, "cuda", "npu")
            if not touches(edits, spans):
                yield edited(source, call.func, "moved", edits, ".cuda()", ".npu()")
    yield from _defined(source)
    for node in source.nodes(ast.Attribute):
        if node.attr != "is_cuda" or not load(node) or _knows_npu(source, node):
            continue
        if not is_own(source, node) and not has_data_parallel(source, branch(source, node)):
            edits = source.replace(node, "is_cuda", "is_npu")
            if not touches(edits, spans):
                yield edited(source, node, "asked", edits, ".is_cuda", ".is_npu")


def _defined(source: Source) -> Iterable[Finding]:
    """Methods called cuda, and the places that read one without a call. A property keeps its name."""
    named = [node for node in source.nodes(ast.FunctionDef) if node.name == "cuda"]
    methods = [node for node in named if isinstance(source.names.parent(node), ast.ClassDef)]
    if any(_is_property(node) for node in methods):
        return
    for definition in methods:
        yield edited(source, definition, "moved", _of_definition(source, definition), "def cuda", "def npu")
    classes = {source.names.parent(node) for node in methods}
    for node in source.nodes(ast.Attribute):
        if node.attr != "cuda" or not load(node) or not _is_read(source, node):
            continue
        own = getattr(node.value, "id", "") in ("self", "cls")
        if own and classes & set(source.names.above(node)):
            yield edited(source, node, "moved", source.replace(node, "cuda", "npu"), ".cuda", ".npu")
        elif not is_options(node.value) and "cuda" not in source.names.attributes:
            yield found(source, node, "MIG138.read", MANUAL, name=source.segment(node))


def _is_property(definition: ast.FunctionDef) -> bool:
    names = (getattr(mark, "attr", "") or getattr(mark, "id", "") for mark in definition.decorator_list)
    return any(name.endswith(READ) for name in names)


def _is_read(source: Source, node: ast.Attribute) -> bool:
    """`.cuda` of what may be a module or tensor, neither called nor asked like a flag."""
    above = source.names.parent(node)
    name = source.names.resolve(node)
    if name.startswith("torch."):
        return name in ("torch.Tensor.cuda", "torch.nn.Module.cuda")
    if isinstance(above, ast.Call) and above.func is node:
        return False
    if isinstance(above, ast.keyword) and "cuda" in (above.arg or "").lower():
        return False
    if isinstance(above, ast.Assign) and any("cuda" in getattr(target, "id", "").lower() for target in above.targets):
        return False
    return not isinstance(
        above, (ast.Attribute, ast.Subscript, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.If, ast.While, ast.IfExp)
    ) or (isinstance(above, ast.IfExp) and above.test is not node)


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
