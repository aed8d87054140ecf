"""What a run's loss scale did, step by step, and what each of its moves says of the gradients."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.curves.readers import read
from ascend_workbook.precision.curves.series import LOSS, LOSS_SCALE, Curve, Series
from ascend_workbook.precision.halves.exponents import FLOAT16, format_scale

BACKOFF, GROWTH = "backoff", "growth"
STEPS = (Column("step"), Column("loss_scale"), Column("loss"))
MOVES = (
    Column("step"),
    Column("scale_move"),
    Column("scale_before"),
    Column("scale_after"),
    Column("steps_since"),
    Column("scale_means", wrap=56),
)


@dataclass(frozen=True)
class Move:
    """At the end of `step` the scale went from `before` to `after`; `since` steps after its last move."""

    step: int
    before: float
    after: float
    since: int

    @property
    def kind(self) -> str:
        return GROWTH if self.after > self.before else BACKOFF


def scale_history(log: str | Path, tier: str = "") -> Report:
    """Show the scale and the loss by step as a chart; of a log of any kind that `curves` reads and that tells a loss
    scale after each update. `tier` is the device's. Raises WorkbookError where it tells none."""
    return draw_scale(read(Path(log)), tier)


def scale_moves(log: str | Path, tier: str = "") -> Report:
    """List each change of the scale in a row: after how many steps, and what it says of the largest gradient."""
    curve = read(Path(log))
    rows: list[tuple[Scalar, ...]] = []
    for move in find_moves(curve):
        # an overflow tells that a gradient was too large for the scale before; growth that for so long none was
        means = Sentence(f"halves.means_{move.kind}", bound=FLOAT16.largest / move.before, steps=move.since)
        before, after = format_scale(move.before), format_scale(move.after)
        rows.append((move.step, Sentence(f"halves.{move.kind}"), before, after, move.since, means))
    return _report_moves("scale_moves", curve, Table(MOVES, tuple(rows)), None, tier)


def draw_scale(curve: Curve, tier: str = "") -> Report:
    """The chart of what was read so far."""
    scale, loss = _by_step(_require_scale_series(curve)), _by_step(curve.series.get(LOSS))
    rows = tuple((step, value, loss.get(step)) for step, value in scale.items())
    marks = tuple(move.step for move in find_moves(curve) if move.kind == BACKOFF)
    chart = Chart("lines", "step", ("loss_scale",), log=True, below=("loss",), marks=marks)
    return _report_moves("scale_history", curve, Table(STEPS, rows), chart, tier)


def find_moves(curve: Curve) -> list[Move]:
    """Find every change of the scale from one logged step to the next."""
    scale = list(_by_step(_require_scale_series(curve)).items())
    scale_changes: list[Move] = []
    last = scale[0][0] - 1
    for (_, before), (step, after) in zip(scale, scale[1:]):
        if after != before:
            scale_changes.append(Move(step, before, after, step - last))
            last = step
    return scale_changes


def _require_scale_series(curve: Curve) -> Series:
    series = curve.series.get(LOSS_SCALE)
    if series is None or not series.values:
        raise WorkbookError("halves.no_scale", path=curve.display_name, known=sorted(curve.series)[:12])
    return series


def _by_step(series: Series | None) -> dict[int, float]:
    if series is None:
        return {}
    steps, places = series.last_of_each()
    return {int(step): series.values[int(at)] for step, at in zip(steps, places)}


def _report_moves(verb: str, curve: Curve, table: Table, chart: Chart | None, tier: str) -> Report:
    moves, scale = find_moves(curve), list(_by_step(_require_scale_series(curve)).values())
    falls = [move for move in moves if move.kind == BACKOFF]
    counts: dict[str, Scalar] = {"growths": len(moves) - len(falls), "backoffs": len(falls)}
    args = {"steps": len(scale), "first": format_scale(scale[0]), "last": format_scale(scale[-1]), **counts}
    status, key = (Status.GOOD, "ACC296.moved") if moves else (Status.NOTE, "ACC296.still")
    facts = {**counts, "largest_gradient_at_least": [FLOAT16.largest / move.before for move in falls]}
    finding = Finding("ACC296", status, key, args, weight=100)
    return Report("precision", verb, (finding,), table, chart, facts=facts, tier=tier)
