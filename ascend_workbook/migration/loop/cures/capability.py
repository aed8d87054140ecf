"""An NPU has no CUDA capability: `get_device_capability()` answers None, and so do `major` and `minor` of a device.

Who unpacks, indexes or compares None raises. (8, 0) is what code that asks takes for the first GPU with bfloat16,
which NPUs have; torch_npu's own way is the variable TORCH_NPU_DEVICE_CAPABILITY, which a repository cannot keep.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import replace_node, walk_calls
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
    for source, node in failure.find_nodes(ast.Call):
        if isinstance(node, ast.Call) and source.names.resolve_call(node) in NAMES:
            return True
    if any(getattr(node, "attr", "") in INSTEAD for _, node in failure.find_nodes(ast.Attribute)):
        return True
    return any(getattr(node, "id", "") in _list_named(source) for source, node in failure.find_nodes(ast.Name))


def _list_named(source: Source, word: str = "get_device_capability") -> set[str]:
    """The names that what such a call answered was given."""
    return {
        target.id
        for assign in source.nodes_of_type(ast.Assign)
        for target in assign.targets
        if isinstance(target, ast.Name) and word in source.text_of(assign.value)
    }


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source, call in walk_calls(failure, *NAMES):
        above = source.names.parent_of(call)
        if not isinstance(above, ast.BoolOp):
            yield source, [replace_node(source, call, f"({source.text_of(call)} or (8, 0))")]
    for source in failure.walk_sources(PROPERTIES):
        yield source, [_guard(source, node) for node in _find_properties(source)]


def _guard(source: Source, node: ast.Attribute) -> Edit:
    return replace_node(source, node, f"({source.text_of(node)} or {INSTEAD[node.attr]})")


def _find_properties(source: Source) -> Iterator[ast.Attribute]:
    """`major` and `minor` of what get_device_properties answered, there or under the name it was given."""
    names = _list_named(source, PROPERTIES)
    for node in source.nodes_of_type(ast.Attribute):
        if node.attr not in INSTEAD or isinstance(source.names.parent_of(node), ast.BoolOp):
            continue
        of_name = isinstance(node.value, ast.Name) and node.value.id in names
        if of_name or isinstance(node.value, ast.Call) and PROPERTIES in source.text_of(node.value.func):
            yield node
