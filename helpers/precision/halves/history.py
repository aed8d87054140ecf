"""What a run's loss scale did, step by step, and what each of its moves says of the gradients."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.precision.curves.names import LOSS, LOSS_SCALE
from helpers.precision.curves.readers import read
from helpers.precision.curves.series import Curve, Series
from helpers.precision.halves.formats import FLOAT16, shown
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

BACKOFF, GROWTH = "backoff", "growth"
STEPS = (Column("step"), Column("loss_scale"), Column("loss"))
MOVES = (Column("step"), Column("scale_move"), Column("scale_before"), Column("scale_after"), Column("steps_since"),
         Column("scale_means", wrap=56))  # fmt: skip


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
    """The scale and the loss by step as a chart; of a log of any kind that `curves` reads and that tells a loss scale
    after each update. `tier` is the device's. Raises WorkbookError where it tells none."""
    return drawn(read(Path(log)), tier)


def scale_moves(log: str | Path, tier: str = "") -> Report:
    """A row for each change of the scale: after how many steps, and what it says of the largest gradient."""
    curve = read(Path(log))
    found = moves(curve)
    rows = tuple(map(_row, found))
    return Report("precision", "scale_moves", (_finding(curve, found),), Table(MOVES, rows),
                  facts=_facts(found), tier=tier)  # fmt: skip


def _row(move: Move) -> tuple[Scalar, ...]:
    before, after = shown(move.before), shown(move.after)
    return move.step, {"say": f"halves.{move.kind}"}, before, after, move.since, _meaning(move)


def drawn(curve: Curve, tier: str = "") -> Report:
    """The chart of what was read so far."""
    scale, loss = _by_step(_series(curve)), _by_step(curve.series.get(LOSS))
    rows = tuple((step, value, loss.get(step)) for step, value in scale.items())
    found = moves(curve)
    chart = Chart("lines", "step", ("loss_scale",), log=True, below=("loss",),
                  marks=tuple(move.step for move in found if move.kind == BACKOFF))  # fmt: skip
    return Report("precision", "scale_history", (_finding(curve, found),), Table(STEPS, rows), chart,
                  facts=_facts(found), tier=tier)  # fmt: skip


def moves(curve: Curve) -> list[Move]:
    """Every change of the scale from one logged step to the next."""
    scale = list(_by_step(_series(curve)).items())
    found: list[Move] = []
    last = scale[0][0] - 1
    for (_, before), (step, after) in zip(scale, scale[1:]):
        if after != before:
            found.append(Move(step, before, after, step - last))
            last = step
    return found


def _series(curve: Curve) -> Series:
    series = curve.series.get(LOSS_SCALE)
    if series is None or not series.values:
        raise WorkbookError("halves.no_scale", path=curve.shown, known=sorted(curve.series)[:12])
    return series


def _by_step(series: Series | None) -> dict[int, float]:
    if series is None:
        return {}
    steps, places = series.last_of_each()
    return {int(step): series.values[int(at)] for step, at in zip(steps, places)}


def _meaning(move: Move) -> dict[str, Scalar]:
    """An overflow tells that a gradient was too large for the scale before; growth that for so long none was."""
    return {"say": f"halves.means_{move.kind}", "args": {"bound": FLOAT16.largest / move.before, "steps": move.since}}


def _facts(found: list[Move]) -> dict[str, Scalar]:
    falls = [move for move in found if move.kind == BACKOFF]
    return {"growths": len(found) - len(falls), "backoffs": len(falls),
            "largest_gradient_at_least": [FLOAT16.largest / move.before for move in falls]}  # fmt: skip


def _finding(curve: Curve, found: list[Move]) -> Finding:
    scale = list(_by_step(_series(curve)).values())
    falls = sum(move.kind == BACKOFF for move in found)
    args: dict[str, Scalar] = {"steps": len(scale), "first": shown(scale[0]), "last": shown(scale[-1])}
    args.update(backoffs=falls, growths=len(found) - falls)
    return Finding("ACC296", Status.OK if found else Status.NOTE, "ACC296.moved" if found else "ACC296.still", args,
                   weight=100)  # fmt: skip
