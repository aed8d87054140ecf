"""`compare`: two captures, tensor by tensor in order of execution; the verdict names the operator that parts them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from helpers.finding import Finding, Status
from helpers.gates import asked
from helpers.launch import together
from helpers.precision import rules
from helpers.precision.advice.verb import fired
from helpers.precision.attempts.remember import remembered
from helpers.precision.baselines.judging import with_bundle
from helpers.precision.baselines.reading import opened
from helpers.precision.comparison import Comparison, StepComparison, examine
from helpers.precision.divergence import ALLOWED, PARTING, Judgement, devices
from helpers.precision.pairing.reasons import reasons
from helpers.precision.selection import Selection
from helpers.precision.tensors.agreement import TensorAgreement
from helpers.precision.tensors.measuring import Sample
from helpers.precision.tensors.scheduler import cluster
from helpers.precision.views import outcomes, platform, suspects, table_csv
from helpers.precision.views.questions import OF_COMPARE, gated
from helpers.report import Chart, Column, Report, Table
from helpers.rules import judge, rules_of
from helpers.storage import open_storage, refuse_unwritable
from helpers.words import Scalar

COLUMNS = ("order", "step", "rank", "operator", "direction", "tensor", "dtype", "shape", "error_in", "error_out",
           "own_error", "allowed", "judgement", "place", "max_diff", "mean_diff", "cosine")  # fmt: skip
#: On a page, where readers sort and filter, and in a terminal where details are asked for.
DETAILS = ("max_diff", "mean_diff", "cosine")
#: In a row: its terms cancel, so that what is left is rounding.
CANCELLED = "cancelled"


def compare(
    baseline: str | Path,
    target: str | Path,
    *,
    replaying: bool = True,
    only: Sequence[str] = (),
    sample: float = 1.0,
    seed: int = 0,
    csv: str | Path | None = None,
    attempts: str | Path | None = None,
    fail_on: Iterable[str] = (),
    anyway: bool = False,
    scheduler: str = "",
    replay_on: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Compares the target (NPU) with the baseline (GPU, or the CPU in its place).

    Both are folders made by `capture`, of a layout of layouts/, or bundles made by `baseline` (a folder or .zip), whose
    curves are compared too. `replaying` runs operators again in float64
    to tell an operator's own error from an inherited one; it needs saved tensors and torch.
    `only` selects operators by name or pattern, `sample` a share of every tensor's elements, by `seed`.
    `csv` is a file for the numbers tensor by tensor, in msprobe's columns. `fail_on` are classes (questions.py)
    that make the status FAIL where they occur or could not be looked for.
    Runs that are not the same experiment are told so and their tensors are not judged, unless `anyway`.
    `attempts` is a run's folder that keeps this comparison beside earlier ones, so that it says whether a fix helped.
    `scheduler` is the address of a Dask cluster that reads the tensors in place of this machine's cores, with the same
    numbers.
    The first divergence is run again on the devices (tiers) `replay_on`; None: on the two that the captures were made
    on, where they are two; an empty list: on none.
    Errors in the table are relative L2. Raises WorkbookError where a side cannot be read or was killed.
    """
    if csv is not None:
        refuse_unwritable(csv)
    if attempts is not None:
        refuse_unwritable(Path(attempts) / "attempts" / "0001.json.part")
    wanted = asked(fail_on, OF_COMPARE)
    selection = Selection(tuple(only), Sample(sample, seed))
    selection.sample.check()
    with opened(baseline) as left, opened(target) as right, cluster(scheduler) as measure:
        facts = examine(left.folder.absolute(), right.folder.absolute(), replaying=replaying, selection=selection,
                        anyway=anyway, tell=progress, measure=measure)  # fmt: skip
        if replaying:
            tiers = None if replay_on is None else tuple(replay_on)
            facts = replace(facts, confirmation=devices.confirm(facts, tiers))
        report = with_bundle(_report(facts, csv), left, right)
        report = replace(report, findings=tuple(_headlined(list(report.findings))))
        if attempts is not None:
            report = remembered(report, facts, (left, right), Path(attempts))
    return gated(report, wanted, OF_COMPARE)


def _report(facts: Comparison, csv: str | Path | None) -> Report:
    if csv is not None:
        steps = ((step.pairing, [judged.agreement for judged in step.judged]) for step in facts.steps)
        place = Path(csv).absolute()
        open_storage(str(place.parent)).write_text(place.name, table_csv.text(steps))
    findings = _headlined([*judge(facts, rules_of(rules)), *fired(facts)])
    table = _table(facts)
    mark = _mark(facts, table)
    ranked = suspects.suspects(facts)
    return Report(
        "precision",
        "compare",
        tuple(findings),
        table,
        Chart("errors", "order", ("error_out",), mark=mark, by="direction", limit="allowed"),
        facts=_facts(facts, mark),
        tier=facts.target.about.tier if facts.target.about else "",
        parts=(ranked,) if ranked else (),
    )


def around(report: Report, rows: int = 5) -> Report:
    """The same verdict and suspects with only the rows about the first divergence, `rows` before and after; where there
    is none, about the operator that adds the most."""
    if report.table is None or not report.table.rows:
        return report
    mark = report.chart.mark if report.chart else None
    at = report.table.values("order").index(mark) if mark is not None else _largest(report.table)
    cut = Table(report.table.columns, report.table.rows[max(0, at - rows) : at + rows + 1])
    return Report(report.stage, report.verb, report.findings, cut, facts=report.facts, tier=report.tier,
                  parts=report.parts)  # fmt: skip


def _largest(table: Table) -> int:
    """The row with the largest own error, or output error where nothing was replayed."""
    for name in ("own_error", "error_out"):
        values = [value if isinstance(value, (int, float)) else 0.0 for value in table.values(name)]
        if any(values):
            return values.index(max(values))
    return 0


def _headlined(findings: list[Finding]) -> list[Finding]:
    """Remarks (NOTE, SKIPPED) lower the status of a healthy result, but the result stays the headline."""
    worst = max(finding.status for finding in findings)
    if worst >= Status.WARN:
        return findings
    return [replace(found, status=worst) if found.rule == "ACC230" else found for found in findings]


def _table(facts: Comparison) -> Table:
    rows: list[tuple[Scalar, ...]] = []
    for step in facts.steps:
        for judged in step.judged:
            for tensor in judged.agreement.outputs:
                rows.append((len(rows), *_row(step, judged, tensor)))
        for side in ("target", "baseline"):
            for operator, why in reasons(step.pairing, side):
                reason: Scalar = {"say": f"precision.why_{why}"}
                outcome: Scalar = {"say": f"precision.only_{side}_why", "args": {"why": reason}}
                place = str(operator.place) if operator.place else None
                rows.append((len(rows), step.step, step.rank, operator.name, operator.direction, None, None, None,
                             None, None, None, None, outcome, place, None, None, None))  # fmt: skip
    return Table(tuple(Column(name, detail=name in DETAILS) for name in COLUMNS), tuple(rows))


def _row(step: StepComparison, judged: Judgement, tensor: TensorAgreement) -> tuple[Scalar, ...]:
    operator = judged.agreement.pair.target
    place = str(operator.place) if operator.place else None
    who = (step.step, step.rank, operator.name, operator.direction, tensor.slot, tensor.dtype, list(tensor.shape))
    own = judged.own_error if judged.own else None
    said = outcomes.told(_outcome(judged), tensor.problem)
    return (*who, *map(_finite, (judged.agreement.error_in, tensor.error, own, judged.allowed)), said, place,
            *map(_finite, _plain(tensor)))  # fmt: skip


def _outcome(judged: Judgement) -> str:
    """Where more than the result's own size is allowed it is a sum that cancels; a reduced format has little to say."""
    return CANCELLED if judged.outcome == ALLOWED and judged.allowed > 1 else judged.outcome


def _plain(tensor: TensorAgreement) -> tuple[float | None, float | None, float | None]:
    """The greatest difference, the root mean square difference and the cosine, where values were read; NaN where NaN
    or infinities stand in other places, which the numbers of the finite elements would hide."""
    found = tensor.metrics
    if found is None:
        return tensor.max_absolute, None, None
    if found.nonfinite_places:
        return math.nan, math.nan, math.nan
    return found.max_absolute, found.euclidean / math.sqrt(max(found.measured, 1)), found.cosine


def _finite(value: float | None) -> Scalar:
    """JSON has no infinity: it is kept as the word."""
    return value if value is None or math.isfinite(value) else str(value)


def _mark(facts: Comparison, table: Table) -> Scalar:
    """The row of the first divergence, or None."""
    if facts.first is None:
        return None
    step, judged = facts.first
    wanted = (step.step, step.rank, judged.name)
    found = [row[0] for row in table.rows if row[1:4] == wanted]
    return found[0] if found else None


def _facts(facts: Comparison, mark: Scalar) -> dict[str, Any]:
    counts = Counter(judged.outcome for step in facts.steps for judged in step.judged)
    first = facts.first
    return {
        "baseline": str(facts.baseline.folder),
        "target": str(facts.target.folder),
        "steps": sorted({step.step for step in facts.steps}),
        "numerics": dict(facts.numerics),
        "simulator": together(side.about.about for side in (facts.baseline, facts.target) if side.about),
        "outcomes": dict(counts),
        "unpaired": [[step.step, step.rank, side, operator.name, why] for step in facts.steps
                     for side in ("target", "baseline") for operator, why in reasons(step.pairing, side)],
        "renamed": sorted([list(names) for names in {(one.baseline.head, one.target.head) for step in facts.steps
                                                      for one in step.pairing.renamed}]),
        "first_divergence": ", ".join(facts.named) or None,
        "first_divergence_outcome": first[1].outcome if first else None,
        "parting": [one.name for step in facts.steps for one in step.judged if one.outcome in PARTING],
        "status": Status.FAIL.name if first or facts.start else Status.OK.name,
        "judged": not facts.stopped,
        "sides": [platform.about(side) for side in (facts.baseline, facts.target)],
        "row": mark,
        "replayed_on": devices.shown(facts.confirmation.runs) if facts.confirmation else [],
    }  # fmt: skip
