"""The report of the loop: a verdict, its rounds, what a person must decide, and what the copy does not hold."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.versions import base_version
from ascend_workbook.migration.dry_run import judge
from ascend_workbook.migration.loop.repository import BASELINE, ORIGINAL, Result
from ascend_workbook.migration.loop.rounds import Verdict, args_of_round, key_of_round
from ascend_workbook.migration.loop.state import AGREES, EDITED, FAILED, Round, State
from ascend_workbook.migration.release import GIVEN, Release
from ascend_workbook.migration.texts.shell import is_shell
from ascend_workbook.redaction.exits import redact
from ascend_workbook.show.card import Shown, show_report

WEIGHT = 2000.0
#: The verb of a round's own card.
ROUND = "migrate_round"
#: Characters of a diff that the JSON keeps of a round; names shown of many.
LONGEST, SHOWN = 64 << 10, 6
COLUMNS = (
    *map(Column, ("round", "side", "outcome", "place")),
    *(Column("cause", wrap=50), Column("cure"), Column("commit"), Column("worst_error")),
)


def make_report(result: Result, state: State, verdict: Verdict, root: Path, tier: str, shell: str = "") -> Report:
    """Make the report of a call that ended: its rounds are cards of their own, the last runs a part too.

    `shell` is the name of the shell script that launches the training."""
    findings = [_summarise(result, state, verdict), *_tell_rounds(state.rounds)]
    if verdict.key != "agrees":
        findings += _list_decisions(verdict)
    by_hand = _list_by_hand(result, state)
    findings += _describe_copy(state, by_hand)
    findings += _name_unused_launches(state, shell)
    undone: list[Scalar] = [*result.list_undone()]
    if undone:
        findings.append(Finding("MIG303", Status.NOTE, "MIG303.undone", {"count": len(undone), "names": undone}))
    rows = tuple(map(_make_row, state.rounds))
    facts: dict[str, Any] = {
        "verdict": verdict.key,
        "root": str(root),
        "script": state.source["script"],
        "mode": state.source["mode"],
        "out": str(result.folder),
        "branch": result.branch,
        "original": ORIGINAL,
        "head": result.head,
        "changed": result.list_changed(),
        "rewritten": state.rewritten,
        "rounds": [_describe_round(result, entry) for entry in state.rounds],
        "by_hand": by_hand,
        "left_out": state.left,
    }
    last = (verdict.last,) if verdict.last is not None else ()
    cards = tuple(map(_show_round, state.rounds, facts["rounds"], _tell_rounds(state.rounds)))
    table = Table(COLUMNS, rows) if rows else None
    return Report(
        "migration",
        "migrate",
        _lead_with_summary(findings),
        table,
        facts=facts,
        tier=tier,
        parts=(*cards, *last),
        answers=("MIG300",),
    )


def tell_release(report: Report, release: Release, ran: str) -> Report:
    """Say for which release of torch_npu the result was written, where somebody named one, and on which it `ran`."""
    facts = {**report.facts, "torch_npu": {**release.to_facts(), "ran": ran}}
    findings = [*report.findings]
    if release.why == GIVEN:
        findings.append(release.describe())
    if release.why == GIVEN and ran and base_version(ran) != base_version(release.version):
        args: dict[str, Scalar] = {"release": release.version, "ran": ran}
        findings.append(Finding("MIG303", Status.LOOK, "MIG303.other_release", args))
    return replace(report, findings=_lead_with_summary(findings), facts=facts)


def _lead_with_summary(findings: list[Finding]) -> tuple[Finding, ...]:
    """Make the summary as grave as the gravest beside it, so that the verdict says what became of it all."""
    summary, *others = findings
    return (replace(summary, status=max(finding.status for finding in findings)), *others)


def _summarise(result: Result, state: State, verdict: Verdict) -> Finding:
    cured = sum(bool(entry.cure) for entry in state.rounds)
    last = state.rounds[-1] if state.rounds else None
    caused = [entry for entry in state.rounds if entry.cause]
    known = Sentence("MIG300.last_cause", cause=caused[-1].cause, at=_name_place(caused[-1])) if caused else ""
    args: dict[str, Scalar] = {
        "rounds": len(state.rounds),
        "cured": cured,
        "files": len(result.list_changed()),
        "out": str(result.folder),
        "quoted": shlex.quote(str(result.folder)),
        "cause": last.cause if last else "",
        "at": _name_place(last) if last else "",
        "last": known,
        "steps": last.compared if last else 0,
        "branch": Sentence("MIG300.branch", branch=result.branch) if result.branch else "",
    }
    status = Status.GOOD if verdict.key == "agrees" else Status.FIX
    return Finding("MIG300", status, f"MIG300.{verdict.key}", args, last.place if last else None, WEIGHT)


def _name_place(entry: Round) -> str:
    return f" ({entry.place})" if entry.place else ""


def _tell_rounds(rounds: list[Round]) -> Iterator[Finding]:
    """A round that others followed is over, whatever it came to."""
    for entry in rounds:
        yield _tell_round(entry, last=entry is rounds[-1])


def _tell_round(entry: Round, *, last: bool) -> Finding:
    key = key_of_round(entry)
    status = Status.FIX if last and entry.outcome not in (AGREES, EDITED) and not entry.cure else Status.GOOD
    return Finding("MIG301", status, f"MIG301.{key}", args_of_round(entry), entry.place)


def _show_round(entry: Round, described: dict[str, Any], finding: Finding) -> Report:
    """A card of its own, with the diff of what was done."""
    listing = Listing("diff", described["diff"], "diff") if described["diff"] else None
    place = {"commit": entry.commit, "cure": entry.cure}
    return Report("migration", ROUND, (finding,), listing=listing, facts=place)


def list_rounds(report: Report) -> list[Report]:
    """List the cards of a report's rounds."""
    return [part for part in report.parts if part.verb == ROUND]


def show_rounds(report: Report | None, lang: str | None = None) -> Shown | None:
    """Return the verdict and a card for each round as a cell shows them; None where no round was asked for."""
    if report is None:
        return None
    cards = [show_report(part, lang) for part in (replace(report, parts=()), *list_rounds(report))]
    facts = {"verdict": report.facts["verdict"], "rounds": [card.facts["verdict"] for card in cards[1:]]}
    return Shown("\n".join(card.html for card in cards), "\n".join(card.line for card in cards), facts)


def _list_decisions(verdict: Verdict) -> Iterator[Finding]:
    """What the last run says of the cause, for a person to decide upon."""
    for finding in verdict.last.findings if verdict.last is not None else ():
        if finding.status is Status.FIX and finding.key not in ("MIG140.failed", "MIG140.log"):
            yield Finding(
                "MIG302", Status.FIX, "MIG302.decide", {"what": Sentence(finding.key, **finding.args)}, finding.place
            )


def _describe_copy(state: State, by_hand: list[str]) -> Iterator[Finding]:
    for kind, names in state.left.items():
        if names:
            shown: list[Scalar] = [*names[:SHOWN], *(["…"] if len(names) > SHOWN else [])]
            yield Finding("MIG303", Status.NOTE, f"MIG303.{kind}", {"count": len(names), "names": shown})
    if by_hand:
        places: list[Scalar] = [*by_hand[:SHOWN], *(["…"] if len(by_hand) > SHOWN else [])]
        yield Finding("MIG303", Status.NOTE, "MIG303.by_hand", {"count": len(by_hand), "places": places})


def _name_unused_launches(state: State, shell: str) -> Iterator[Finding]:
    """Name the shell scripts that a person has edited and no run went through; `shell` is the one that launches."""
    edited = {name for entry in state.rounds if entry.outcome == EDITED for name in entry.files}
    names: list[Scalar] = [name for name in sorted(edited) if is_shell(Path(name).name) and name != shell]
    if names:
        yield Finding("MIG303", Status.LOOK, "MIG303.not_run", {"count": len(names), "names": names})


def _list_by_hand(result: Result, state: State) -> list[str]:
    """The places that the rewrite left to a person and that no cure has changed since."""
    mended = {name for entry in state.rounds for name in entry.files}
    lines: dict[str, tuple[list[bytes], set[bytes]]] = {}
    left = []
    for place in state.by_hand:
        name, number = place.path, place.line
        if name in mended and name not in lines:
            before, now = (result.read_file(commit, name) or b"" for commit in (BASELINE, "HEAD"))
            lines[name] = before.splitlines(), set(now.splitlines())
        before_lines, now_lines = lines.get(name, ([], set()))
        if not 0 < number <= len(before_lines) or before_lines[number - 1] in now_lines:
            left.append(str(place))
    return left


def _make_row(entry: Round) -> tuple[Scalar, ...]:
    side: Scalar = Sentence(f"migration.side.{entry.side}") if entry.side else None
    pairs = judge.pair_losses(entry.losses.get("baseline", []), entry.losses.get("target", []))
    far = judge.find_worst_step(pairs)
    worst = far.error if far is not None else None
    place = str(entry.place) if entry.place else None
    outcome = Sentence(f"loop.outcome.{entry.outcome}")
    words = (entry.cause or None, entry.cure or None, entry.commit[:10] or None)
    return (entry.number, side, outcome, place, *words, worst)


def _describe_round(result: Result, entry: Round) -> dict[str, Any]:
    diff = ""
    if entry.commit:
        diff = redact(result.show_diff(entry.commit).encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    data = entry.to_dict()
    data.pop("signature")
    return {**data, "diff": diff[:LONGEST], "failed": entry.outcome == FAILED}
