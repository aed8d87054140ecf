"""`advise`: every cause that is known, what was seen of it, and what to change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.launch import together
from helpers.precision.advice import rules
from helpers.precision.advice.seen import Seen
from helpers.precision.baselines.reading import opened
from helpers.precision.comparison import Comparison, examine
from helpers.precision.curves.readers import read
from helpers.precision.curves.series import Curve
from helpers.report import Column, Report, Table
from helpers.rules import judge, rules_of
from helpers.words import Scalar, catalogue

COLUMNS = (Column("rule"), Column("cause", wrap=28), Column("advice_seen", wrap=60), Column("advice_change", wrap=60),
           Column("advice_source", detail=True))  # fmt: skip


def advise(
    baseline: str | Path,
    target: str | Path,
    *,
    again: str | Path | None = None,
    log_baseline: str | Path | None = None,
    log_target: str | Path | None = None,
    replaying: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Two captures (folders or bundles, as compare takes them) judged by every rule of advice/rules: a row for each.

    `again` is a second capture of one side: whether a run repeats itself shows in nothing else. The logs (as curves
    takes them) tell of the loss scale; by default each capture's own. `replaying` runs operators again in float64
    first, as compare does. A cause whose facts were not recorded is told as not looked at; FAIL where the two are not
    the same experiment, so that no tensor was. Raises WorkbookError where
    a side or a log that was asked for cannot be read.
    """
    with ExitStack() as stack:
        left, right = (stack.enter_context(opened(side)) for side in (baseline, target))
        facts = examine(left.folder.absolute(), right.folder.absolute(), replaying=replaying, tell=progress)
        second = stack.enter_context(opened(again)).folder.absolute() if again is not None else None
        repeated = _again(facts, second, progress) if second is not None else None
        made = report(Seen(facts, (_log(left.folder, log_baseline), _log(right.folder, log_target)), repeated))
    places = {name: str(Path(side.place).absolute()) for name, side in (("baseline", left), ("target", right))}
    return replace(made, facts={**made.facts, **places})


def report(seen: Seen) -> Report:
    """The facts judged; a row for each rule."""
    checks = rules_of(rules)
    found = judge(seen, checks)
    rows = tuple(row for code in checks for row in _rows(code, [one for one in found if one.rule == code]))
    sides = seen.comparison.baseline, seen.comparison.target
    about = seen.comparison.target.about
    counts = {name: sum(one.status is status for one in found) for name, status in
              (("changes", Status.WARN), ("remarks", Status.NOTE), ("skipped", Status.SKIPPED))}  # fmt: skip
    return Report(
        "precision", "advise", (_summary(seen, counts, len(checks)), *found), Table(COLUMNS, rows),
        facts={**counts, "baseline": str(sides[0].folder), "target": str(sides[1].folder),
               "simulator": together(side.about.about for side in sides if side.about)},
        tier=about.tier if about else "",
    )  # fmt: skip


def fired(facts: Comparison) -> list[Finding]:
    """What applies to a comparison whose runs part, from its facts alone; what was not looked at `advise` says."""
    if facts.first is None and not facts.differences:
        return []
    return [one for one in judge(Seen(facts), rules_of(rules)) if one.status is not Status.SKIPPED]


def _again(facts: Comparison, folder: Path, progress: Callable[[str], None] | None) -> Comparison:
    """The second capture beside the one of the same kind of device; the target where that is not recorded."""
    repeated = examine(facts.target.folder, folder, replaying=False, tell=progress)
    tier = repeated.target.about.tier if repeated.target.about else ""
    mine = [side.about.tier if side.about else "" for side in (facts.baseline, facts.target)]
    if tier and tier != mine[1] and tier == mine[0]:
        return examine(facts.baseline.folder, folder, replaying=False, tell=progress)
    return repeated


def _log(folder: Path, given: str | Path | None) -> Curve | WorkbookError | None:
    """The log that was given, or the capture's own; None where it has none, and why where that cannot be read."""
    if given is not None:
        return read(Path(given))
    if not (folder / "gpulog.json").is_file():
        return None
    try:
        return read(folder / "gpulog.json")
    except WorkbookError as cause:
        return cause  # nobody asked for it: the rule that needs it says why it could not look


def _rows(code: str, found: list[Finding]) -> list[tuple[Scalar, ...]]:
    cause: Scalar = {"say": f"{code}.cause"}
    if not found:
        return [(code, cause, {"say": "advice.nothing"}, None, None)]
    return [(code, cause, {"say": one.key, "args": one.args}, _change(one), one.args.get("source")) for one in found]


def _change(found: Finding) -> Scalar:
    if not catalogue()[found.key].hint_en:
        return None
    return {"hint": found.key, "args": found.args}


def _summary(seen: Seen, counts: dict[str, int], rules_run: int) -> Finding:
    args: dict[str, Scalar] = {**counts, "rules": rules_run}
    if seen.comparison.stopped:
        return Finding("ACC259", Status.FAIL, "ACC259.other_experiment", {**args, "what": seen.different}, weight=100)
    if seen.comparison.bare:
        return Finding("ACC259", Status.SKIPPED, "ACC259.no_operators", args, weight=100)
    if counts["changes"]:
        return Finding("ACC259", Status.NOTE, "ACC259.changes", args)
    status = Status.SKIPPED if counts["skipped"] else Status.OK
    return Finding("ACC259", status, "ACC259.none", args, weight=100)
