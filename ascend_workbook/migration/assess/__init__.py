"""`assess`: what migrating a repository will take, before any of it is done: effort, risks, versions, a plan.

Built from one scan. What to read first stands first: the hours, the risks, the plan, the versions, the libraries, and
at the end how the hours come about (effort.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ascend_workbook.estimates.prices import load_prices
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, Table, parse_fail_on
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import versions
from ascend_workbook.machine.versions import Together
from ascend_workbook.migration.assess import effort
from ascend_workbook.migration.assess.cost import report_cost
from ascend_workbook.migration.assess.effort import REPEATED, Kind, Risk, kinds_of, make_wrapped_columns, rank_risks
from ascend_workbook.migration.files import collect_files
from ascend_workbook.migration.reach import FOLDED, OPEN
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.release import JUDGED_FOR
from ascend_workbook.migration.repair import CLASSES, CONFIDENCE, MANUAL, REWRITE, UNSUPPORTED, VERSIONS
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.texts import read_text
from ascend_workbook.migration.texts.pins import Pin, find_pins
from ascend_workbook.migration.verdict import (
    count_files,
    describe_grave_findings,
    describe_unread_files,
    first_place_of,
    judge_gates,
    stops_training,
)

VERSIONS_RULE = "MIG161"
SUPPORTED = ("development", "maintenance")
#: How a pin and a line of torch_npu stand: a supported line fits, one without support does, one fits that no CANN is
#: paired with yet, or none was published.
FITS, OLD, EARLY, NONE = "fits", "old", "early", "none"


def advise_versions(pin: Pin) -> tuple[str, Together]:
    """Choose for a pin the newest supported line that fits, else the newest, one ahead of its CANN, or the next."""
    lines = versions.newest_of_each_line()
    fitting = [line for line in lines if pin.admits_version(line.torch)]
    supported = [line for line in fitting if line.state in SUPPORTED]
    if fitting:
        return (FITS, supported[-1]) if supported else (OLD, fitting[-1])
    early = [line for line in versions.unpaired_versions() if pin.admits_version(line.torch)]
    if early:
        return EARLY, early[0]
    wanted = versions.parse_version(pin.wanted_version)[0]
    same = [line for line in lines if versions.parse_version(line.torch)[0][:2] == wanted[:2]]
    later = [line for line in lines if versions.parse_version(line.torch)[0] > wanted and line.state in SUPPORTED]
    return NONE, next(iter(same or later), versions.recommended_versions())


def report_versions(pins: Iterable[Pin]) -> Report:
    """Report a row for the recommended versions and one for each pin."""
    outcomes = {pin: advise_versions(pin) for pin in pins}
    tried: Scalar = Sentence("migration.versions.recommended", tried=VERSIONS)
    rows = [_make_version_row(Sentence("migration.versions.new"), "", versions.recommended_versions(), tried)]
    groups: dict[tuple[str, Together], list[Pin]] = {}
    for pin, chosen in outcomes.items():
        groups.setdefault(chosen, []).append(pin)
    for (outcome, line), together in groups.items():
        advice: Scalar = Sentence(f"migration.versions.{outcome}")
        rows.append(_make_version_row([pin.text for pin in together], str(together[0].place), line, advice))
    numbers = dict.fromkeys((f"versions_{name}" for name in ("torch", "torch_npu", "cann", "driver", "python")), 0)
    widths = {"versions_state": 44, "versions_advice": 50, "link": 0}
    columns = make_wrapped_columns(versions_for=40, risk_first=40, **numbers, **widths)
    bad: list[Scalar] = [pin.text for pin, (outcome, _) in outcomes.items() if outcome != FITS]
    finding = Finding(VERSIONS_RULE, Status.LOOK, "MIG161.pinned", {"pins": bad})
    if not bad:
        best = describe_versions(versions.recommended_versions())
        finding = Finding(VERSIONS_RULE, Status.NOTE, "MIG161.recommended", {"versions": best})
    pin_facts = [
        {"pin": pin.text, "place": str(pin.place), "outcome": outcome, **_version_facts(line)}
        for pin, (outcome, line) in outcomes.items()
    ]
    sources = [versions.load_compatibility()["sources"][name] for name in ("pairs", "support")]
    facts = {"recommended": _version_facts(versions.recommended_versions()), "pinned": pin_facts, "sources": sources}
    return Report("migration", "assess_versions", (finding,), Table(columns, tuple(rows)), facts=facts)


def describe_versions(line: Together) -> Scalar:
    """Describe all versions of a set in one sentence."""
    args: dict[str, Scalar] = {
        "torch": line.torch,
        "torch_npu": line.torch_npu,
        "cann": line.cann,
        "driver": line.driver or None,
        "python": _format_python_range(line) or None,
    }
    return Sentence("migration.versions.set", **args)


def _make_version_row(pin_text: Scalar, place: str, line: Together, advice: Scalar) -> tuple[Scalar, ...]:
    state: Scalar = Sentence(f"migration.line.{line.state or 'not_listed'}", until=line.until)
    link = versions.load_compatibility()["sources"]["support"]
    known = (line.driver or None, _format_python_range(line) or None)
    return pin_text, place or None, line.torch, line.torch_npu, line.cann or None, *known, state, advice, link


def _format_python_range(line: Together) -> str:
    return f"{line.python[0]} – {line.python[-1]}" if line.python else ""


def _version_facts(line: Together) -> dict[str, object]:
    return {**asdict(line), "python": list(line.python)}


__all__ = ["REPEATED", "assess", "kinds_of", "rank_risks"]
RULE = "MIG160"
WEIGHT = 1000.0
RISKS = 15
#: Hours from which work by hand is more than a small matter.
MUCH_H = 4.0
#: From here on a reader wants no tenths of hours.
WHOLE_H = 10.0
#: The plan's steps, each with what has to be there at its end; the sentences are in the catalogue.
STEPS = tuple("unsupported pins early baseline versions rewrite dry_run precision performance long_run".split())


def assess(
    path: str | os.PathLike[str],
    fail_on: Iterable[str] = (),
    *,
    entry: str | os.PathLike[str] | None = None,
    prices: str | os.PathLike[str] | None = None,
    torch_npu: str | None = None,
) -> Report:
    """The assessment of a file or folder. With `fail_on` (classes) the status is Fix where one of them occurs. With
    `entry`, a script of the folder, hours and risks are of what its imports reach. `prices` is a file of prices
    (estimates/prices.py), by which hours become person-days and money. `torch_npu` is the release to judge for.

    `facts` has `counts` and `effort_h` (repairs) by class, `estimate_h` (testing and the range), `versions`, `risks`
    and `libraries`, as a CI job reads them. Raises WorkbookError for an unknown class or a path that does not exist."""
    gate_classes = parse_fail_on(fail_on, CLASSES)
    priced = load_prices(prices)
    scanned, where = scan(path, entry=entry, torch_npu=torch_npu), collect_files(path)
    kinds = kinds_of(scanned.findings)
    lines = effort.lines_of(kinds)
    sums = effort.sums_of(lines)
    pins_by_text: dict[str, Pin] = {}
    for file in where.texts:
        try:
            source = read_text(file, where.name_of(file))
        except (Unreadable, OSError):
            continue  # the scan has said so
        for pin in find_pins(source):
            pins_by_text.setdefault(pin.text, pin)
    chosen = report_versions(list(pins_by_text.values()))
    tensorflow = scanned.facts.get("tensorflow", {"counts": {}})["counts"]  # counted apart by the scan
    counts = {name: count + tensorflow.get(name, 0) for name, count in scanned.facts["counts"].items()}
    headline, *scan_findings = scanned.findings
    untold = [
        finding
        for finding in scan_findings
        if finding.status is Status.NOT_LOOKED or finding.rule in (FOLDED, OPEN) or finding.key == JUDGED_FOR
    ]
    summary_args: dict[str, Scalar] = {
        "grave": describe_grave_findings(scan_findings),
        "unread": describe_unread_files(scan_findings),
        "files": count_files(where),
    }
    risks = rank_risks(kinds)
    parts = (
        _report_risks(risks),
        _report_plan(counts, chosen),
        chosen,
        _report_libraries(risks, kinds),
        effort.report_calculation(lines, sums),
        report_cost(effort.add_sums(sums.values()), priced),
    )
    hours = {name: sums[name].likely for name in CLASSES}
    facts: dict[str, Any] = {
        "path": os.fspath(path),
        "files": scanned.facts["files"],
        "torch_npu": scanned.facts["torch_npu"],
        "counts": counts,
        "effort_h": hours,
        "effort_total_h": round(sum(hours.values()), 2),
        "estimate_h": {"testing": sums[effort.TESTING].likely, **asdict(effort.add_sums(sums.values()))},
        "cost": parts[-1].facts,
        "versions": chosen.facts,
        "rules_tried_with": VERSIONS,
        "fail_on": list(gate_classes),
        "failed_on": [name for name in gate_classes if counts[name]],
        "risks": [
            {
                "rule": risk.first.rule,
                "class": risk.repair,
                "weight": _weigh_risk(risk),
                "key": risk.first.key,
                "args": risk.first.args,
                "first": first_place_of(risk.first),
                "places": risk.places,
                "effort_h": risk.hours,
            }
            for risk in risks
        ],
        "unread": sum(finding.status is Status.NOT_LOOKED for finding in untold),
        **{name: scanned.facts[name] for name in ("unreached",) if name in scanned.facts},
    }
    findings = (
        _summarize_assessment(facts, summary_args, headline.status),
        *judge_gates(RULE, counts, gate_classes),
        *untold,
    )
    table = effort.make_effort_table(lines, sums) if lines else None
    return Report("migration", "assess", findings, table, effort.CHART if lines else None, facts=facts, parts=parts)


def _summarize_assessment(facts: dict[str, Any], summary_args: dict[str, Scalar], status: Status) -> Finding:
    """Summarize the assessment, with the scan's own status: both speak of the source as it stands."""
    counts = facts["counts"]
    if not any(counts.values()):
        nothing_args = {name: summary_args[name] for name in ("files", "unread")}
        return Finding(RULE, status, "MIG160.nothing", nothing_args, weight=WEIGHT)
    args: dict[str, Scalar] = {
        **summary_args,
        **{name: counts[name] for name in (UNSUPPORTED, MANUAL, REWRITE)},
        "hours": _round_hours(facts["estimate_h"]["likely"]),
        "low": _round_hours(facts["estimate_h"]["low"]),
        "high": _round_hours(facts["estimate_h"]["high"]),
    }
    return Finding(RULE, status, "MIG160.estimate", args, weight=WEIGHT)


def _round_hours(hours: float) -> Scalar:
    return round(hours) if hours >= WHOLE_H else round(hours, 1)


def _weigh_risk(risk: Risk) -> str:
    """Weigh a risk: high: training cannot run as it is; medium: it may not, or there is much to do; low: the rest."""
    if stops_training(risk.first):
        return "high"
    return "medium" if risk.repair == UNSUPPORTED or risk.hours >= MUCH_H else "low"


def _report_risks(order: list[Risk]) -> Report:
    counted = {"risk_weight": 0, "risk": 80, "repair": 0, "repair_count": 0}
    columns = make_wrapped_columns(**counted, effort=0, risk_first=40, confidence=0, link=0)
    rows = tuple(map(_make_risk_row, order[:RISKS]))
    key = "MIG160.risks" if rows else "MIG160.no_risk"
    args: dict[str, Scalar] = {"shown": len(rows), "all": len(order)} if rows else {}
    finding = Finding(RULE, Status.NOTE, key, args)
    return Report("migration", "assess_risks", (finding,), Table(columns, rows) if rows else None)


def _make_risk_row(risk: Risk) -> tuple[Scalar, ...]:
    args = risk.first.args
    message: Scalar = Sentence(risk.first.key, **args)
    sure: Scalar = Sentence(f"migration.confidence.{args.get('confidence', CONFIDENCE[-1])}")
    weight: Scalar = Sentence(f"migration.weight.{_weigh_risk(risk)}")
    kind: Scalar = Sentence(f"migration.class.{risk.repair}")
    return weight, message, kind, risk.places, risk.hours, first_place_of(risk.first), sure, args.get("link")


def _report_libraries(risks: list[Risk], kinds: list[Kind]) -> Report:
    """A row per library, found by its import or in a list of requirements: the grave first, then those that work."""
    every = [(risk.kinds[0], risk.places) for risk in risks] + [(kind, kind.places) for kind in kinds]
    rows: dict[str, tuple[Scalar, ...]] = {}
    for kind, places in every:
        args = kind.first.args
        if kind.library:
            repair: Scalar = Sentence(f"migration.class.{kind.repair}")
            use = args.get("use", Sentence(kind.first.key, **args))
            row = (str(args["library"]), repair, use, places, str(kind.first.place), args.get("link"))
            rows.setdefault(kind.library, row)
    columns = make_wrapped_columns(library=0, repair=0, library_use=80, repair_count=0, risk_first=40, link=0)
    finding = Finding(RULE, Status.NOTE if rows else Status.GOOD, "MIG160.libraries", {"count": len(rows)})
    table = Table(columns, tuple(rows.values())) if rows else None
    return Report("migration", "assess_libraries", (finding,), table)


def _report_plan(counts: dict[str, int], chosen: Report) -> Report:
    """What may stop the migration is decided first, and a torch that has no torch_npu is left before the baseline."""
    columns = make_wrapped_columns(plan_step=0, plan_work=60, plan_target=60)
    pins = chosen.facts["pinned"]
    pinned = [pin["pin"] for pin in pins if pin["outcome"] in (OLD, NONE)]
    early = [pin["pin"] for pin in pins if pin["outcome"] == EARLY]
    best = versions.recommended_versions()
    args: dict[str, dict[str, Scalar]] = {
        "versions": {"versions": describe_versions(best)},
        "unsupported": {"count": counts[UNSUPPORTED]},
        "pins": {"pins": pinned, "torch": best.torch},
        "early": {"pins": early, "torch": best.torch},
    }
    there = {"unsupported": counts[UNSUPPORTED], "pins": pinned, "early": early}
    left_out = {name for name, reason_for_step in there.items() if not reason_for_step}
    steps = [step for step in STEPS if step not in left_out]
    work: list[Scalar] = [Sentence(f"migration.plan.{step}", **args.get(step, {})) for step in steps]
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (number, what, Sentence(f"migration.target.{step}")) for number, (what, step) in enumerate(zip(work, steps), 1)
    )
    finding = Finding(RULE, Status.NOTE, "MIG160.plan", {"first": work[0]})
    return Report("migration", "assess_plan", (finding,), Table(columns, rows))
