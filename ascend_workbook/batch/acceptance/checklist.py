"""`accept`: the items judged for a run or each run of a plan, and the verdict.

Accepted only where each item was looked at on an NPU and is met.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ascend_workbook.batch.acceptance import rules
from ascend_workbook.batch.acceptance.evidence import NO_REPORTS, Evidence, gather_evidence, load_targets, parse_targets
from ascend_workbook.batch.campaign.ended import LEFT_OUT
from ascend_workbook.batch.plan.model import Targets
from ascend_workbook.batch.results.publish import show_acceptance
from ascend_workbook.batch.results.shard import FOLDER
from ascend_workbook.batch.stages import run_folder
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence
from ascend_workbook.page.render import draw_run
from ascend_workbook.storage import open_storage

VERDICT = "ACP500"
GROUPS = ("environment", "code", "performance", "precision", "deployment", "rollback")
#: The group of an item by the tens of its code, from ACP50x on.
TENS = ("environment", "code", "precision", "performance", "deployment", "rollback")
#: What a person may answer for: items that no report answered. Never a speed.
BY_HAND = tuple(group for group in GROUPS if group != "performance")
COLUMNS = (
    *("accept_group", "accept_item", "status", "accept_state", "evidence", "accept_where", "accept_date"),
    "next_step",
)
#: Columns that a page alone has room for.
DETAILS = ("status",)
#: Columns of a terminal that a cell takes; 120 hold the whole table.
WIDEST = {"accept_item": 22, "evidence": 24, "accept_where": 12, "next_step": 24}
STATES = ("met", "simulated", "by_hand", "missed", "not_looked", "not_applicable")
#: The states of an item that are no failure and leave nothing to see.
DONE = ("met", "by_hand", "not_applicable")


def group_of(code: str) -> str:
    """Return the group of an item."""
    return TENS[int(code[4])]


def judge_checklist(facts: Evidence, confirmed: Mapping[str, str], *, strict: bool) -> Report:
    """Judge every item of the checklist and return a report with a row per item, in the order of GROUPS. `confirmed` is
    what a person answers for, by code. Where an item is still to be looked at, the verdict is Fix, or Not looked if not
    `strict`. Raises WorkbookError for a code that is none, or that cannot be answered by hand, and for an empty
    answer."""
    checks = rules_of(rules)
    for code, words in confirmed.items():
        if code not in checks or group_of(code) not in BY_HAND:
            able = [known for known in checks if group_of(known) in BY_HAND]
            raise WorkbookError("accept.confirm", code=code, known=able)
        if not words.strip():  # nobody who saw nothing
            raise WorkbookError("accept.confirm_empty", code=code)
    findings = list(judge_facts(facts, checks))
    for number, finding in enumerate(findings):  # what was looked at stays
        if finding.status is Status.NOT_LOOKED and finding.rule in confirmed:
            args: dict[str, Scalar] = {"who": confirmed[finding.rule]}
            findings[number] = replace(finding, status=Status.GOOD, key="accept.by_hand", args=args)
    findings.sort(key=lambda finding: (GROUPS.index(group_of(finding.rule)), finding.rule))
    verdict = _decide_verdict(findings, strict=strict)
    columns = (Column(name, wrap=WIDEST.get(name, 0), detail=name in DETAILS) for name in COLUMNS)
    table = Table(tuple(columns), tuple(map(_make_row, findings)))
    return Report(
        "batch",
        "accept",
        (verdict, *findings),
        table,
        tier=_lowest_tier(evidence.report for evidence in facts.found),
        facts={
            "folder": str(facts.folder),
            "verdict": verdict.key.partition(".")[2],
            "items": {finding.rule: state_of_finding(finding) for finding in findings},
            "repeat_on_hardware": [finding.rule for finding in findings if state_of_finding(finding) == "simulated"],
            "targets": asdict(facts.targets),
            "unread": list(facts.unread),
        },
        answers=(VERDICT,),
    )


def _lowest_tier(reports: Iterable[Report]) -> str:
    """Return the lower of the NPU tiers that the reports come from; empty where none does."""
    tiers = {report.tier for report in reports}
    return next((tier for tier in ("npu-simulated", "npu") if tier in tiers), "")


def state_of_finding(finding: Finding) -> str:
    """Return the state of an item, one of STATES. simulated: met, but on the simulator."""
    if finding.status is Status.GOOD:
        return "by_hand" if finding.key == "accept.by_hand" else "simulated" if finding.args.get("simulated") else "met"
    return {Status.NOTE: "not_applicable", Status.NOT_LOOKED: "not_looked"}.get(finding.status, "missed")


def _decide_verdict(findings: list[Finding], *, strict: bool) -> Finding:
    states = [state_of_finding(finding) for finding in findings]
    args: dict[str, Scalar] = {name: states.count(name) for name in STATES}
    args["items"] = len(findings)
    if "missed" in states:
        first = findings[states.index("missed")]
        args |= {"first": Sentence(f"accept.item.{first.rule}"), "said": Sentence(first.key, **first.args)}
        return Finding(VERDICT, Status.FIX, "ACP500.missed", args, weight=300)
    waiting: list[Scalar] = [
        Sentence(f"accept.left.{name}", count=args[name]) for name in ("not_looked", "simulated") if args[name]
    ]
    if waiting:
        status = Status.FIX if strict else Status.NOT_LOOKED
        return Finding(VERDICT, status, "ACP500.not_yet", {**args, "left": waiting}, weight=300)
    key = "ACP500.accepted_by_hand" if args["by_hand"] else "ACP500.accepted"
    return Finding(VERDICT, Status.GOOD, key, args, weight=300)


def _make_row(finding: Finding) -> tuple[Scalar, ...]:
    item, state = f"accept.item.{finding.rule}", state_of_finding(finding)
    step: Scalar = NextStep(item) if state in ("missed", "not_looked") else None
    if state == "simulated":
        step = Sentence("accept.repeat")
    status = Status.FIX if state == "missed" else Status.GOOD if state in DONE else Status.NOT_LOOKED
    group, word = Sentence(f"accept.group.{group_of(finding.rule)}"), Sentence(f"accept.state.{state}")
    head = (group, Sentence(item), status.json, word)
    place = str(finding.place) if finding.place else None
    return (*head, Sentence(finding.key, **finding.args), place, finding.args.get("date"), step)


def accept(
    folder: str | os.PathLike[str],
    *,
    target: Sequence[str] = (),
    confirm: Mapping[str, str] | None = None,
    lang: str | None = None,
) -> Report:
    """Judge the run or the plan in the folder and write acceptance.json into it; a run's page is drawn anew.
    `target`: texts such as "loss=1%" or "throughput=80%" (see targets.parse); without one, those of the run's plan.
    `confirm`: what a person answers for, by an item's code. The report is Good only where every item is met on an NPU.
    Raises WorkbookError where the folder holds no reports, or for a target or a code that cannot be."""
    root, targets = Path(folder).resolve(), parse_targets(target) if target else None
    names = _find_runs(root)
    if not names:
        report = judge_run(root, targets or load_targets(root), confirm or {})
        draw_run(root, lang)
        return report
    parts = []
    for run in names.values():
        try:
            parts.append(judge_run(run, targets or load_targets(run), confirm or {}))
            draw_run(run, lang)
        except WorkbookError as error:  # a run without reports is not looked at, and so is not accepted
            if error.key != NO_REPORTS:
                raise
            unseen = Finding(VERDICT, Status.NOT_LOOKED, error.key, dict(error.arguments))
            parts.append(Report("batch", "accept", (unseen,)))
    report = _join_reports(root, names, parts)
    _write_checklist(report, root)
    show_acceptance(report, root, lang)
    return report


def judge_run(
    folder: Path, targets: Targets, confirm: Mapping[str, str] | None = None, *, strict: bool = True
) -> Report:
    """Judge one run and write the checklist into its folder."""
    report = judge_checklist(gather_evidence(folder, targets), confirm or {}, strict=strict)
    _write_checklist(report, folder)
    return report


def judge_as_it_stands(folder: Path) -> Report:
    """Judge a run by what it saw, where `not yet` is no failure. Raises WorkbookError where it has no reports."""
    return judge_run(folder, load_targets(folder), strict=False)


def _find_runs(root: Path) -> dict[str, Path]:
    """Return the runs of a plan with their folders, those of its shards too. Runs that were left out and have no
    results are not among them; a single run's folder has none."""
    try:
        summary = json.loads(open_storage(str(root)).read_text("summary.json"))
        runs = {str(run["name"]): (str(run["state"]), str(run.get("page", ""))) for run in summary["runs"]}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("accept.summary", path=str(root / "summary.json"), error=str(cause)) from cause
    folders: dict[str, Path] = {}
    for name, (state, page) in runs.items():
        above = page.split("/")[0]  # a shard's folder in the plan's, where the run's page is in one
        folder = run_folder(name, root / above if FOLDER.fullmatch(above) else root)
        if state != LEFT_OUT or (folder / "report.json").is_file():
            folders[name] = folder
    return folders


def _join_reports(root: Path, names: Mapping[str, Path], parts: list[Report]) -> Report:
    verdicts = [part.findings[0] for part in parts]
    rows: list[tuple[Scalar, ...]] = []
    for name, verdict in zip(names, verdicts):
        rows.append((name, verdict.status.json, Sentence(verdict.key, **verdict.args)))
    good = sum(verdict.status is Status.GOOD for verdict in verdicts)
    args: dict[str, Scalar] = {"runs": len(names), "accepted": good}
    status = Status.GOOD if good == len(names) else Status.FIX
    findings = [Finding(VERDICT, status, "ACP500.plan", args, weight=400)]
    places = [(folder / "index.html").relative_to(root).as_posix() for folder in names.values()]
    findings += [replace(verdict, place=Place(place)) for place, verdict in zip(places, verdicts)]
    table = Table((Column("planned_run", wrap=40), Column("status"), Column("verdict", wrap=60)), tuple(rows))
    return Report(
        "batch",
        "accept",
        tuple(findings),
        table,
        tier=_lowest_tier(parts),
        facts={"folder": str(root), "runs": list(names)},
        parts=(_join_items([*names], parts),),
        answers=(VERDICT,),
    )


ITEM_COLUMNS = ("accept_group", "accept_item", "status", "accept_met", "accept_missed", "accept_open", "next_step")
#: Runs that a cell names before it only says that there are more.
NAMED = 4


def _join_items(names: Sequence[str], parts: Sequence[Report]) -> Report:
    """Make a row per condition, what is missed in front: how many runs meet it, which do not, and in which it is still
    to be seen."""
    runs_by_state: dict[str, dict[str, list[str]]] = {}
    for name, part in zip(names, parts):
        for code in rules_of(rules):
            state = part.facts.get("items", {}).get(code, "not_looked")
            kind = "met" if state in DONE else "missed" if state == "missed" else "open"
            runs_by_state.setdefault(code, {"met": [], "missed": [], "open": []})[kind].append(name)
    rows: list[tuple[Scalar, ...]] = []
    statuses = []
    for code in sorted(runs_by_state, key=lambda code: (GROUPS.index(group_of(code)), code)):
        missed, waiting = runs_by_state[code]["missed"], runs_by_state[code]["open"]
        status = Status.FIX if missed else Status.NOT_LOOKED if waiting else Status.GOOD
        item = f"accept.item.{code}"
        head: tuple[Scalar, ...] = (Sentence(f"accept.group.{group_of(code)}"), Sentence(item), status.json)
        step: Scalar = NextStep(item) if status is not Status.GOOD else None
        met = len(runs_by_state[code]["met"])
        rows.append((*head, met, *(_name_runs(runs, len(names)) for runs in (missed, waiting)), step))
        statuses.append(status)
    ordered = [row for _, row in sorted(zip(statuses, rows), key=lambda pair: -pair[0])]
    counts: dict[str, Scalar] = {"items": len(rows), "met": statuses.count(Status.GOOD)}
    counts |= {"missed": statuses.count(Status.FIX), "open": statuses.count(Status.NOT_LOOKED)}
    verdict = Finding(VERDICT, max(statuses, default=Status.NOT_LOOKED), "ACP500.items", counts)
    return Report("batch", "accept_items", (verdict,), Table(tuple(map(Column, ITEM_COLUMNS)), tuple(ordered)))


def _name_runs(names: Sequence[str], count: int) -> Scalar:
    if len(names) == count > 1:
        return Sentence("accept.all_runs", count=count)
    return [*names[:NAMED], *(["…"] if len(names) > NAMED else [])]


NAME = "acceptance"


def _write_checklist(report: Report, folder: Path) -> None:
    open_storage(str(folder)).write_text(f"{NAME}.json", report.to_json())
