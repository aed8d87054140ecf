"""`layers`: the comparison as a plain table of layers, with the greatest and the mean difference, cosine, pass or fail,
and what each side ran on."""

from __future__ import annotations

from collections.abc import Iterable

from helpers.finding import Finding, Status
from helpers.precision.divergence import CONTAINER, DRAWN, NOT_COMPARED, PARTING
from helpers.precision.views import platform
from helpers.precision.views.outcomes import outcome
from helpers.report import Column, Report, Table
from helpers.words import Scalar

COLUMNS = (Column("layer"), Column("step"), Column("rank"), Column("max_diff"), Column("mean_diff"),
           Column("cosine", digits=9), Column("passed"))  # fmt: skip


def layers(comparison: Report) -> Report:
    """A row for each operator of a comparison in order of execution, the platform of both sides as a part.

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
    made = tuple((*key, *_numbers(some), {"say": f"layer.{_verdict(some, judged)}"}) for key, some in rows.items())
    counts = {name: sum(row[-1] == {"say": f"layer.{name}"} for row in made) for name in ("passed", "failed", "unseen")}
    status = Status.FAIL if counts["failed"] else Status.SKIPPED if not counts["passed"] else Status.OK
    args: dict[str, Scalar] = {**counts, "first": next((row[0] for row in made if row[-1] == {"say": "layer.failed"}),
                                                       None)}  # fmt: skip
    side = Report("precision", "platform", (_platform(comparison),), platform.table(comparison), tier=comparison.tier)
    return Report("precision", "layers", (Finding("ACC293", status, "ACC293.layers", args),), Table(COLUMNS, made),
                  facts={"simulator": comparison.facts.get("simulator") or {}}, tier=comparison.tier,
                  parts=(side,))  # fmt: skip


def _numbers(some: Iterable[dict[str, Scalar]]) -> tuple[Scalar, Scalar, Scalar]:
    some = list(some)
    return _worst(some, "max_diff"), _worst(some, "mean_diff"), _worst(some, "cosine", least=True)


def _worst(some: list[dict[str, Scalar]], name: str, *, least: bool = False) -> Scalar:
    """The worst of a column; a word (inf, nan) is worse than every number."""
    words = [row[name] for row in some if isinstance(row[name], str)]
    values = [value for row in some if isinstance(value := row[name], (int, float))]
    if words:
        return words[0]
    return (min(values) if least else max(values)) if values else None


def _verdict(some: list[dict[str, Scalar]], judged: bool) -> str:
    said = [outcome(row["judgement"]) for row in some]
    if judged and any(one in PARTING for one in said):
        return "failed"
    empty = all(row["error_out"] is None for row in some)
    unseen = empty or all(one in (NOT_COMPARED, CONTAINER, DRAWN) for one in said)
    return "unseen" if unseen or not judged else "passed"


def _platform(comparison: Report) -> Finding:
    sides = comparison.facts.get("sides") or [{}, {}]
    if not all(sides):
        return Finding("ACC293", Status.SKIPPED, "ACC293.no_platform")
    tiers: list[Scalar] = [str(side.get("tier")) for side in sides]
    return Finding("ACC293", Status.OK, "ACC293.platform", {"baseline": tiers[0], "target": tiers[1]})
