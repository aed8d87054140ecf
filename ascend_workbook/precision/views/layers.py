"""`layers`: the comparison as a plain table of layers, with the greatest and the mean difference, cosine, pass or fail,
and what each side ran on."""

from __future__ import annotations

from collections.abc import Iterable

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.divergence import CONTAINER, DRAWN, NOT_COMPARED, PARTING
from ascend_workbook.precision.views import platform
from ascend_workbook.precision.views.outcomes import read_outcome

COLUMNS = (
    Column("layer"),
    Column("step"),
    Column("rank"),
    Column("max_diff"),
    Column("mean_diff"),
    Column("cosine", digits=9),
    Column("passed"),
)


def layers(comparison: Report) -> Report:
    """List each operator of a comparison in a row, in order of execution, the platform of both sides as a part.

    max_diff and mean_diff (root mean square over the elements) are of the values themselves, in their own unit;
    cosine is the smallest of the operator's outputs, empty where it is not defined. Passed is the comparison's own
    judgement, which knows rounding and inherited errors; no fixed limit would do. What was not compared is neither.
    """
    rows: dict[tuple[Scalar, ...], list[dict[str, Scalar]]] = {}
    table = comparison.table
    for row in table.rows if table else ():
        named = dict(zip((column.name for column in table.columns), row)) if table else {}
        rows.setdefault((named["operator"], named["step"], named["rank"]), []).append(named)
    judged = bool(comparison.facts.get("judged", True))
    layer_rows = tuple(
        (*key, *_worst_numbers(some), Sentence(f"layer.{_judge_layer(some, judged)}")) for key, some in rows.items()
    )
    counts = {
        name: sum(row[-1] == Sentence(f"layer.{name}") for row in layer_rows) for name in ("passed", "failed", "unseen")
    }
    status = Status.FAIL if counts["failed"] else Status.SKIPPED if not counts["passed"] else Status.OK
    args: dict[str, Scalar] = {
        **counts,
        "first": next((row[0] for row in layer_rows if row[-1] == Sentence("layer.failed")), None),
    }
    side = Report(
        "precision",
        "platform",
        (_report_platform(comparison),),
        platform.platform_table(comparison),
        tier=comparison.tier,
    )
    return Report(
        "precision",
        "layers",
        (Finding("ACC293", status, "ACC293.layers", args),),
        Table(COLUMNS, layer_rows),
        facts={"simulator": comparison.facts.get("simulator") or {}},
        tier=comparison.tier,
        parts=(side,),
    )


def _worst_numbers(some: Iterable[dict[str, Scalar]]) -> tuple[Scalar, Scalar, Scalar]:
    some = list(some)
    return (
        _worst_in_column(some, "max_diff"),
        _worst_in_column(some, "mean_diff"),
        _worst_in_column(some, "cosine", least=True),
    )


def _worst_in_column(some: list[dict[str, Scalar]], name: str, *, least: bool = False) -> Scalar:
    """Return the worst of a column; a word (inf, nan) is worse than every number."""
    words = [row[name] for row in some if isinstance(row[name], str)]
    values = [value for row in some if isinstance(value := row[name], (int, float))]
    if words:
        return words[0]
    return (min(values) if least else max(values)) if values else None


def _judge_layer(some: list[dict[str, Scalar]], judged: bool) -> str:
    outcomes = [read_outcome(row["judgement"]) for row in some]
    if judged and any(layer_outcome in PARTING for layer_outcome in outcomes):
        return "failed"
    empty = all(row["error_out"] is None for row in some)
    unseen = empty or all(layer_outcome in (NOT_COMPARED, CONTAINER, DRAWN) for layer_outcome in outcomes)
    return "unseen" if unseen or not judged else "passed"


def _report_platform(comparison: Report) -> Finding:
    sides = comparison.facts.get("sides") or [{}, {}]
    if not all(sides):
        return Finding("ACC293", Status.SKIPPED, "ACC293.no_platform")
    tiers: list[Scalar] = [str(side.get("tier")) for side in sides]
    return Finding("ACC293", Status.OK, "ACC293.platform", {"baseline": tiers[0], "target": tiers[1]})
