"""`align`: the stage's answer to four questions in order: same experiment? do the curves agree? which operator parts
the runs first, on which step and rank? what to do next?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, join_reports, parse_fail_on
from ascend_workbook.precision.attempts.verb import attempts as read_attempts
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.curves import curves
from ascend_workbook.precision.views import answers
from ascend_workbook.precision.views.answers import explain_losses
from ascend_workbook.precision.views.questions import CLASSES, apply_gate

#: Facts of the comparison that the answer keeps.
FACTS = ("first_divergence", "first_divergence_outcome", "steps", "outcomes", "simulator")


def align(
    baseline: str | Path,
    target: str | Path,
    *,
    tolerance: float | None = None,
    replaying: bool = True,
    only: Sequence[str] = (),
    sample: float = 1.0,
    seed: int = 0,
    fail_on: Iterable[str] = (),
    anyway: bool = False,
    attempts: str | Path | None = None,
    replay_budget: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Compare the curves and the tensors of two captures in one report; options as of `curves` and `compare`. With
    `attempts` (a run's folder that keeps them) a last part tells whether the last change helped.

    Plain dumps have no log of losses: that question is then Not looked, not passed. Raises WorkbookError where a side
    cannot be read."""
    wanted = parse_fail_on(fail_on, CLASSES)
    comparison = compare(
        baseline,
        target,
        replaying=replaying,
        only=only,
        sample=sample,
        seed=seed,
        anyway=anyway,
        attempts=attempts,
        replay_budget=replay_budget,
        progress=progress,
    )
    try:
        losses = curves(baseline, target, tolerance=tolerance)
    except WorkbookError as error:
        finding = Finding("ACC250", Status.NOT_LOOKED, error.key, error.arguments, weight=80)
        losses = Report("precision", "curves", (finding,), tier=comparison.tier)
    return join(losses, comparison, history=read_attempts(attempts) if attempts is not None else None, fail_on=wanted)


def join(losses: Report, comparison: Report, *, history: Report | None = None, fail_on: Iterable[str] = ()) -> Report:
    """The reports of `curves` and `compare` as one: a row for each question, a part for each answer.

    Losses that part are explained as amplified rounding where the first and the last step were compared by tensor, no
    operator adds more than rounding, and the first update left the weights equal to within rounding; otherwise they
    stay a warning. `history` is a further answer: whether an attempt helped. `fail_on` as of `compare`."""
    wanted = parse_fail_on(fail_on, CLASSES)
    read = replace(losses, findings=tuple(explain_losses(finding, losses, comparison) for finding in losses.findings))
    first = answers.answer_divergence(comparison)
    worst = max(read.status, comparison.status)
    if worst < Status.LOOK:  # a remark on the curves does not take the headline from "no divergence"
        named = (replace(finding, status=worst) if finding.rule == "ACC230" else finding for finding in first.findings)
        first = replace(first, findings=tuple(named))
    asked_first = [answers.answer_experiment(comparison), read, first]
    unpaired = answers.answer_unpaired(comparison)
    more = [history] if history else []
    todo = answers.next_steps([*asked_first, unpaired, *more])
    joined = join_reports("precision", "align", [*asked_first, todo, *more], tier=comparison.tier)
    facts = {name: comparison.facts[name] for name in FACTS if name in comparison.facts}
    return apply_gate(replace(joined, parts=(*asked_first, unpaired, todo, *more), facts=facts), wanted)
