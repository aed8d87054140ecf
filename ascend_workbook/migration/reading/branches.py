"""What runs where a question about the device is answered with yes: CUDA kernels, nn.DataParallel, or plain torch."""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.rules import compiled, data_parallel, triton

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
            if (
                not isinstance(around.op, ast.Not)
                or not isinstance(above, (ast.If, ast.IfExp))
                or above.test is not around
            ):
                return []
            return list(above.orelse) if isinstance(above, ast.If) else [above.orelse]
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
