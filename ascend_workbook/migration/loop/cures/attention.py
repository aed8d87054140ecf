"""`flash_attention_2` of transformers needs flash_attn, CUDA's; PyTorch's own attention computes the same.

On an NPU `sdpa` runs torch_npu's fused attention, and on any other device the one that it has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import is_handed_on, is_true, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://huggingface.co/docs/transformers/main/en/attention_interface"
HOLDS_EVERYWHERE = True
NAMES = ("flash_attention_2", "flash_attention_3")
MESSAGE = re.compile(r"flash_attention_[23]|Flash ?Attention ?[23]|(No module named|package) ['`]?flash_attn\b")


def knows(failure: Failure) -> bool:
    return bool(MESSAGE.search(failure.message))


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("flash_attention_"):
        edits = [
            replace_node(source, node, '"sdpa"')
            for node, text in source.strings
            if text in NAMES and is_handed_on(source, node)
        ]
        for pair in source.nodes_of_type(ast.keyword):
            if pair.arg == "use_flash_attention_2" and is_true(pair.value):
                edits.append(replace_node(source, pair.value, "False"))
        yield source, edits
