"""What a run's loss scale did, step by step, and what each of its moves says of the gradients."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.curves.names import LOSS, LOSS_SCALE
from ascend_workbook.precision.curves.readers import read
from ascend_workbook.precision.curves.series import Curve, Series
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
    scale_changes = find_moves(curve)
    rows = tuple(map(_make_move_row, scale_changes))
    return Report(
        "precision",
        "scale_moves",
        (_judge_moves(curve, scale_changes),),
        Table(MOVES, rows),
        facts=_count_moves(scale_changes),
        tier=tier,
    )


def _make_move_row(move: Move) -> tuple[Scalar, ...]:
    """An overflow tells that a gradient was too large for the scale before; growth that for so long none was."""
    means = Sentence(f"halves.means_{move.kind}", bound=FLOAT16.largest / move.before, steps=move.since)
    before, after = format_scale(move.before), format_scale(move.after)
    return move.step, Sentence(f"halves.{move.kind}"), before, after, move.since, means


def draw_scale(curve: Curve, tier: str = "") -> Report:
    """The chart of what was read so far."""
    scale, loss = _by_step(_require_scale_series(curve)), _by_step(curve.series.get(LOSS))
    rows = tuple((step, value, loss.get(step)) for step, value in scale.items())
    scale_changes = find_moves(curve)
    chart = Chart(
        "lines",
        "step",
        ("loss_scale",),
        log=True,
        below=("loss",),
        marks=tuple(move.step for move in scale_changes if move.kind == BACKOFF),
    )
    return Report(
        "precision",
        "scale_history",
        (_judge_moves(curve, scale_changes),),
        Table(STEPS, rows),
        chart,
        facts=_count_moves(scale_changes),
        tier=tier,
    )


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


def _count_moves(scale_changes: list[Move]) -> dict[str, Scalar]:
    falls = [move for move in scale_changes if move.kind == BACKOFF]
    return {
        "growths": len(scale_changes) - len(falls),
        "backoffs": len(falls),
        "largest_gradient_at_least": [FLOAT16.largest / move.before for move in falls],
    }


def _judge_moves(curve: Curve, scale_changes: list[Move]) -> Finding:
    scale = list(_by_step(_require_scale_series(curve)).values())
    falls = sum(move.kind == BACKOFF for move in scale_changes)
    args: dict[str, Scalar] = {"steps": len(scale), "first": format_scale(scale[0]), "last": format_scale(scale[-1])}
    args.update(backoffs=falls, growths=len(scale_changes) - falls)
    return Finding(
        "ACC296",
        Status.OK if scale_changes else Status.NOTE,
        "ACC296.moved" if scale_changes else "ACC296.still",
        args,
        weight=100,
    )
