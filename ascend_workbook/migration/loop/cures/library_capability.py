"""A library asks for the CUDA capability, torch's own collectives too: torch_npu answers what a variable says, or None.

Under transfer_to_npu `dist.broadcast` of torch 2.13 indexes None. The variable is set where the script begins, for
children too, and only where nobody has set it. MindSpeed's adaptor for Megatron's core 0.8 answers the capability
itself, without a parameter: its answer is given again, with one, under the line that imports it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import import_lines
from ascend_workbook.migration.loop.failure import FRAME, Failure
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND
from ascend_workbook.migration.rules.megatron import ADAPTOR

SOURCE = ASCEND + "torch_npu/npu/__init__.py"
VARIABLE = "TORCH_NPU_DEVICE_CAPABILITY"
LINES = ("import os", f'os.environ.setdefault("{VARIABLE}", "8.0")')


#: What MindSpeed's function without a parameter raises, and the same answer with one.
NO_PARAMETER = "get_device_capability() takes 0 positional arguments but 1 was given"
ANSWER = "torch.cuda.get_device_capability = lambda device=None: (9, 0)"


def knows(failure: Failure) -> bool:
    if NO_PARAMETER in failure.message:
        return True
    innermost = FRAME.split(failure.trace)[-1]
    return "NoneType" in failure.message and "get_device_capability(" in innermost


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    entry = failure.read(failure.spots[0].name) if failure.spots else None
    if NO_PARAMETER in failure.message:
        yield from _answer_again(entry)
    elif entry is not None and VARIABLE not in entry.text:
        yield entry, [import_lines(entry, *LINES)]


def _answer_again(entry: Source | None) -> Iterator[tuple[Source, list[Edit]]]:
    """Yield the edit under a line that imports the adaptor alone, in a file that has torch's name."""
    if entry is None or ANSWER in entry.text or "torch" not in _list_whole_imports(entry):
        return
    for node in entry.nodes_of_type(ast.Import):
        start, end = entry.span_of(node)
        indent = entry.text[entry.line_starts[node.lineno - 1] : start]
        alone = not indent.strip() and not entry.text[end:].split("\n", 1)[0].strip()
        if alone and [name.name for name in node.names] == [ADAPTOR]:
            yield entry, [Edit(end, end, entry.line_end + indent + ANSWER)]


def _list_whole_imports(source: Source) -> set[str]:
    return {name.name for node in source.nodes_of_type(ast.Import) for name in node.names if not name.asname}
