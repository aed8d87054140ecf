"""torch.compile generates kernels with triton, which is not here (NPUs have triton-ascend): the graph runs as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import keyword_of, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.calls import append_argument
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://pypi.org/project/triton-ascend/"
HOLDS_EVERYWHERE = True
MESSAGES = ("BackendCompilerFailed", "InductorError", "get_gpu_type", "TritonMissing", "Cannot find a working triton")
NAME, EAGER = "torch.compile", 'backend="eager"'


def knows(failure: Failure) -> bool:
    return any(message in failure.text for message in MESSAGES)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("compile"):
        edits: list[Edit] = []
        for node, name in source.names.named_nodes:
            above = source.names.parent_of(node)
            if name != NAME:
                continue
            if isinstance(above, ast.Call) and above.func is node:
                given = keyword_of(above, "backend")
                if given is None:
                    edits += append_argument(source, above, EAGER)
                elif source.text_of(given.value) != '"eager"':
                    edits.append(replace_node(source, given.value, '"eager"'))
            elif node in getattr(above, "decorator_list", ()):
                edits.append(replace_node(source, node, f"{source.text_of(node)}({EAGER})"))
        yield source, edits
