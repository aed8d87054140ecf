"""`flash_attention_2` of transformers needs flash_attn, CUDA's; PyTorch's own attention computes the same.

On an NPU `sdpa` runs torch_npu's fused attention, and on any other device the one that it has.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import is_true, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://huggingface.co/docs/transformers/main/en/attention_interface"
HOLDS_EVERYWHERE = True
NAMES = ("flash_attention_2", "flash_attention_3")


def knows(failure: Failure) -> bool:
    return any(
        word in failure.text for word in ("flash_attention_2", "flash_attention_3", "FlashAttention2", "flash_attn")
    )


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("flash_attention_"):
        edits = [
            replace_node(source, node, '"sdpa"') for node, text in source.strings if _is_choice(source, node, text)
        ]
        for pair in source.nodes_of_type(ast.keyword):
            if pair.arg == "use_flash_attention_2" and is_true(pair.value):
                edits.append(replace_node(source, pair.value, "False"))
        yield source, edits


def _is_choice(source: Source, node: ast.Constant, text: str) -> bool:
    """A value that is handed on, not one of a list of choices or of a comparison."""
    above = source.names.parent_of(node)
    return text in NAMES and isinstance(above, (ast.keyword, ast.Assign, ast.AnnAssign, ast.Dict, ast.IfExp, ast.arg))
