"""`curves`: two runs side by side by step, where they part, and what is odd about either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table, parse_fail_on
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.launch import join_simulator_parts
from ascend_workbook.precision.baselines.reading import Opened, open_side
from ascend_workbook.precision.capturing.manifest import computed_in
from ascend_workbook.precision.curves import findings as curve_findings
from ascend_workbook.precision.curves.aligned import TOLERANCE, Aligned, align_series, first_place, tolerance_of
from ascend_workbook.precision.curves.finals import Target, final_value, judge_finals, judge_targets
from ascend_workbook.precision.curves.follow import Follow, follow_logs
from ascend_workbook.precision.curves.readers import read
from ascend_workbook.precision.curves.scale import judge_scale, scale_history_of, skipped_steps
from ascend_workbook.precision.curves.series import (
    GRAD_NORM,
    LOSS,
    LR,
    PARAMETER,
    Curve,
    Series,
    find_checkpoints,
    to_scalar,
)
from ascend_workbook.precision.curves.spikes import Spike, find_spikes
from ascend_workbook.precision.views.questions import OF_CURVES, apply_gate, keep_headline
from ascend_workbook.storage import is_address

COMPLETE = ("finished", "stopped_after")
# ruff: noqa: SIM905 - a column of names reads better without quotes
COLUMNS = """
step loss_baseline loss_target absolute_error relative_error smoothed_error lr grad_norm_baseline grad_norm_target
place_baseline place_target
""".split()
#: Rows of a report; a page with more of them is slow, and a picture shows no more.
MOST = 1500
#: Steps on either side of what is pointed out that are always kept.
AROUND = 10


@dataclass(frozen=True)
class Options:
    """`shift` is added to the target's steps; `loss` is a log's own name for it; `checkpoints` a folder."""

    tolerance: float = TOLERANCE
    targets: tuple[Target, ...] = ()
    pattern: str = ""
    loss: str = ""
    shift: int = 0
    checkpoints: Path | None = None


def curves(
    baseline: str | Path,
    target: str | Path,
    *,
    tolerance: float | None = None,
    target_metric: Sequence[str] = (),
    pattern: str = "",
    loss: str = "",
    shift: int = 0,
    checkpoints: str | Path | None = None,
    following: Follow | None = None,
    fail_on: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Compares two logs (or folders or bundles that hold one) by relative difference of the loss: gpulog.json, any JSON
    of records, CSV or TSV, TensorBoard events, trainer_state.json, Megatron-LM's and other text logs.

    `tolerance`: by default 1e-3, or two units in the last place of the coarsest format that captures say they computed
    in (autocast, parameters): 8e-3 of bfloat16.
    `target_metric`: final values that the target must reach, as "val_loss<=2.9". `pattern`: for other text logs, with
    named groups `step` and one for each number. With `following` both logs are read again until the run ends.
    `fail_on` are classes (questions.py) that make the status Fix where they occur or could not be looked for.
    Raises WorkbookError where a log cannot be read, or has no loss to compare."""
    wanted = parse_fail_on(fail_on, OF_CURVES)
    if tolerance is not None and not tolerance >= 0:
        raise WorkbookError("precision.tolerance", given=tolerance)
    options = Options(
        TOLERANCE if tolerance is None else tolerance,
        tuple(map(Target.parse_target, [target_metric] if isinstance(target_metric, str) else target_metric)),
        pattern,
        loss,
        shift,
        Path(checkpoints) if checkpoints else None,
    )
    for place in (baseline, target):
        if following and is_address(place):
            raise WorkbookError("storage.followed", place=str(place))
    with open_side(baseline) as opened_baseline, open_side(target) as other:
        outcome, places = "", (opened_baseline.folder, other.folder)
        if tolerance is None:
            options = replace(options, tolerance=tolerance_of(name for place in places for name in computed_in(place)))
        if following:
            left, right, outcome = follow_logs(
                places, following, pattern=pattern, loss=loss, shift=shift, tolerance=options.tolerance, tell=progress
            )
        else:
            left, right = (read(place, pattern=pattern, loss=loss) for place in places)
        left, right = _name_paths(left, opened_baseline), _name_paths(right, other)
    return apply_gate(make_report(left, right, options, followed=outcome), wanted, OF_CURVES)


def _name_paths(curve: Curve, side: Opened) -> Curve:
    """With the paths that the reader gave, where a bundle was unpacked, or an address fetched, elsewhere."""
    if side.bundle is None and not is_address(side.place):
        return curve
    place = side.shown_path(curve.path)
    notes = [
        (key, {name: side.shown_path(str(value)) if name == "path" else value for name, value in args.items()})
        for key, args in curve.told
    ]
    path, files = curve.path if side.bundle is None else Path(place), [side.shown_path(name) for name in curve.files]
    return replace(curve, path=path, given=place, told=notes, files=files)


def make_report(left: Curve, right: Curve, options: Options, followed: str = "") -> Report:
    """Both curves as one report. `followed`: how following ended, "" where nothing was followed."""
    pair = _align_losses(left, right, options.shift)
    by_side = {side: find_spikes(curve.series[LOSS]) for side, curve in (("baseline", left), ("target", right))}
    first = first_place(pair, options.tolerance, _within_spikes(pair, by_side, options.shift))
    known = {"baseline": find_checkpoints(left), "target": find_checkpoints(right, options.checkpoints)}
    begin = [min(curve.series[LOSS].steps) for curve in (left, right)]
    # the first value of both logs, at step 0 or 1: nothing was learnt before it
    before = max(begin) <= 1 and int(pair.steps[0]) == begin[0] and not (left.ordinal or right.ordinal)
    parting = None if first is None else int(pair.steps[first])
    findings = [
        curve_findings.judge_curves(left, right, pair, first, options.tolerance, before),
        *curve_findings.find_shift(left, right, options.tolerance, options.shift),
        *curve_findings.judge_gradient(left, right, options.shift, options.tolerance, parting, before),
        *curve_findings.judge_learning_rate(left, right, options.shift),
        *curve_findings.judge_alignment(left, right, pair, options.shift),
        *curve_findings.find_coarse_logs(left, right, pair, options.tolerance),
        *(finding for curve in (left, right) for finding in _check_ended(curve, followed)),
        *(finding for curve in (left, right) for finding in curve_findings.find_not_finite(curve)),
        *(
            Finding("ACC257", Status.NOTE if key == "ACC257.sum" else Status.LOOK, key, args)
            for curve in (left, right)
            for key, args in curve.told
        ),
        *curve_findings.spike_findings(by_side, {"baseline": left, "target": right}, known, options.shift),
        *judge_scale(left, right),
        *judge_targets(options.targets, left, right),
        *judge_finals(left, right, options.shift, options.tolerance),
    ]
    more = {"baseline": 0, "target": options.shift}
    marks = sorted({spike.first + more[side] for side, some in by_side.items() for spike in some or ()})
    pointed = ([] if first is None else [first]) + np.searchsorted(pair.steps, marks).tolist()
    mark: Any = findings[0].args.get("step")
    below = ("relative_error", "smoothed_error")
    return Report(
        "precision",
        "curves",
        tuple(keep_headline(findings, "ACC250")),
        _make_table(left, right, pair, options.shift, pointed),
        Chart("lines", "step", ("loss_baseline", "loss_target"), mark=mark, below=below, marks=tuple(marks)),
        facts=_collect_facts(left, right, pair, options, by_side, followed),
        tier=str(right.meta.get("tier", "")),
    )


def _align_losses(left: Curve, right: Curve, shift: int) -> Aligned:
    """Raises WorkbookError where there is no loss, or no step, on both sides."""
    for curve in (left, right):
        if LOSS not in curve.series:
            if curve.series:
                raise WorkbookError("curves.no_loss", path=curve.display_name, known=sorted(curve.series)[:12])
            line, text = curve.unread or (None, None)
            raise WorkbookError("curves.no_numbers", path=curve.display_name, line=line, text=text)
    pair = align_series(left.series[LOSS], right.series[LOSS], shift)
    if not len(pair.steps):
        ends = [curve_findings.describe_ranges(curve.series[LOSS].last_of_each()[0]) for curve in (left, right)]
        paths = {"baseline_path": left.display_name, "target_path": right.display_name}
        raise WorkbookError("curves.no_common", baseline=ends[0], target=ends[1], **paths)
    return pair


def _within_spikes(pair: Aligned, by_side: dict[str, list[Spike] | None], shift: int) -> NDArray[np.bool_]:
    """Which values lie within a spike of either side that came back."""
    inside = np.zeros(len(pair.steps), dtype=bool)
    for side, some in by_side.items():
        for spike in some or ():
            if not spike.lasting:
                more = shift if side == "target" else 0
                inside |= (pair.steps >= spike.first + more) & (pair.steps <= spike.last + more)
    return inside


def _check_ended(curve: Curve, followed: str) -> list[Finding]:
    """Our own log says whether its run ended; others do not."""
    if not curve.status or curve.status in COMPLETE:
        return []
    if followed and curve.status == "running":
        return [Finding("ACC251", Status.NOT_LOOKED, "ACC251.running", {"path": curve.display_name})]
    args: dict[str, Scalar] = {"path": curve.display_name, "status": curve.status}
    return [Finding("ACC251", Status.FIX, "ACC251.unfinished", args, weight=200)]


def _collect_facts(
    left: Curve, right: Curve, pair: Aligned, options: Options, by_side: dict[str, Any], followed: str
) -> dict[str, object]:
    finite = pair.relative[np.isfinite(pair.relative)]
    shared = left.series.keys() & right.series.keys() - {LOSS}
    names = sorted(name for name in shared if not name.startswith(PARAMETER))
    finals = {name: [(final_value(curve, name) or (0, None))[1] for curve in (left, right)] for name in (LOSS, *names)}
    norm = align_series(left.series[GRAD_NORM], right.series[GRAD_NORM], options.shift) if GRAD_NORM in names else None
    return {
        "baseline": left.display_name,
        "target": right.display_name,
        "tolerance": options.tolerance,
        "formats": [left.kind, right.kind],
        "shift": options.shift,
        "steps_compared": len(pair.steps),
        "mean_relative": float(finite.mean()) if len(finite) else None,
        "worst_relative": float(finite.max()) if len(finite) else None,
        "worst_gradient_norm": str(norm.relative.max()) if norm is not None and len(norm.steps) else None,
        "spikes": {side: None if some is None else [asdict(spike) for spike in some] for side, some in by_side.items()},
        "loss_scale": [asdict(scale) if (scale := scale_history_of(curve)) else None for curve in (left, right)],
        "skipped_steps": [skipped_steps(curve) for curve in (left, right)],
        "final": {
            name: [None if value is None else value if np.isfinite(value) else str(value) for value in both]
            for name, both in finals.items()
        },
        "followed": followed,
        "tiers": [str(left.meta.get("tier", "")), str(right.meta.get("tier", ""))],
        "simulator": join_simulator_parts((left.meta, right.meta)),
    }


def _make_table(left: Curve, right: Curve, pair: Aligned, shift: int, pointed: Iterable[int]) -> Table:
    """All steps; of more than MOST the extremes of each stretch and the surroundings of the places `pointed` out."""
    beside: list[dict[int, float]] = []
    for curve, name, more in ((right, LR, shift), (left, GRAD_NORM, 0), (right, GRAD_NORM, shift)):
        series = curve.series.get(name, Series(name))
        steps, at_steps = series.last_of_each()
        beside.append(dict(zip((steps + more).tolist(), np.asarray(series.values)[at_steps].tolist())))
    rows = []
    for at in _choose_rows(pair, pointed):
        step = int(pair.steps[at])
        numbers = (pair.baseline[at], pair.target[at], pair.absolute[at], pair.relative[at], pair.smoothed[at])
        around = (values.get(step) for values in beside)
        places = (_describe_place(left, int(pair.at_baseline[at])), _describe_place(right, int(pair.at_target[at])))
        rows.append((step, *map(to_scalar, (*numbers, *around)), *places))
    return Table(tuple(Column(name, detail=name.startswith("place")) for name in COLUMNS), tuple(rows))


def _choose_rows(pair: Aligned, pointed: Iterable[int]) -> list[int]:
    count = len(pair.steps)
    if count <= MOST:
        return list(range(count))
    chosen = {0, count - 1}
    for stretch in np.array_split(np.arange(count), MOST // 5):
        values, relative = np.nan_to_num(pair.target[stretch]), np.nan_to_num(pair.relative[stretch])
        chosen |= {int(stretch[at]) for at in (0, values.argmin(), values.argmax(), relative.argmax())}
    for place in list(pointed)[:20]:
        chosen |= set(range(max(0, place - AROUND), min(count, place + AROUND + 1)))
    return sorted(chosen)


def _describe_place(curve: Curve, at: int) -> Scalar:
    path, line = curve.place_of_value(curve.series[LOSS], at)
    return f"{path}:{line}" if line else path
