"""`rewrite --mode explicit`: the source says npu itself and needs no transfer_to_npu.

Each part looks at one way to write CUDA and gives findings with edits, under one code: names.py (torch.cuda,
torch.profiler, NCCL's names, and their imports), devices.py ("cuda" as a string), methods.py (.cuda(), .is_cuda),
calls.py ("nccl", and calls that mean CUDA without saying so). What transfer_to_npu would have handled and has no form
here is manual.
"""

from __future__ import annotations

import ast
from types import ModuleType

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.reading.branches import (
    NOT_TRUE_HERE,
    Span,
    find_closed_spans,
    is_within_spans,
    offset_of_place,
)
from ascend_workbook.migration.reading.names import TRANSFER, list_imported_names
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, MANUAL, REWRITE, add_knowledge, class_of, finding_at, sort_by_place
from ascend_workbook.migration.rewrite.entry import is_harmless, transfer_edit
from ascend_workbook.migration.rewrite.explicit import calls, devices, methods, names
from ascend_workbook.migration.rewrite.explicit.known import KNOWN

PARTS: tuple[ModuleType, ...] = (names, devices, methods, calls)
#: Rules that speak of the device's name: their edits make a script right under transfer_to_npu only.
OF_THE_NAME = {"MIG101", "MIG102", "MIG104", "MIG106", "MIG108", "MIG110", "MIG122", "MIG124"}
LINES = ("import torch_npu",)


def make_explicit(source: Source, scanned: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """The findings whose edits are made, and those left to a person; `scanned` is what the scan found."""
    only_cuda = find_closed_spans(source)
    edited = [finding for finding in scanned if class_of(finding) == REWRITE and finding.rule not in OF_THE_NAME]
    taken_findings = [finding for finding in edited if not _stands_in(source, finding, only_cuda)]
    spans = sorted((edit.start, edit.end) for finding in taken_findings for edit in finding.edits)
    own = [add_knowledge(finding, KNOWN) for part in PARTS for finding in part.check(source, spans)]
    own = [finding for finding in own if not _stands_in(source, finding, only_cuda)]
    applied_findings = [*taken_findings, *(finding for finding in own if finding.edits)]
    left = [finding for finding in scanned if class_of(finding) not in (AUTO, REWRITE) and not _is_mended(finding, own)]
    left += [finding for finding in own if class_of(finding) == MANUAL]
    uses = any(class_of(finding) == AUTO for finding in scanned)
    if (applied_findings or uses) and _needs_torch_npu(source, uses):
        edit, node = transfer_edit(source, LINES)
        applied_findings.insert(0, finding_at(source, node, "MIG131.torch_npu", REWRITE, (edit,)))
    return sort_by_place(applied_findings), sort_by_place(left)


def _stands_in(source: Source, finding: Finding, spans: list[Span]) -> bool:
    return finding.place is not None and is_within_spans(offset_of_place(source, finding.place), spans)


def _is_mended(finding: Finding, own: list[Finding]) -> bool:
    """A place that is manual under transfer_to_npu only because the device's name differs there."""
    if finding.key in NOT_TRUE_HERE:
        return True
    if finding.rule not in OF_THE_NAME or class_of(finding) != MANUAL or finding.rule == "MIG101":
        return False
    if finding.key == "MIG104.by_hand":  # what the script writes says npu now
        return True
    lines = {other.place.line for other in own if other.place and other.edits}
    return finding.place is not None and finding.place.line in lines and not finding.key.endswith("data_parallel")


def _needs_torch_npu(source: Source, uses: bool) -> bool:
    """The file uses torch, or has uses of CUDA and another library's torch, and does not bind torch_npu at its top."""
    modules = list_imported_names(source.tree)
    if not any(name.split(".")[0] == "torch" for name in modules) and (not uses or all(map(is_harmless, modules))):
        return False
    for node in source.nodes_of_type(ast.Import):
        bound = {alias.name.split(".")[0] for alias in node.names if not alias.asname and alias.name != TRANSFER}
        if "torch_npu" in bound and isinstance(source.names.enclosing_function(node), ast.Module):
            return False
    return True
