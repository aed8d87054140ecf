"""The items judged, and the verdict: accepted only where each was looked at on an NPU and is met."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, replace

from helpers.batch.acceptance import rules
from helpers.batch.acceptance.evidence import Evidence
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.report import Column, Report, Table
from helpers.rules import Check, judge, rules_of
from helpers.words import Scalar

VERDICT = "ACP500"
GROUPS = ("environment", "code", "performance", "precision", "deployment", "rollback")
#: What a person may answer for: items that no report answered. Never a speed.
BY_HAND = tuple(group for group in GROUPS if group != "performance")
COLUMNS = ("accept_group", "accept_item", "accept_state", "evidence", "accept_where", "accept_date", "next_step")
#: Columns of a terminal that a cell takes; 120 hold the whole table.
WIDEST = {"accept_item": 22, "evidence": 24, "accept_where": 12, "next_step": 24}
STATES = ("met", "simulated", "by_hand", "missed", "not_looked", "not_applicable")


def items() -> dict[str, Check]:
    """The checklist, by code."""
    return rules_of(rules)


def group_of(code: str) -> str:
    """The GROUP beside an item's CODE."""
    group: str = sys.modules[items()[code].__module__].GROUP
    return group


def checklist(facts: Evidence, confirmed: Mapping[str, str], *, strict: bool = True) -> Report:
    """A row per item, in the order of GROUPS. `confirmed` is what a person answers for, by code. Where an item is still
    to be looked at, the verdict is FAIL, or SKIPPED if not `strict`.

    Raises WorkbookError for a code that is none, or that cannot be answered by hand.
    """
    known = items()
    for code in confirmed:
        if code not in known or group_of(code) not in BY_HAND:
            able = [one for one in known if group_of(one) in BY_HAND]
            raise WorkbookError("accept.confirm", code=code, known=able)
    found = [_by_hand(one, confirmed) for one in judge(facts, known)]
    found.sort(key=lambda one: (GROUPS.index(group_of(one.rule)), one.rule))
    verdict = _verdict(found, strict=strict)
    table = Table(tuple(Column(name, wrap=WIDEST.get(name, 0)) for name in COLUMNS), tuple(map(_row, found)))
    tiers = [tier for tier in ("npu", "npu-simulated") if any(one.report.tier == tier for one in facts.found)]
    return Report("batch", "accept", (verdict, *found), table, tier=(tiers or [""])[-1],
                  facts=_facts(facts, found, verdict), answers=(VERDICT,))  # fmt: skip


def state(one: Finding) -> str:
    """One of STATES; simulated: met, but on the simulator."""
    if one.status is Status.OK:
        return "by_hand" if one.key == "accept.by_hand" else "simulated" if one.args.get("simulated") else "met"
    return {Status.NOTE: "not_applicable", Status.SKIPPED: "not_looked"}.get(one.status, "missed")


def _by_hand(one: Finding, confirmed: Mapping[str, str]) -> Finding:
    """What nobody looked at may be answered by a person; what was looked at may not."""
    if one.status is not Status.SKIPPED or one.rule not in confirmed:
        return one
    return replace(one, status=Status.OK, key="accept.by_hand", args={"who": confirmed[one.rule]})


def _verdict(found: list[Finding], *, strict: bool) -> Finding:
    states = [state(one) for one in found]
    args: dict[str, Scalar] = {name: states.count(name) for name in STATES}
    args["items"] = len(found)
    if "missed" in states:
        first = found[states.index("missed")]
        args |= {"first": {"say": f"accept.item.{first.rule}"}, "said": {"say": first.key, "args": first.args}}
        return Finding(VERDICT, Status.FAIL, "ACP500.missed", args, weight=300)
    waiting: list[Scalar] = [{"say": f"accept.left.{name}", "args": {"count": args[name]}}
                             for name in ("not_looked", "simulated") if args[name]]  # fmt: skip
    if waiting:
        status = Status.FAIL if strict else Status.SKIPPED
        return Finding(VERDICT, status, "ACP500.not_yet", {**args, "left": waiting}, weight=300)
    key = "ACP500.accepted_by_hand" if args["by_hand"] else "ACP500.accepted"
    return Finding(VERDICT, Status.OK, key, args, weight=300)


def _row(one: Finding) -> tuple[Scalar, ...]:
    said: Scalar = {"say": one.key, "args": one.args}
    step: Scalar = {"hint": f"accept.item.{one.rule}"} if state(one) in ("missed", "not_looked") else None
    if state(one) == "simulated":
        step = {"say": "accept.repeat"}
    return ({"say": f"accept.group.{group_of(one.rule)}"}, {"say": f"accept.item.{one.rule}"},
            {"say": f"accept.state.{state(one)}"}, said, str(one.place) if one.place else None,
            one.args.get("date"), step)  # fmt: skip


def _facts(facts: Evidence, found: list[Finding], verdict: Finding) -> dict[str, object]:
    targets = facts.targets
    return {
        "folder": str(facts.folder), "verdict": verdict.key.partition(".")[2],
        "items": {one.rule: state(one) for one in found},
        "repeat_on_hardware": [one.rule for one in found if state(one) == "simulated"],
        "targets": asdict(targets),
        "unread": list(facts.unread),
    }  # fmt: skip
