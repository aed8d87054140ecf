"""One operator of a comparison run again at a click: in float64 from what each side recorded, and on its device.

The comparison itself runs again what differs, within its time; here the reader chooses the row, and the device of the
side that is off is asked once more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, say, title
from ascend_workbook.precision.comparison import read_side
from ascend_workbook.precision.divergence import devices
from ascend_workbook.precision.divergence.replay import Replay, Replays, replay_pairs
from ascend_workbook.precision.pairing import Pair, Pairing, pair_runs
from ascend_workbook.precision.ranks.reading import read_records
from ascend_workbook.precision.ranks.sides import join_sides
from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.views.questions import infinity_as_word
from ascend_workbook.show import card
from ascend_workbook.show.boxed import make_box

CODE = "ACC238"
SIDES = ("target", "baseline")
# ruff: noqa: SIM905 - a column of names reads better without quotes
COLUMNS = "run_again side tensor own_error allowed times_allowed".split()
#: Operators that the box offers; a longer comparison has the rest by their row.
MOST = 2000


def replay_box(comparison: Report, row: int | str = "", lang: str | None = None) -> object:
    """Show the operators with a button that runs the chosen one again, above the Report of `replay_row`; without
    widgets that report alone."""
    still = _answer_row(comparison, row)
    return make_box(lambda widgets, told_in: _make_box(widgets, comparison, still, told_in), still, lang)


def _make_box(widgets: Any, comparison: Report, still: Report, lang: str) -> object:
    looks = {"layout": widgets.Layout(width="98%")}
    options = [
        (f"{order}: {name} ({say('replay.where', lang, step=step, rank=rank)})", order)
        for order, step, rank, name in _list_operators(comparison)
    ]
    chosen = still.facts.get("row")
    value = chosen if chosen in [order for _, order in options] else None
    choice = widgets.Dropdown(options=options, value=value, description=title("operator", lang), **looks)
    button = widgets.Button(description=say("replay.button", lang), icon="repeat", button_style="primary")
    answer_box = widgets.HTML("", **looks)

    def on_click(_: object) -> None:
        button.disabled, answer_box.value = True, say("replay.running", lang)
        answer_box.value = card.render_fragment(_answer_row(comparison, choice.value), lang)
        button.disabled = False

    button.on_click(on_click)
    button.disabled = not options
    return widgets.VBox([widgets.HBox([choice, button]), answer_box])


def _answer_row(comparison: Report, row: int | str) -> Report:
    """Return the report of `replay_row`, or one that says why there is none: a cell goes on either way."""
    try:
        return replay_row(comparison, row)
    except WorkbookError as error:
        return _report((Finding(CODE, Status.NOT_LOOKED, error.key, error.arguments),), comparison, None)


def _list_operators(comparison: Report) -> list[tuple[int, int, int, str]]:
    """List each operator once, by the row of its first tensor, step, rank and name."""
    if comparison.table is None:
        return []
    first: dict[tuple[Scalar, ...], int] = {}
    for order, *who in zip(*map(comparison.table.column_values, ("order", "step", "rank", "operator"))):
        first.setdefault(tuple(who), int(str(order)))
    rows = [(order, int(str(step)), int(str(rank)), str(name)) for (step, rank, name), order in first.items()]
    return rows[:MOST]


def replay_row(comparison: Report, row: int | str = "") -> Report:
    """Run the operator of a row of a comparison again: in float64 from each side's recorded inputs, and on the device
    of the side that is off, or of the target.

    `row` is the row's number or an operator's name; without one the first divergence is taken, or the operator with
    the largest error of its own. Raises WorkbookError where there is no such row, or a capture cannot be read."""
    chosen = _choose_row(comparison, row)
    if chosen is None:
        return _report((Finding(CODE, Status.NOT_LOOKED, "ACC238.nothing"),), comparison, None)
    order, step, rank, name = chosen
    args: dict[str, Scalar] = {"operator": name, "step": step, "rank": rank}
    pairing, pair = _find_pair(comparison, step, rank, name)
    if pair is None:
        return _report((Finding(CODE, Status.NOT_LOOKED, "ACC238.unpaired", args),), comparison, order)
    replays = replay_pairs(replace(pairing, pairs=(pair,)), comparison.facts["numerics"])
    replayed = replays.found.get(name)
    floor = tolerance.rounding_floor([record.dtype for record in _floating(pair)])
    if replayed is None or not replayed.is_conclusive(floor):
        args["why"] = _explain_absence(replays, pair)
        return _report((Finding(CODE, Status.NOT_LOOKED, "ACC238.cannot", args),), comparison, order)
    own = replayed.worst_output(floor)
    allowed = own.widest_limit(floor)
    side = "baseline" if own.baseline > max(own.target, allowed) else "target"
    error = own.baseline if side == "baseline" else own.target
    is_wrong = not error <= allowed
    args |= {"side": Sentence(f"precision.side_{side}"), "own": infinity_as_word(error), "allowed": allowed}
    status, key = (Status.LOOK, "wrong") if is_wrong else (Status.GOOD, "right")
    verdict = Finding(CODE, status, f"ACC238.{key}", args)
    again, finding = _run_on_device(comparison, pairing, pair, side, allowed, is_wrong)
    rows = [*_list_outputs(pair, replayed, floor)]
    if again is not None and not again.failed:
        tier = Sentence("replay.on_device", tier=again.tier)
        rows.append((tier, args["side"], None, *_make_numbers(again.saved, allowed)))
    return _report((verdict, finding), comparison, order, tuple(rows))


def _choose_row(comparison: Report, row: int | str) -> tuple[int, int, int, str] | None:
    """Choose the operator of a row, of a name, or the culprit. Raises WorkbookError where there is none of it."""
    if comparison.table is None or not comparison.table.rows:
        return None
    names = ("order", "step", "rank", "operator", "own_error", "error_out")
    rows = list(zip(*map(comparison.table.column_values, names)))
    asked = str(row).strip()
    if asked:
        matching = [each for each in rows if asked in (str(each[0]), str(each[3]))]
        if not matching:
            known = [str(each[3]) for each in rows[:3]]
            raise WorkbookError("replay.no_row", row=asked, last=str(rows[-1][0]), known=known)
    else:
        mark = comparison.chart.mark if comparison.chart else None
        marked = [each for each in rows if mark is not None and each[0] == mark]
        matching = marked or [max(rows, key=lambda each: [_size(cell) for cell in each[4:]])]
    order, step, rank, name = matching[0][:4]
    return int(str(order)), int(str(step)), int(str(rank)), str(name)


def _size(cell: Scalar) -> float:
    return float(cell) if isinstance(cell, (int, float, str)) else 0.0


def _find_pair(comparison: Report, step: int, rank: int, name: str) -> tuple[Pairing, Pair | None]:
    """Find the pair in the captures as the comparison did. Raises WorkbookError where they are no longer there."""
    folders = [Path(str(comparison.facts[side])) for side in ("baseline", "target")]
    for folder in folders:
        if not folder.is_dir():
            raise WorkbookError("replay.gone", path=str(folder))
    left, right = map(read_side, folders)
    joined = join_sides(left, right, (read_records(folders[0]), read_records(folders[1])))
    runs = [side.runs.get((step, rank)) for side in (joined.right, joined.left)]
    if runs[0] is None or runs[1] is None:
        raise WorkbookError("replay.gone", path=str(folders[1 if runs[0] is None else 0]))
    pairing = pair_runs(runs[0], runs[1], comparison.facts.get("cells"))
    return pairing, next((pair for pair in pairing.pairs if pair.target.name == name), None)


def _floating(pair: Pair) -> list[Any]:
    records = [record for side in (pair.target, pair.baseline) for record in (*side.inputs, *side.outputs)]
    return [record for record in records if record.is_floating]


def _explain_absence(replays: Replays, pair: Pair) -> Scalar:
    """Explain why nothing follows: what stopped the process, or why this operator cannot be run again."""
    return replays.error or Sentence(f"precision.replay_{replays.why_not(pair.target)}")


def _run_on_device(
    comparison: Report, pairing: Pairing, pair: Pair, side: str, allowed: float, is_wrong: bool
) -> tuple[devices.Again | None, Finding]:
    """Run the operator on the device of a side, from the inputs saved there, and say what came of it."""
    baseline, target = comparison.facts["sides"]
    tier = str((target if side == "target" else baseline).get("tier") or "")
    if not tier:
        return None, Finding(CODE, Status.NOT_LOOKED, "ACC238.no_device", {"side": Sentence(f"precision.side_{side}")})
    again = devices.run_on_device(tier, getattr(pairing, side), getattr(pair, side))
    args: dict[str, Scalar] = {"tier": tier, "allowed": allowed}
    if again.failed:
        return again, Finding(CODE, Status.NOT_LOOKED, "ACC238.device_failed", {"tier": tier, "why": again.failed})
    args["error"] = infinity_as_word(again.saved)
    is_again = not again.saved <= allowed
    key = "again" if is_again else "not_again" if is_wrong else "device_right"
    return again, Finding(CODE, Status.LOOK if is_again or is_wrong else Status.GOOD, f"ACC238.{key}", args)


def _list_outputs(pair: Pair, replayed: Replay, floor: float) -> Iterator[tuple[Scalar, ...]]:
    """Yield a row for each side of each floating output."""
    slots = [record.slot for record in pair.target.outputs if record.is_floating]
    for number, own in enumerate(replayed.outputs):
        slot = slots[number] if number < len(slots) else str(number)
        for side, error in zip(SIDES, (own.target, own.baseline)):
            who = (Sentence("replay.in_float64"), Sentence(f"precision.side_{side}"), slot)
            yield (*who, *_make_numbers(error, own.widest_limit(floor)))


def _make_numbers(error: float, allowed: float) -> tuple[Scalar, ...]:
    times = error / allowed if allowed else (0.0 if error == 0 else math.inf)
    return infinity_as_word(error), allowed, infinity_as_word(times)


def _report(
    findings: tuple[Finding, ...], comparison: Report, row: int | None, rows: tuple[tuple[Scalar, ...], ...] = ()
) -> Report:
    columns = tuple(Column(name, digits=3 if name == "times_allowed" else 0) for name in COLUMNS)
    table = Table(columns, rows) if rows else None
    return Report("precision", "replay", findings, table, facts={"row": row}, tier=comparison.tier)
