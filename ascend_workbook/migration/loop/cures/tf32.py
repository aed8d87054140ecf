"""TF32 is a mode of NVIDIA's tensor cores: transformers refuses `tf32=True` where there is none of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import is_true, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://huggingface.co/docs/transformers/main/en/perf_train_gpu_one#tf32"
HOLDS_EVERYWHERE = True


def knows(failure: Failure) -> bool:
    return "tf32" in failure.message.lower()


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("tf32"):
        pairs = (pair for pair in source.nodes_of_type(ast.keyword) if pair.arg == "tf32" and is_true(pair.value))
        yield source, [replace_node(source, pair.value, "False") for pair in pairs]
