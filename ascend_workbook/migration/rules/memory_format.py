"""channels_last: torch_npu makes and copies contiguous tensors only and raises on any other layout that is asked for.

Seen on real NPUs too, with the same words. The values do not depend on the layout, so contiguous_format takes its
place. Where the layout is only asked about, nothing raises: the answer is no.
"""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.calls import is_load, method_name
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, ASCEND, MEASURED, REWRITE, Findings, Known, finding_at

CODE = "MIG116"
TOKENS = ("channels_last", "channels_last_3d")
PATTERN = r"(?:\.|\bimport|[,(]) channels_last"
KNOWN = Known(MEASURED, ASCEND + "torch_npu/csrc/aten/common/TensorFactories.cpp")
NAMES = {"torch.channels_last", "torch.channels_last_3d"}


def check(source: Source) -> Findings:
    for node in (*source.nodes_of_type(ast.Attribute), *source.nodes_of_type(ast.Name)):
        if not is_load(node) or source.names.resolve_name(node) not in NAMES:
            continue
        if _is_asked(source, node):
            yield finding_at(source, node, "MIG116.asked", ADVICE)
        else:
            edits = source.replace_text(node, node.attr, "contiguous_format") if isinstance(node, ast.Attribute) else ()
            yield finding_at(source, node, "MIG116.layout", REWRITE, edits)


def _is_asked(source: Source, node: ast.AST) -> bool:
    """Compared with, or the question of `is_contiguous`."""
    above = source.names.parent_of(node)
    call = source.names.parent_of(above) if isinstance(above, ast.keyword) else above
    return isinstance(above, ast.Compare) or (isinstance(call, ast.Call) and method_name(call) == "is_contiguous")
