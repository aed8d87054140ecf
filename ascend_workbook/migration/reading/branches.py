"""What runs where a question about the device is answered with yes: CUDA kernels, nn.DataParallel, or plain torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Place
from ascend_workbook.migration.reading.calls import string_value
from ascend_workbook.migration.reading.names import TRANSFER, list_imported_names
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, REWRITE, Findings, class_of
from ascend_workbook.migration.rules import compiled, data_parallel, triton

# What runs for CUDA alone, because an NPU has its own place beside it.

#: Begin and end in the text.
Span = tuple[int, int]


def find_closed_spans(source: Source) -> list[Span]:
    """Find the spans in which CUDA is meant and nothing else."""
    spans: list[Span] = []
    for branch in source.nodes_of_type(ast.If):
        if _asked_device(branch.test) == "cuda" and "npu" in map(_asked_device, later_tests(branch)):
            spans.append(source.span_of(branch.test))
            spans.append((source.span_of(branch.body[0])[0], source.span_of(branch.body[-1])[1]))
    for table in source.nodes_of_type(ast.Dict):
        words = [string_value(key) for key in table.keys]
        if "cuda" in words and "npu" in words:
            spans.append(source.span_of(table.values[words.index("cuda")]))
    return spans


def offset_of_place(source: Source, place: Place) -> int:
    """Where a place stands in the text."""
    return source.line_starts[place.line - 1] + place.column - 1


def is_within_spans(at: int, spans: list[Span]) -> bool:
    return any(start <= at < end for start, end in spans)


def later_tests(branch: ast.If) -> Iterator[ast.expr]:
    """The tests of the `elif` that follow."""
    while len(branch.orelse) == 1 and isinstance(branch.orelse[0], ast.If):
        branch = branch.orelse[0]
        yield branch.test


def _asked_device(test: ast.expr) -> str:
    """The one device that a test asks for with no `not`: `d == "cuda"`, `"npu" in d`, `d.startswith("cuda:")`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next(filter(None, map(_asked_device, test.values)), "")
    asked_nodes: list[ast.expr] = []
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.In)):
        asked_nodes = [test.left, *test.comparators]
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
        asked_nodes = test.args[:1]
    words = {(string_value(node) or "").rstrip(":") for node in asked_nodes} & {"cuda", "npu"}
    return words.pop() if len(words) == 1 else ""


#: Rules whose findings may be about a name that is any device's.
ANY_DEVICE = {"MIG104", "MIG108", "MIG110", "MIG117", "MIG124", "MIG126"}
#: Branches that stay closed to an NPU on purpose.
CLOSED = {"MIG104.kernels", "MIG104.own_branch"}
#: is_cuda says no on an NPU where transfer_to_npu is not at work.
NOT_TRUE_HERE = {"MIG105.data_parallel"}
#: What says CUDA in so many words; a variable of that name does not.
WORDS = re.compile(r"['\"]cuda|\.cuda\b|nccl", re.IGNORECASE)


def written_for_npu(source: Source) -> bool:
    """The file imports torch_npu and not transfer_to_npu."""
    if "torch_npu" not in source.text:
        return False
    modules = {name for node in source.imports for name in list_imported_names(node)}
    return "torch_npu" in modules and TRANSFER not in modules


def drop_settled_findings(source: Source, findings: Findings) -> list[Finding]:
    """The findings of such a file without what it has settled."""
    spans = find_closed_spans(source)
    return [finding for finding in findings if not _is_settled(source, finding, spans)]


def _is_settled(source: Source, finding: Finding, spans: list[Span]) -> bool:
    """An automatic place on whose line nothing says CUDA, or one for CUDA alone."""
    if finding.key in NOT_TRUE_HERE:
        return True
    if finding.place is None:
        return False
    if class_of(finding) in (AUTO, REWRITE) and is_within_spans(offset_of_place(source, finding.place), spans):
        return True
    if class_of(finding) != AUTO or finding.rule not in ANY_DEVICE:
        return False
    return finding.key in CLOSED or not WORDS.search(source.read_line(finding.place.line))


#: A call whose name says that it is a CUDA kernel: scan_cuda(...), _C.forward_cuda(...)
KERNEL = re.compile(r"(^|_)cuda(_|$)", re.IGNORECASE)
#: Words that make of such a name an ordinary helper: move_to_cuda(...), is_cuda_available(...)
HELPER = re.compile(r"(^|_)(is|has|use|to|get|set|check|init|move|try|test|available|seed|rng|memory|version)(_|$)")


def find_branch(source: Source, node: ast.AST) -> list[ast.AST]:
    """Return the statements, or the expression, that run where `node` is true; none where that depends on more."""
    child = node
    for around in source.names.nodes_above(node):
        if isinstance(around, ast.If) and around.test is child:
            return list(around.body)
        if isinstance(around, ast.IfExp) and around.test is child:
            return [around.body]
        if isinstance(around, ast.UnaryOp):
            above = source.names.parent_of(around)
            turned = isinstance(around.op, ast.Not) and getattr(above, "test", None) is around
            if turned and isinstance(above, ast.If):
                return list(above.orelse)
            return [above.orelse] if turned and isinstance(above, ast.IfExp) else []
        if isinstance(around, ast.stmt):
            return []
        child = around
    return []


def has_kernel(source: Source, statements: list[ast.AST]) -> bool:
    """A CUDA kernel runs here, or Triton's are imported."""
    for node in (inner for statement in statements for inner in ast.walk(statement)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and triton.imports_kernels(node):
            return True
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if is_kernel(called) and not source.names.resolve_call(node).startswith("torch.cuda"):
                return True
            if called == "apply" and _is_kernel_class(source, node):
                return True
    return False


def _is_kernel_class(source: Source, call: ast.Call) -> bool:
    """`F.apply(...)` of an autograd function of this file that calls the project's compiled kernels."""
    base = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(base, ast.Name):
        return False
    names = compiled.list_compiled_names(source)
    defined = (node for node in source.nodes_of_type(ast.ClassDef) if names and node.name == base.id)
    return any(getattr(inner, "id", "") in names for node in defined for inner in ast.walk(node))


def is_kernel(called: str) -> bool:
    return called != "cuda" and KERNEL.search(called) is not None and not HELPER.search(called.lower())


def has_data_parallel(source: Source, statements: list[ast.AST]) -> bool:
    nodes = (inner for statement in statements for inner in ast.walk(statement))
    return any(source.names.resolve_call(node) in data_parallel.NAMES for node in nodes)
