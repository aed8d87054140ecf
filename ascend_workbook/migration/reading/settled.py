"""What a file that imports torch_npu itself has settled: names that are the same for every device.

DistributedDataParallel, pinned memory, numbers for devices and questions for the CPU say nothing of CUDA; in a
script written for an NPU they need no transfer_to_npu, and the scan is silent about them. So it is about what stands
in a branch for CUDA beside the script's own for an NPU.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.reading.closed import Span, find_closed_spans, is_within_spans, offset_of_place
from ascend_workbook.migration.reading.imports import TRANSFER, list_imported_names
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, REWRITE, class_of

#: Rules whose findings may be about a name that is any device's.
ANY_DEVICE = {"MIG104", "MIG108", "MIG110", "MIG117", "MIG124", "MIG126"}
#: Branches that stay closed to an NPU on purpose.
CLOSED = {"MIG104.kernels", "MIG104.own_branch"}
#: is_cuda says no on an NPU where transfer_to_npu is not at work.
NOT_TRUE_HERE = {"MIG105.data_parallel"}
#: What says CUDA in so many words; a variable of that name does not.
WORDS = re.compile(r"['\"]cuda|\.cuda\b|nccl", re.IGNORECASE)


def written_for_npu(source: Source) -> bool:
    """The file imports torch_npu and not transfer_to_npu."""
    if "torch_npu" not in source.text:
        return False
    modules = {
        name
        for node in (*source.nodes_of_type(ast.Import), *source.nodes_of_type(ast.ImportFrom))
        for name in list_imported_names(node)
    }
    return "torch_npu" in modules and TRANSFER not in modules


def drop_settled_findings(source: Source, findings: Iterable[Finding]) -> list[Finding]:
    """The findings of such a file without what it has settled."""
    spans = find_closed_spans(source)
    return [finding for finding in findings if not _is_settled(source, finding, spans)]


def _is_settled(source: Source, finding: Finding, spans: list[Span]) -> bool:
    """An automatic place on whose line nothing says CUDA, or one for CUDA alone."""
    if finding.key in NOT_TRUE_HERE:
        return True
    if (
        class_of(finding) in (AUTO, REWRITE)
        and finding.place
        and is_within_spans(offset_of_place(source, finding.place), spans)
    ):
        return True
    if class_of(finding) != AUTO or finding.rule not in ANY_DEVICE or finding.place is None:
        return False
    return finding.key in CLOSED or not WORDS.search(source.read_line(finding.place.line))
