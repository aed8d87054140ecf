"""Rehearsals made by hand, for the tests of the exercises on planning."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence

ARGS: dict[str, Scalar] = {
    "rank": 0,
    "cards": 1,
    "chip": "910B3",
    "memory": 60.97,
    "reserved": 5.0,
    "low": 0.55,
    "high": 1.8,
    "asked": 0.1,
    "needed": 68.9,
}
GIB = 1 << 30


def make_report(
    verdict: str = "fits",
    *,
    kinds: Mapping[str, float] | None = None,
    held: Mapping[str, float] | None = None,
    kernels: int = 0,
    compute_ms: tuple[float, float] | None = None,
) -> Report:
    """Make a rehearsal's report: its verdict, GiB by kind on a card without a limit and as held, kernels and time."""
    status = {"fits": Status.GOOD, "unsure": Status.LOOK}.get(verdict, Status.FIX)
    parts = []
    if kinds:
        rows = tuple((Sentence(f"rehearsal.kind.{kind}"), size) for kind, size in kinds.items())
        parts.append(Report("planning", "memory_kinds", table=Table((Column("memory_kind"), Column("at_peak")), rows)))
    if kernels:
        columns = (Column("kernel_type"), Column("count"))
        halves = (("MatMulV3", kernels // 2), ("Add", kernels - kernels // 2))
        parts.append(Report("planning", "estimated_kernels", table=Table(columns, halves)))
    low, high = (each * 1e3 for each in compute_ms or (0.0, 0.0))
    facts = {
        "ranks": {0: {"by_kind": {kind: size * GIB for kind, size in (held or {}).items()}}},
        "needed_bytes": 69 * GIB if held else None,
        "compute_us": [low, (low + high) / 2, high] if compute_ms else None,
    }
    finding = Finding("PLN500", status, f"PLN500.{verdict}", ARGS)
    return Report("planning", "rehearse", (finding,), facts=facts, parts=tuple(parts))
