"""TF32 is a mode of NVIDIA's tensor cores: transformers refuses `tf32=True` where there is none of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import is_true, keyword_of, look_at_error, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://huggingface.co/docs/transformers/main/en/perf_train_gpu_one#tf32"
HOLDS_EVERYWHERE = True
#: Whose arguments these are; others only where the error went through.
LIBRARIES = ("transformers.", "trl.")


def knows(failure: Failure) -> bool:
    return "tf32 requires" in failure.message


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    failed = {node for _, node in look_at_error(failure).find_nodes(ast.Call)}
    for source in failure.walk_sources("tf32"):
        for call in source.nodes_of_type(ast.Call):
            pair = keyword_of(call, "tf32")
            known = call in failed or (source.names.resolve_call(call) or "").startswith(LIBRARIES)
            if known and pair is not None and is_true(pair.value):
                yield source, [replace_node(source, pair.value, "False")]
