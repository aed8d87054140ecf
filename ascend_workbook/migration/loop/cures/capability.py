"""An NPU has no CUDA capability: `get_device_capability()` answers None, and so do `major` and `minor` of a device.

Who unpacks, indexes or compares None raises. (8, 0) is what code that asks takes for the first GPU with bfloat16,
which NPUs have; torch_npu's own way is the variable TORCH_NPU_DEVICE_CAPABILITY, which a repository cannot keep.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import is_tested, last_name, look_at_error, replace_node, walk_calls
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND

SOURCE = ASCEND + "torch_npu/npu/__init__.py"
HOLDS_EVERYWHERE = True
NAMES = ("torch.cuda.get_device_capability",)
PROPERTIES = "get_device_properties"
INSTEAD = {"major": "8", "minor": "0"}


def knows(failure: Failure) -> bool:
    if "NoneType" not in failure.message:
        return False
    at = look_at_error(failure)
    return (
        any(source.names.resolve_call(node) in NAMES for source, node in at.find_nodes(ast.Call))
        or any(node in list(_find_properties(source)) for source, node in at.find_nodes(ast.Attribute))
        or any(getattr(node, "id", "") in _list_named(source) for source, node in at.find_nodes(ast.Name))
    )


def _list_named(source: Source, word: str = "get_device_capability") -> set[str]:
    """The names that what such a call answered, or a part of it, was given."""
    return {
        target.id
        for assign in source.nodes_of_type(ast.Assign)
        for target in assign.targets
        if isinstance(target, ast.Name) and _is_answer(assign.value, word)
    }


def _is_answer(node: ast.expr, word: str) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Call) and last_name(node.func) == word


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source, call in walk_calls(failure, *NAMES):
        if not is_tested(source, call):
            yield source, [replace_node(source, call, f"({source.text_of(call)} or (8, 0))")]
    for source in failure.walk_sources(PROPERTIES):
        yield source, [_guard(source, node) for node in _find_properties(source)]


def _guard(source: Source, node: ast.Attribute) -> Edit:
    return replace_node(source, node, f"({source.text_of(node)} or {INSTEAD[node.attr]})")


def _find_properties(source: Source) -> Iterator[ast.Attribute]:
    """`major` and `minor` of what get_device_properties answered, there or under the name it was given."""
    names = _list_named(source, PROPERTIES)
    for node in source.nodes_of_type(ast.Attribute):
        if node.attr not in INSTEAD or is_tested(source, node):
            continue
        of_name = isinstance(node.value, ast.Name) and node.value.id in names
        if of_name or _is_answer(node.value, PROPERTIES):
            yield node
