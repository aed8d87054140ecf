"""`layers`: the comparison as a plain table of layers, with the greatest and the mean difference, cosine, pass or fail,
and what each side ran on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import read_side
from ascend_workbook.precision.divergence import CONTAINER, DRAWN, NOT_COMPARED, PARTING
from ascend_workbook.precision.tensors.tensorfile import read_tensor
from ascend_workbook.precision.views import platform
from ascend_workbook.precision.views.questions import read_outcome

# Fixed limits beside the comparison's own judgement: cosine below 0.99, and |a - b| <= atol + rtol * |b| everywhere.
# Both err: a scale leaves the cosine at 1, and a limit per element knows neither reduced formats nor inherited errors.

COSINE, ATOL, RTOL = 0.99, 1e-5, 1e-3
LIMIT_COLUMNS = tuple(
    Column(name, digits=7 if name == "cosine" else 4)
    for name in ("operator", "step", "cosine", "by_cosine", "beyond", "by_elements", "error_out", "allowed", "by_noise")
)


def fixed_limits(comparison: Report, *, cosine: float = COSINE, atol: float = ATOL, rtol: float = RTOL) -> Report:
    """List each output that was compared and saved on both sides in a row: the three verdicts, pass or Fix.

    `beyond` is the share of elements that the limits per element reject. Raises WorkbookError where a capture is gone.
    """
    left, right = (read_side(Path(comparison.facts[name])) for name in ("baseline", "target"))
    rows: list[tuple[Scalar, ...]] = []
    names = ("step", "rank", "operator", "tensor", "cosine", "error_out", "allowed", "judgement")
    table = comparison.table or Table((), ())
    for step, rank, name, slot, near, error, allowed, judgement in zip(*map(table.column_values, names)):
        operator_outcome = read_outcome(judgement)
        files: list[Path | None] = []
        for side in (left, right):
            run = side.runs.get((int(str(step)), int(str(rank))))
            operator = run.by_name.get(str(name)) if run else None
            files.append(next((t.file for t in operator.outputs if t.slot == slot), None) if operator else None)
        if operator_outcome in (CONTAINER, NOT_COMPARED) or error is None or not all(files):
            continue
        b, a = (np.asarray(read_tensor(path), dtype=np.float64) for path in files if path)
        close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)  # NaN in one place alone is beyond
        beyond = 1.0 - float(close.mean()) if close.size else 0.0
        far = isinstance(near, (int, float)) and near < cosine
        elements = (beyond, _say_verdict(beyond > 0))
        noise = (error, allowed, _say_verdict(operator_outcome in PARTING))
        rows.append((name, step, near, _say_verdict(far), *elements, *noise))
    of = (("cosine", 3), ("elements", 5), ("noise", 8))
    counts: dict[str, Scalar] = {name: sum(row[at] == _say_verdict(True) for row in rows) for name, at in of}
    answer = Finding("ACC294", Status.NOT_LOOKED, "ACC294.nothing")
    if rows:
        answer = Finding("ACC294", Status.NOTE, "ACC294.counts", {**counts, "of": len(rows)})
    return Report("precision", "fixed_limits", (answer,), Table(LIMIT_COLUMNS, tuple(rows)), tier=comparison.tier)


def _say_verdict(failed: bool) -> Scalar:
    return Sentence("layer.failed" if failed else "layer.passed")


COLUMNS = tuple(
    Column(name, digits=9 if name == "cosine" else 4)
    for name in ("layer", "step", "rank", "max_diff", "mean_diff", "cosine", "passed")
)
#: Of the columns of numbers what is worst.
WORST = {"max_diff": max, "mean_diff": max, "cosine": min}


def layers(comparison: Report) -> Report:
    """List each operator of a comparison in a row, in order of execution, the platform of both sides as a part.

    max_diff and mean_diff (root mean square over the elements) are of the values themselves, in their own unit;
    cosine is the smallest of the operator's outputs, empty where it is not defined. Passed is the comparison's own
    judgement, which knows rounding and inherited errors; no fixed limit would do. What was not compared is neither."""
    rows: dict[tuple[Scalar, ...], list[dict[str, Scalar]]] = {}
    table = comparison.table
    for row in table.rows if table else ():
        named = dict(zip((column.name for column in table.columns), row)) if table else {}
        rows.setdefault((named["operator"], named["step"], named["rank"]), []).append(named)
    judged = bool(comparison.facts.get("judged", True))
    layer_rows = tuple(
        (*key, *(_worst_in_column(some, name) for name in WORST), Sentence(f"layer.{_judge_layer(some, judged)}"))
        for key, some in rows.items()
    )
    counts = {
        name: sum(row[-1] == Sentence(f"layer.{name}") for row in layer_rows) for name in ("passed", "failed", "unseen")
    }
    status = Status.FIX if counts["failed"] else Status.NOT_LOOKED if not counts["passed"] else Status.GOOD
    args: dict[str, Scalar] = dict(counts)
    args["first"] = next((row[0] for row in layer_rows if row[-1] == Sentence("layer.failed")), None)
    sides = comparison.facts.get("sides") or [{}, {}]
    answer = Finding("ACC293", Status.NOT_LOOKED, "ACC293.no_platform")
    if all(sides):
        tiers = {name: str(side.get("tier")) for name, side in zip(("baseline", "target"), sides)}
        answer = Finding("ACC293", Status.GOOD, "ACC293.platform", {**tiers})
    part = Report("precision", "platform", (answer,), platform.platform_table(comparison), tier=comparison.tier)
    return Report(
        "precision",
        "layers",
        (Finding("ACC293", status, "ACC293.layers", args),),
        Table(COLUMNS, layer_rows),
        facts={"simulator": comparison.facts.get("simulator") or {}},
        tier=comparison.tier,
        parts=(part,),
    )


def _worst_in_column(some: list[dict[str, Scalar]], name: str) -> Scalar:
    """Return the worst of a column; a word (inf, nan) is worse than every number."""
    words = [row[name] for row in some if isinstance(row[name], str)]
    values = [value for row in some if isinstance(value := row[name], (int, float))]
    if words:
        return words[0]
    return WORST[name](values) if values else None


def _judge_layer(some: list[dict[str, Scalar]], judged: bool) -> str:
    outcomes = [read_outcome(row["judgement"]) for row in some]
    if judged and any(layer_outcome in PARTING for layer_outcome in outcomes):
        return "failed"
    empty = all(row["error_out"] is None for row in some)
    unseen = empty or all(layer_outcome in (NOT_COMPARED, CONTAINER, DRAWN) for layer_outcome in outcomes)
    return "unseen" if unseen or not judged else "passed"
