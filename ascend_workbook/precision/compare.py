"""`compare`: two captures, tensor by tensor in order of execution; the verdict names the operator that parts them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Chart, Column, Report, Table, parse_fail_on
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch import join_simulator_parts
from ascend_workbook.precision import rules
from ascend_workbook.precision.advice.verb import find_causes
from ascend_workbook.precision.attempts.helped import remember_attempt
from ascend_workbook.precision.baselines.judging import add_bundle_findings
from ascend_workbook.precision.baselines.reading import open_side
from ascend_workbook.precision.comparison import Comparison, Selection, StepComparison, examine_captures
from ascend_workbook.precision.divergence import ALLOWED, PARTING, Judgement, devices
from ascend_workbook.precision.pairing.cells import read_cells
from ascend_workbook.precision.pairing.reasons import find_reasons
from ascend_workbook.precision.tensors.agreement import TensorAgreement
from ascend_workbook.precision.tensors.measuring import Sample
from ascend_workbook.precision.tensors.scheduler import open_cluster
from ascend_workbook.precision.views import culprit, modules, platform, questions, state, suspects, table_csv
from ascend_workbook.precision.views.questions import OF_COMPARE, apply_gate, infinity_as_word, keep_headline
from ascend_workbook.storage import open_storage, refuse_unwritable

# ruff: noqa: SIM905 - a column of names reads better without quotes
COLUMNS = """
order step rank operator direction tensor dtype shape error_in error_out own_error allowed judgement place module
max_diff mean_diff cosine
""".split()
#: On a page, where readers sort and filter, and in a terminal where details are asked for.
DETAILS = ("module", "max_diff", "mean_diff", "cosine")
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
    replay_budget: float | None = None,
    cells: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Compares the target (NPU) with the baseline (GPU, or the CPU in its place).

    Both are folders made by `capture`, of a layout of layouts/, or bundles made by `baseline` (a folder or .zip), whose
    curves are compared too. `replaying` runs operators again in float64 to tell an operator's own error from an
    inherited one; it needs saved tensors and torch. `only` selects operators by name or pattern, `sample` a share of
    every tensor's elements, by `seed`. `csv` is a file for the numbers tensor by tensor, in msprobe's columns.
    `fail_on` are classes (questions.py) that make the status Fix where they occur or could not be looked for. Runs
    that are not the same experiment are told so and their tensors are not judged, unless `anyway`. `attempts` is a
    run's folder that keeps this comparison beside earlier ones, so that it says whether a fix helped. `scheduler` is
    the address of a Dask cluster that reads the tensors in place of this machine's cores, with the same numbers. The
    first divergence is run again on the devices (tiers) `replay_on`; None: on the two that the captures were made on,
    where they are two; an empty list: on none. `replay_budget` are the seconds of a processor that running operators
    again may take in all (None: a fifth of what comparing takes, 30 at least); what is left then is judged by its
    inputs. `cells` is a file of names where modules have others on the two sides (pairing/cells.py), as
    MindSpore's have. Errors in the table are relative L2. Raises WorkbookError where a side cannot be read or was
    killed."""
    if csv is not None:
        refuse_unwritable(csv)
    if attempts is not None:
        refuse_unwritable(Path(attempts) / "attempts" / "0001.json.part")
    wanted = parse_fail_on(fail_on, OF_COMPARE)
    selection = Selection(tuple(only), Sample(sample, seed), read_cells(Path(cells)) if cells is not None else {})
    selection.sample.check()
    with open_side(baseline) as left, open_side(target) as right, open_cluster(scheduler) as measure:
        facts = examine_captures(
            left.folder.absolute(),
            right.folder.absolute(),
            replaying=replaying,
            selection=selection,
            anyway=anyway,
            replay_seconds=replay_budget,
            tell=progress,
            measure=measure,
        )
        if replaying:
            tiers = None if replay_on is None else tuple(replay_on)
            facts = replace(facts, confirmation=devices.confirm_divergence(facts, tiers))
        report = add_bundle_findings(_report_comparison(facts, csv), left, right)
        report = replace(report, findings=tuple(keep_headline(list(report.findings), "ACC230")))
        if attempts is not None:
            report = remember_attempt(report, facts, (left, right), Path(attempts))
    return apply_gate(report, wanted, OF_COMPARE)


def _report_comparison(facts: Comparison, csv: str | Path | None) -> Report:
    if csv is not None:
        steps = ((step.pairing, [judged.agreement for judged in step.judged]) for step in facts.steps)
        place = Path(csv).absolute()
        open_storage(str(place.parent)).write_text(place.name, table_csv.render_csv(steps))
    findings = keep_headline([*judge_facts(facts, rules_of(rules)), *find_causes(facts)], "ACC230")
    table = _make_table(facts)
    mark: Scalar = None  # the row of the first divergence
    if facts.first is not None:
        wanted = (facts.first[0].step, facts.first[0].rank, facts.first[1].name)
        mark = next((row[0] for row in table.rows if row[1:4] == wanted), None)
    ranked = suspects.rank_suspects(facts)
    return Report(
        "precision",
        "compare",
        tuple(findings),
        table,
        Chart("errors", "order", ("error_out",), mark=mark, by="direction", limit="allowed"),
        facts={
            **_collect_facts(facts, mark),
            "modules": modules.collect_modules(facts, table),
            "culprit": culprit.describe_culprit(facts),
            "edges": [list(edge) for edge in modules.find_edges(facts, table, mark if isinstance(mark, int) else None)],
        },
        tier=facts.target.about.tier if facts.target.about else "",
        parts=tuple(part for part in (ranked, state.tabulate_states(facts)) if part),
    )


def around(report: Report, rows: int = 5) -> Report:
    """Cut the table to the rows about the first divergence, `rows` before and after; where there is none, about the
    operator that adds the most."""
    if report.table is None or not report.table.rows:
        return report
    mark = report.chart.mark if report.chart else None
    if mark is not None:
        at = report.table.column_values("order").index(mark)
    else:  # the largest own error, or output error where nothing was replayed
        numbers = [report.table.column_values(name) for name in ("own_error", "error_out")]
        sizes = [[value if isinstance(value, (int, float)) else 0.0 for value in column] for column in numbers]
        largest = sizes[0] if any(sizes[0]) else sizes[1]
        at = largest.index(max(largest))
    cut = Table(report.table.columns, report.table.rows[max(0, at - rows) : at + rows + 1])
    return replace(report, table=cut, chart=None)


def _make_table(facts: Comparison) -> Table:
    rows: list[tuple[Scalar, ...]] = []
    for step in facts.steps:
        for judged in step.judged:
            for tensor in judged.agreement.outputs:
                rows.append((len(rows), *_make_tensor_row(step, judged, tensor)))
        for side in ("target", "baseline"):
            for operator, why in find_reasons(step.pairing, side):
                outcome: Scalar = Sentence(f"precision.only_{side}_why", why=Sentence(f"precision.why_{why}"))
                who = (len(rows), step.step, step.rank, operator.name, operator.direction)
                place = str(operator.place) if operator.place else None
                module = operator.module.path if operator.module else None
                rows.append((*who, *[None] * 7, outcome, place, module, *[None] * 3))
    return Table(tuple(Column(name, detail=name in DETAILS) for name in COLUMNS), tuple(rows))


def _make_tensor_row(step: StepComparison, judged: Judgement, tensor: TensorAgreement) -> tuple[Scalar, ...]:
    operator = judged.agreement.pair.target
    place = str(operator.place) if operator.place else None
    who = (step.step, step.rank, operator.name, operator.direction, tensor.slot, tensor.dtype, list(tensor.shape))
    own = judged.own_error if judged.own else None
    # where more than the result's own size is allowed it is a sum that cancels; a reduced format has little to say
    outcome = CANCELLED if judged.outcome == ALLOWED and judged.allowed > 1 else judged.outcome
    errors = map(infinity_as_word, (judged.agreement.error_in, tensor.error, own, judged.allowed))
    plain = map(infinity_as_word, _compute_plain_differences(tensor))
    module = judged.agreement.pair.module
    where = (place, module.path if module else None)
    return (*who, *errors, questions.judgement_cell(outcome, tensor.problem), *where, *plain)


def _compute_plain_differences(tensor: TensorAgreement) -> tuple[float | None, float | None, float | None]:
    """Return the greatest difference, the root mean square difference and the cosine, where values were read; NaN where
    NaN or infinities stand in other places, which the numbers of the finite elements would hide."""
    metrics = tensor.metrics
    if metrics is None:
        return tensor.max_absolute, None, None
    if metrics.nonfinite_places:
        return math.nan, math.nan, math.nan
    return metrics.max_absolute, metrics.euclidean / math.sqrt(max(metrics.measured, 1)), metrics.cosine


def _collect_facts(facts: Comparison, mark: Scalar) -> dict[str, object]:
    counts = Counter(judged.outcome for step in facts.steps for judged in step.judged)
    heads = {(pair.baseline.head, pair.target.head) for step in facts.steps for pair in step.pairing.renamed_pairs}
    first, nothing = facts.first, facts.proves_nothing
    runs = [vars(run) for run in facts.confirmation.runs] if facts.confirmation else []
    return {
        "baseline": str(facts.baseline.folder),
        "target": str(facts.target.folder),
        "steps": sorted({step.step for step in facts.steps}),
        "numerics": dict(facts.numerics),
        **({"cells": dict(facts.selection.cells)} if facts.selection.cells else {}),
        "simulator": join_simulator_parts(side.about.about for side in (facts.baseline, facts.target) if side.about),
        "outcomes": dict(counts),
        "unpaired": [
            [step.step, step.rank, side, operator.name, why]
            for step in facts.steps
            for side in ("target", "baseline")
            for operator, why in find_reasons(step.pairing, side)
        ],
        "renamed": sorted(map(list, heads)),
        "first_divergence": ", ".join(facts.named) or None,
        "first_divergence_outcome": first[1].outcome if first else None,
        "parting": [judged.name for step in facts.steps for judged in step.judged if judged.outcome in PARTING],
        "status": (Status.FIX if first or facts.start else Status.NOT_LOOKED if nothing else Status.GOOD).json,
        "judged": not facts.stopped and not nothing,
        "sides": [platform.platform_facts(side) for side in (facts.baseline, facts.target)],
        "row": mark,
        "replayed_on": json.loads(json.dumps(runs), parse_constant=str),  # JSON has no infinity
    }
