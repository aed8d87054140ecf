"""Two attempts held against each other: did what was changed between them help?"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.settings import find_differences
from ascend_workbook.precision.attempts.record import Attempt, attempt_of, load_attempts, save_attempt, settings_of
from ascend_workbook.precision.baselines.judging import lines_of
from ascend_workbook.precision.baselines.reading import Opened
from ascend_workbook.precision.comparison import Comparison


def remember_attempt(report: Report, facts: Comparison, sides: tuple[Opened, Opened], run: Path) -> Report:
    """Return the report with ACC285 and facts["attempt"], its number.

    Raises OSError where `run` cannot be written to."""
    if "curves" not in report.facts:
        with suppress(WorkbookError):  # no losses on both sides: the attempt says so with loss None
            report = replace(report, facts={**report.facts, "curves": lines_of(*sides).facts})
    earlier, troubles = load_attempts(run)
    attempt = attempt_of(report, facts)
    attempt = replace(attempt, number=save_attempt(run, attempt))
    findings = [Finding("ACC286", Status.NOT_LOOKED, trouble.key, trouble.arguments) for trouble in troubles]
    if earlier:
        findings.append(judge_change(earlier[-1], attempt))
    else:
        findings.append(Finding(CODE, Status.NOTE, "ACC285.only", {"count": 1}))
    new_facts = {**report.facts, "attempt": attempt.number, "attempts": str(run)}
    return replace(report, findings=(*report.findings, *findings), facts=new_facts)


CODE = "ACC285"
#: A relative change of the error below this is none.
SAME = 0.05
SHOWN = 6


def judge_change(before: Attempt, now: Attempt) -> Finding:
    """ACC285: the first divergence is gone, later, earlier, new, or where it was with a smaller or larger error."""
    args: dict[str, Scalar] = {
        "before": before.number,
        "now": now.number,
        "changed": describe_changes(before, now),
        "was": _describe_first(before),
        "is": _describe_first(now),
        "parting_before": before.parting,
        "parting_now": now.parting,
        "loss_before": (before.loss or {}).get("worst"),
        "loss_now": (now.loss or {}).get("worst"),
    }
    if not (before.judged and now.judged):
        which = before.number if not before.judged else now.number
        return Finding(CODE, Status.NOT_LOOKED, "ACC285.not_judged", {**args, "which": which})
    names = sorted(before.scope.keys() | now.scope.keys())
    other: list[Scalar] = ["baseline"] if before.baseline != now.baseline else []
    other += [name for name in names if before.scope.get(name) != now.scope.get(name)]
    if other:  # looked at otherwise: the baseline, or options of the capture and the comparison
        return Finding(CODE, Status.NOT_LOOKED, "ACC285.other_scope", {**args, "what": other})
    key, status = _choose_outcome(before, now)
    return Finding(CODE, status, f"ACC285.{key}", args)


def describe_changes(before: Attempt, now: Attempt) -> Scalar:
    """What of the target is another, riskiest first: `args`, `torch 2.8.0 -> 2.9.0`; a sentence where nothing is, or
    where it is not known."""
    changes = [
        f"{name} {_shorten_text(before.other.get(name))} -> {_shorten_text(now.other.get(name))}"
        for name in sorted(before.other.keys() | now.other.keys())
        if before.other.get(name, "") != now.other.get(name, "")
    ]
    left, right = settings_of(before), settings_of(now)
    if left is None or right is None:
        return list(changes) or Sentence("attempts.unknown")
    changes += [
        f"{difference.name} {_shorten_text(difference.left)} -> {_shorten_text(difference.right)}"
        for difference in find_differences(left, right)
        if difference.why != "unread"
    ]
    more: list[Scalar] = [Sentence("attempts.more", count=len(changes) - SHOWN)] if len(changes) > SHOWN else []
    return [*changes[:SHOWN], *more] or Sentence("attempts.nothing")


def _choose_outcome(before: Attempt, now: Attempt) -> tuple[str, Status]:
    if now.first is None:
        return "still_none" if before.first is None else "gone", Status.GOOD
    if before.first is None:
        return "new", Status.LOOK
    if before.first["operator"] != now.first["operator"] or before.place[0] != now.place[0]:
        return ("later", Status.GOOD) if now.place > before.place else ("earlier", Status.LOOK)
    was, is_ = (attempt.first.get("error") for attempt in (before, now) if attempt.first)
    if was is None or is_ is None or abs(is_ - was) <= SAME * was:
        return "same", Status.NOTE
    return ("smaller", Status.NOTE) if is_ < was else ("larger", Status.LOOK)


def _describe_first(attempt: Attempt) -> Scalar:
    if attempt.first is None:
        return Sentence("attempts.none")
    return Sentence("attempts.place", **{name: attempt.first[name] for name in ("operator", "step", "rank", "error")})


def _shorten_text(value: object) -> str:
    """Shorten a hash or a long value to its beginning."""
    text = "-" if value in (None, "") else str(value)
    return text if len(text) <= 40 else f"{text[:12]}..."
