"""The items judged, and the verdict: accepted only where each was looked at on an NPU and is met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

from ascend_workbook.batch.acceptance import rules
from ascend_workbook.batch.acceptance.evidence import Evidence
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.rules import Check, judge_facts, rules_of
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence

VERDICT = "ACP500"
GROUPS = ("environment", "code", "performance", "precision", "deployment", "rollback")
GROUP_OF = {
    "ACP50": "environment",
    "ACP51": "code",
    "ACP52": "precision",
    "ACP53": "performance",
    "ACP54": "deployment",
    "ACP55": "rollback",
}
#: What a person may answer for: items that no report answered. Never a speed.
BY_HAND = tuple(group for group in GROUPS if group != "performance")
COLUMNS = ("accept_group", "accept_item", "accept_state", "evidence", "accept_where", "accept_date", "next_step")
#: Columns of a terminal that a cell takes; 120 hold the whole table.
WIDEST = {"accept_item": 22, "evidence": 24, "accept_where": 12, "next_step": 24}
STATES = ("met", "simulated", "by_hand", "missed", "not_looked", "not_applicable")


def load_checks() -> dict[str, Check]:
    """Return the checks of the checklist by code."""
    return rules_of(rules)


def group_of(code: str) -> str:
    """Return the group of an item: the tens of its code, from ACP50x on."""
    return GROUP_OF[code[:5]]


def judge_checklist(facts: Evidence, confirmed: Mapping[str, str], *, strict: bool = True) -> Report:
    """Judge every item of the checklist and return a report with a row per item, in the order of GROUPS. `confirmed` is
    what a person answers for, by code. Where an item is still to be looked at, the verdict is FAIL, or SKIPPED if not
    `strict`.

    Raises WorkbookError for a code that is none, or that cannot be answered by hand.
    """
    checks = load_checks()
    for code in confirmed:
        if code not in checks or group_of(code) not in BY_HAND:
            able = [code_or_finding for code_or_finding in checks if group_of(code_or_finding) in BY_HAND]
            raise WorkbookError("accept.confirm", code=code, known=able)
    findings = [_confirm_by_hand(code_or_finding, confirmed) for code_or_finding in judge_facts(facts, checks)]
    findings.sort(key=lambda code_or_finding: (GROUPS.index(group_of(code_or_finding.rule)), code_or_finding.rule))
    verdict = _decide_verdict(findings, strict=strict)
    table = Table(tuple(Column(name, wrap=WIDEST.get(name, 0)) for name in COLUMNS), tuple(map(_make_row, findings)))
    tiers = [
        tier
        for tier in ("npu", "npu-simulated")
        if any(code_or_finding.report.tier == tier for code_or_finding in facts.found)
    ]
    return Report(
        "batch",
        "accept",
        (verdict, *findings),
        table,
        tier=(tiers or [""])[-1],
        facts=_collect_facts(facts, findings, verdict),
        answers=(VERDICT,),
    )


def state_of_finding(finding: Finding) -> str:
    """Return the state of an item, one of STATES. simulated: met, but on the simulator."""
    if finding.status is Status.OK:
        return "by_hand" if finding.key == "accept.by_hand" else "simulated" if finding.args.get("simulated") else "met"
    return {Status.NOTE: "not_applicable", Status.SKIPPED: "not_looked"}.get(finding.status, "missed")


def _confirm_by_hand(finding: Finding, confirmed: Mapping[str, str]) -> Finding:
    """Replace a finding that nobody looked at by a person's confirmation. What was looked at cannot be answered by a
    person.
    """
    if finding.status is not Status.SKIPPED or finding.rule not in confirmed:
        return finding
    return replace(finding, status=Status.OK, key="accept.by_hand", args={"who": confirmed[finding.rule]})


def _decide_verdict(findings: list[Finding], *, strict: bool) -> Finding:
    states = [state_of_finding(finding) for finding in findings]
    args: dict[str, Scalar] = {name: states.count(name) for name in STATES}
    args["items"] = len(findings)
    if "missed" in states:
        first = findings[states.index("missed")]
        args |= {"first": Sentence(f"accept.item.{first.rule}"), "said": Sentence(first.key, **first.args)}
        return Finding(VERDICT, Status.FAIL, "ACP500.missed", args, weight=300)
    waiting: list[Scalar] = [
        Sentence(f"accept.left.{name}", count=args[name]) for name in ("not_looked", "simulated") if args[name]
    ]
    if waiting:
        status = Status.FAIL if strict else Status.SKIPPED
        return Finding(VERDICT, status, "ACP500.not_yet", {**args, "left": waiting}, weight=300)
    key = "ACP500.accepted_by_hand" if args["by_hand"] else "ACP500.accepted"
    return Finding(VERDICT, Status.OK, key, args, weight=300)


def _make_row(finding: Finding) -> tuple[Scalar, ...]:
    sentence: Scalar = Sentence(finding.key, **finding.args)
    step: Scalar = (
        NextStep(f"accept.item.{finding.rule}") if state_of_finding(finding) in ("missed", "not_looked") else None
    )
    if state_of_finding(finding) == "simulated":
        step = Sentence("accept.repeat")
    return (
        Sentence(f"accept.group.{group_of(finding.rule)}"),
        Sentence(f"accept.item.{finding.rule}"),
        Sentence(f"accept.state.{state_of_finding(finding)}"),
        sentence,
        str(finding.place) if finding.place else None,
        finding.args.get("date"),
        step,
    )


def _collect_facts(facts: Evidence, findings: list[Finding], verdict: Finding) -> dict[str, object]:
    targets = facts.targets
    return {
        "folder": str(facts.folder),
        "verdict": verdict.key.partition(".")[2],
        "items": {finding.rule: state_of_finding(finding) for finding in findings},
        "repeat_on_hardware": [finding.rule for finding in findings if state_of_finding(finding) == "simulated"],
        "targets": asdict(targets),
        "unread": list(facts.unread),
    }
