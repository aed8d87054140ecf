"""The questions that the first screen answers: ready, migrated, same numbers, how fast; a small picture beside each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Optional

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.page.first import TABS, Card, shorten_operator
from ascend_workbook.page.texts import number_of, show_both

#: Bars of the small picture of all comparisons, and of the one that a precision tab draws no table for.
BARS = 160
#: Classes of places that are stacked, and those that need no person.
STACKED = ("auto", "rewrite", "advice", "manual", "unsupported")
NO_HAND = ("auto", "rewrite")


def answer_questions(
    stages: Mapping[str, Optional[Report]], failed: Mapping[str, Card], blocked: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Answer each stage's question. `failed`: cards of stages without report, `blocked`: what a stage waits for."""
    answers = []
    for stage, tab in TABS.items():
        if stage not in stages:
            continue
        report = stages[stage]
        answer: dict[str, Any] = {"tab": tab, "stage": stage, "question": show_both(Sentence(f"page.question.{stage}"))}
        if blocked.get(stage):
            waits = Sentence("page.waits", stage=Sentence(f"page.tab.{TABS[blocked[stage]]}"))
            answer |= {"status": number_of(Status.NOT_LOOKED), "title": show_both(waits)}
        elif stage in failed:
            card = failed[stage]
            answer |= {"status": number_of(card.status), "title": show_both(card.cause)}
        elif report is None:
            answer |= {"status": number_of(Status.NOT_LOOKED), "title": show_both(Sentence("page.not_run"))}
        else:
            title, detail, picture = ANSWERS[stage](report)
            answer |= {"status": number_of(report.status), "title": show_both(title), "detail": show_both(detail or "")}
            answer |= {"simulated": report.simulated, **picture}
        answers.append(answer)
    return answers


Answer = tuple[Scalar, Scalar, "dict[str, Any]"]


def find_part(report: Report, *verbs: str) -> Report | None:
    """Find the first report of one of the verbs: the report itself or one of its parts, however deep."""
    for part in walk_parts(report):
        if part.verb in verbs:
            return part
    return None


def walk_parts(report: Report) -> Iterator[Report]:
    """Yield the report, then its parts and theirs."""
    yield report
    for part in report.parts:
        yield from walk_parts(part)


def _quote(finding: Finding | None) -> Scalar:
    return Sentence(finding.key, **finding.args) if finding else Sentence("report.not_looked")


def _answer_ready(report: Report) -> Answer:
    checks = find_part(report, "machine_check") or report
    statuses = [finding.status for finding in checks.findings if finding.rule != "ENV000"]
    machine = checks.facts.get("machine") or {}
    chosen = machine.get("chosen") or {}
    wrong = [finding for finding in checks.findings if finding.status is Status.FIX and finding.rule != "ENV000"]
    title: Scalar = _quote(max(wrong, key=lambda finding: finding.weight)) if wrong else _quote(report.headline)
    if not wrong and chosen.get("count"):
        title = Sentence("page.ready.on", count=chosen["count"], name=chosen.get("name"))
    remarks = sum(status is Status.NOTE for status in statuses)
    looks = sum(status is Status.LOOK for status in statuses)
    detail = Sentence("page.ready.checks", checks=len(statuses), remarks=remarks, looks=looks)
    return title, detail, {"layers": list_layers(machine)}


def list_layers(machine: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List what lies between a script and the chip: name, version, and whether it is `real`, `simulated`, `missing`."""
    chosen = machine.get("chosen") or {}
    versions, tier = chosen.get("versions") or {}, chosen.get("tier", "")
    hardware = machine.get("hardware") or {}
    simulated = tier == "npu-simulated"
    state = "simulated" if simulated else "real"
    rows = [
        ("Python", versions.get("python"), "real"),
        ("torch", versions.get("torch"), "real"),
        ("torch_npu", versions.get("torch_npu"), "real"),
        ("CANN", versions.get("cann"), state),
        ("driver", hardware.get("driver") or (versions.get("cann") and simulated and " "), state),
        (str(chosen.get("name") or "NPU"), f"x {chosen['count']}" if chosen.get("count") else "", state),
    ]
    if tier in ("cpu", "cuda", ""):
        rows = [(name, version, kind if name in ("Python", "torch") else "real") for name, version, kind in rows]
    return [
        {"name": name, "version": str(version or "").strip(), "state": kind if version else "missing"}
        for name, version, kind in rows
    ]


def _answer_migrated(report: Report) -> Answer:
    scanned, ran = find_part(report, "scan"), find_part(report, "dry_run")
    counts: Mapping[str, int] = (scanned.facts.get("counts") if scanned else None) or {}
    places = sum(counts.get(name, 0) for name in STACKED if name != "advice")
    easy = sum(counts.get(name, 0) for name in NO_HAND)
    title: Scalar = Sentence("page.migrated.no_hand", easy=easy, places=places)
    if ran is not None and ran.status is Status.FIX:
        title = Sentence("page.migrated.stops")
    stack = [[f"migration.class.{name}", counts[name]] for name in STACKED if counts.get(name)]
    return title, _quote(ran.headline) if ran else None, {"stack": stack, "classes": list(STACKED)}


def _answer_same(report: Report) -> Answer:
    compared, curves = find_part(report, "divergence"), find_part(report, "curves")
    title: Scalar = _quote(report.headline)
    detail: Scalar = None
    if curves is not None and "worst_relative" in curves.facts:
        worst, allowed = curves.facts["worst_relative"], curves.facts.get("tolerance")
        detail = Sentence("page.same.losses", worst=worst, allowed=allowed)
    if compared is None:
        return title, detail, {}
    first, count = compared.facts.get("first_divergence"), len(compared.table.rows) if compared.table else 0
    if first:
        title = Sentence("page.same.parts", operator=shorten_operator(str(first)))
        row = _row_of(compared, compared.facts.get("row"))
        if row:
            detail = Sentence("page.same.error", error=row.get("error_out"), allowed=row.get("allowed"))
    elif report.status <= Status.NOTE:
        title = Sentence("page.same.agree", count=count)
    return title, detail, {"bars": list(squeeze_ratios(compared))}


def _row_of(report: Report, number: Any) -> dict[str, Scalar]:
    if report.table is None or not isinstance(number, int) or not 0 <= number < len(report.table.rows):
        return {}
    return dict(zip((column.name for column in report.table.columns), report.table.rows[number]))


def squeeze_ratios(report: Report) -> Iterator[int]:
    """Yield BARS heights from 0 to 9 of the largest error of neighbours against what is allowed; -1: not compared."""
    names = [column.name for column in report.table.columns] if report.table else []
    if report.table is None or not {"error_out", "allowed"} <= {*names}:
        return
    heights = [
        height_of(error, allowed)
        for error, allowed in zip(report.table.column_values("error_out"), report.table.column_values("allowed"))
    ]
    bars = min(BARS, len(heights))
    for bar in range(bars):
        yield max(heights[bar * len(heights) // bars : (bar + 1) * len(heights) // bars])


def height_of(error: Scalar, allowed: Scalar) -> int:
    """Return how far an error is from what is allowed: 0 none, 3 just allowed, 9 a million times that; -1 unknown."""
    if not isinstance(error, (int, float)) or not isinstance(allowed, (int, float)):
        return -1
    if error == 0 or (allowed > 0 and error <= allowed * 1e-3):
        return 0
    ratio = error / allowed if allowed > 0 else math.inf
    if not math.isfinite(ratio):
        return 9
    return max(0, min(9, 3 + math.ceil(math.log10(ratio) - 1e-9))) if ratio > 0 else 0


def _answer_fast(report: Report) -> Answer:
    measured, profiled = find_part(report, "benchmark"), find_part(report, "time_by_kind")
    configurations = ((measured.facts.get("benchmark") or {}).get("configurations") or []) if measured else []
    best = min((each for each in configurations if each.get("p50_ms")), key=lambda each: each["p50_ms"], default=None)
    step_ns = profiled.facts.get("step_ns") if profiled else None
    title: Scalar = _quote(report.headline)
    detail: Scalar = None
    if best and measured:
        title = Sentence("page.fast.step", step_ms=best["p50_ms"])
        unit = measured.facts["benchmark"].get("unit")
        detail = Sentence("page.fast.rate", rate=best.get("rate_per_s"), unit=unit)
    elif step_ns:
        title = Sentence("page.fast.step", step_ms=step_ns / 1e6)
    if report.simulated and (best or step_ns):
        detail = Sentence("page.fast.simulated")
    parts = (profiled.facts.get("parts_ns") or {}) if profiled else {}
    picture: dict[str, Any] = {
        "shares": [[f"page.part.{name}", value / 1e6] for name, value in parts.items() if value > 0]
    }
    if best and step_ns:  # two times of one run: which is told, and why they differ
        both = Sentence("page.fast.two_times", bench_ms=best["p50_ms"], profile_ms=step_ns / 1e6)
        picture["two_times"] = show_both(both)
    return title, detail, picture


#: Digits of what is estimated.
DIGITS = 2


def _answer_fits(report: Report) -> Answer:
    """Answer with what a rehearsal's fullest card takes against what it has; where there is none, with the plan's."""
    rehearsed = find_part(report, "rehearse")
    source = rehearsed or find_part(report, "strategy") or report
    args = source.headline.args if source.headline else {}
    known: dict[str, Any] = {name: value for name, value in args.items() if isinstance(value, (int, float))}
    if not {"low", "high", "memory"} <= {*known} or (rehearsed and "reserved" not in known):
        return _quote(source.headline), None, {}
    inside = known.get("needed", known["reserved"]) if rehearsed else 0.0
    limit = known.get("usable", known["memory"])
    ends: dict[str, Scalar] = {"least": _round(inside + known["low"], 3), "most": _round(inside + known["high"], 3)}
    title = Sentence("page.fits.rehearsed" if rehearsed else "page.fits.formula", **ends, memory=_round(limit, 4))
    picture: dict[str, Any] = {"estimated": True}
    kinds = find_part(report, "memory_kinds")
    if kinds is not None and kinds.table:
        parts = [[_name_kind(row[0]), show_both(row[0]), row[1]] for row in kinds.table.rows]
        picture["memory"] = {"parts": parts, "outside": [known["low"], known["high"]], "limit": limit}
    step = source.facts.get("step_us")
    seconds = [step[0] / 1e6, step[2] / 1e6] if step else [known.get("step_low"), known.get("step_high")]
    if None in seconds:
        return title, None, picture
    picture["step"] = [_round(value, DIGITS) for value in seconds]
    return title, Sentence("page.fits.step", low=picture["step"][0], high=picture["step"][1]), picture


def _round(value: Any, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _name_kind(kind: Scalar) -> str:
    return kind.key.rpartition(".")[2] if isinstance(kind, Sentence) else ""


ANSWERS = {
    "environment": _answer_ready,
    "migration": _answer_migrated,
    "precision": _answer_same,
    "profiling": _answer_fast,
    "planning": _answer_fits,
}
