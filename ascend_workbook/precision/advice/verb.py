"""`advise`: every cause that is known, what was seen of it, and what to change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence, load_catalogue
from ascend_workbook.machine.launch import join_simulator_parts
from ascend_workbook.precision.advice import rules
from ascend_workbook.precision.advice.evidence import Seen
from ascend_workbook.precision.baselines.reading import open_side
from ascend_workbook.precision.comparison import Comparison, examine_captures
from ascend_workbook.precision.curves.readers import read
from ascend_workbook.precision.curves.series import Curve

_WIDTHS = (("rule", 0), ("cause", 28), ("advice_seen", 60), ("advice_change", 60))
COLUMNS = (*(Column(name, wrap=wrap) for name, wrap in _WIDTHS), Column("advice_source", detail=True))


def advise(
    baseline: str | Path,
    target: str | Path,
    *,
    again: str | Path | None = None,
    log_baseline: str | Path | None = None,
    log_target: str | Path | None = None,
    replaying: bool = False,
    anyway: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Two captures (folders or bundles, as compare takes them) judged by every rule of advice/rules: a row for each.

    `again` is a second capture of one side: whether a run repeats itself shows in nothing else. The logs (as curves
    takes them) tell of the loss scale; by default each capture's own. `replaying` runs operators again in float64
    first, as compare does, and `anyway` judges the tensors of different experiments too. A cause whose facts were not
    recorded is told as not looked at; Fix where the two are not the same experiment, so that no tensor was. Raises
    WorkbookError where a side or a log that was asked for cannot be read."""
    with ExitStack() as stack:
        left, right = (stack.enter_context(open_side(side)) for side in (baseline, target))
        facts = examine_captures(
            left.folder.absolute(), right.folder.absolute(), replaying=replaying, anyway=anyway, tell=progress
        )
        second = stack.enter_context(open_side(again)).folder.absolute() if again is not None else None
        repeated = _compare_again(facts, second, progress) if second is not None else None
        judged_report = make_report(
            Seen(facts, (_read_log(left.folder, log_baseline), _read_log(right.folder, log_target)), repeated)
        )
    places = {name: str(Path(side.place).absolute()) for name, side in (("baseline", left), ("target", right))}
    return replace(judged_report, facts={**judged_report.facts, **places})


def make_report(seen: Seen) -> Report:
    """The facts judged; a row for each rule."""
    checks = rules_of(rules)
    findings = judge_facts(seen, checks)
    rows = tuple(
        row for code in checks for row in _make_rows(code, [finding for finding in findings if finding.rule == code])
    )
    sides = seen.comparison.baseline, seen.comparison.target
    about = seen.comparison.target.about
    counts = {
        name: sum(finding.status is status for finding in findings)
        for name, status in (("changes", Status.LOOK), ("remarks", Status.NOTE), ("skipped", Status.NOT_LOOKED))
    }
    facts: dict[str, object] = {**counts, "baseline": str(sides[0].folder), "target": str(sides[1].folder)}
    facts["simulator"] = join_simulator_parts(side.about.about for side in sides if side.about)
    summary = (_summarise_findings(seen, counts, len(checks)), *findings)
    return Report("precision", "advise", summary, Table(COLUMNS, rows), facts=facts, tier=about.tier if about else "")


def find_causes(facts: Comparison) -> list[Finding]:
    """What applies to a comparison whose runs part, from its facts alone; what was not looked at `advise` says."""
    if facts.first is None and not facts.differences:
        return []
    return [finding for finding in judge_facts(Seen(facts), rules_of(rules)) if finding.status is not Status.NOT_LOOKED]


def _compare_again(facts: Comparison, folder: Path, progress: Callable[[str], None] | None) -> Comparison:
    """The second capture beside the one of the same kind of device; the target where that is not recorded."""
    repeated = examine_captures(facts.target.folder, folder, replaying=False, tell=progress)
    tier = repeated.target.about.tier if repeated.target.about else ""
    mine = [side.about.tier if side.about else "" for side in (facts.baseline, facts.target)]
    if tier and tier != mine[1] and tier == mine[0]:
        return examine_captures(facts.baseline.folder, folder, replaying=False, tell=progress)
    return repeated


def _read_log(folder: Path, path: str | Path | None) -> Curve | WorkbookError | None:
    """The log that was given, or the capture's own; None where it has none, and why where that cannot be read."""
    if path is not None:
        return read(Path(path))
    if not (folder / "gpulog.json").is_file():
        return None
    try:
        return read(folder / "gpulog.json")
    except WorkbookError as cause:
        return cause  # nobody asked for it: the rule that needs it says why it could not look


def _make_rows(code: str, findings: list[Finding]) -> list[tuple[Scalar, ...]]:
    cause: Scalar = Sentence(f"{code}.cause")
    if not findings:
        return [(code, cause, Sentence("advice.nothing"), None, None)]
    rows: list[tuple[Scalar, ...]] = []
    for finding in findings:
        change = NextStep(finding.key, **finding.args) if load_catalogue()[finding.key].hint_en else None
        rows.append((code, cause, Sentence(finding.key, **finding.args), change, finding.args.get("source")))
    return rows


def _summarise_findings(seen: Seen, counts: dict[str, int], rules_run: int) -> Finding:
    args: dict[str, Scalar] = {**counts, "rules": rules_run}
    if seen.comparison.stopped:
        args["what"] = seen.different_settings
        return Finding("ACC259", Status.FIX, "ACC259.other_experiment", args, weight=100)
    if seen.comparison.bare:
        return Finding("ACC259", Status.NOT_LOOKED, "ACC259.no_operators", args, weight=100)
    if counts["changes"]:
        return Finding("ACC259", Status.NOTE, "ACC259.changes", args)
    return Finding("ACC259", Status.NOT_LOOKED if counts["skipped"] else Status.GOOD, "ACC259.none", args, weight=100)
