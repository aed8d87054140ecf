"""`curves`: two runs side by side by step, where they part, and what is odd about either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.gates import asked
from helpers.launch import together
from helpers.precision.baselines.reading import Opened, opened
from helpers.precision.curves import findings as say
from helpers.precision.curves.aligned import Aligned, aligned
from helpers.precision.curves.checkpoints import checkpoints
from helpers.precision.curves.finals import judge_finals
from helpers.precision.curves.follow import Follow, follow
from helpers.precision.curves.gradient import judge_gradient
from helpers.precision.curves.names import GRAD_NORM, LOSS
from helpers.precision.curves.parting import TOLERANCE, first_place
from helpers.precision.curves.readers import read
from helpers.precision.curves.rows import table
from helpers.precision.curves.scale import history, judge_scale, skipped_steps
from helpers.precision.curves.series import Curve
from helpers.precision.curves.spikes import Spike, spikes
from helpers.precision.curves.targets import Target, final, judge_targets
from helpers.precision.views.questions import OF_CURVES, gated
from helpers.report import Chart, Report
from helpers.storage import is_address

COMPLETE = ("finished", "stopped_after")


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
    baseline: str | Path, target: str | Path, *, tolerance: float = TOLERANCE, target_metric: Sequence[str] = (),
    pattern: str = "", loss: str = "", shift: int = 0, checkpoints: str | Path | None = None,
    following: Follow | None = None, fail_on: Iterable[str] = (), progress: Callable[[str], None] | None = None,
) -> Report:  # fmt: skip
    """Compares two logs (or folders or bundles that hold one) by relative difference of the loss: gpulog.json, any JSON
    of records, CSV or TSV, TensorBoard events, trainer_state.json, Megatron-LM's and other text logs.

    `target_metric`: final values that the target must reach, as "val_loss<=2.9". `pattern`: for other text logs, with
    named groups `step` and one for each number. With `following` both logs are read again until the run ends.
    `fail_on` are classes (questions.py) that make the status FAIL where they occur or could not be looked for.
    Raises WorkbookError where a log cannot be read, or has no loss to compare.
    """
    wanted = asked(fail_on, OF_CURVES)
    if not tolerance >= 0:
        raise WorkbookError("precision.tolerance", given=tolerance)
    options = Options(tolerance, tuple(map(Target.parse, [target_metric] if isinstance(target_metric, str)
                                           else target_metric)), pattern, loss, shift,
                      Path(checkpoints) if checkpoints else None)  # fmt: skip
    for place in (baseline, target):
        if following and is_address(place):
            raise WorkbookError("storage.followed", place=str(place))
    with opened(baseline) as one, opened(target) as other:
        outcome, places = "", (one.folder, other.folder)
        if following:
            left, right, outcome = follow(places, following, pattern=pattern, loss=loss, shift=shift,
                                          tolerance=tolerance, tell=progress)  # fmt: skip
        else:
            left, right = (read(place, pattern=pattern, loss=loss) for place in places)
        left, right = _named(left, one), _named(right, other)
    return gated(report(left, right, options, followed=outcome), wanted, OF_CURVES)


def _named(curve: Curve, side: Opened) -> Curve:
    """With the paths that the reader gave, where a bundle was unpacked, or an address fetched, elsewhere."""
    if side.bundle is None and not is_address(side.place):
        return curve
    place = side.shown(curve.path)
    told = [(key, {**args, "path": side.shown(str(args["path"]))} if "path" in args else args)
            for key, args in curve.told]  # fmt: skip
    return replace(curve, path=curve.path if side.bundle is None else Path(place), given=place, told=told,
                   files=[side.shown(name) for name in curve.files])  # fmt: skip


def report(left: Curve, right: Curve, options: Options, followed: str = "") -> Report:
    """Both curves as one report. `followed`: how following ended, "" where nothing was followed."""
    pair = _paired(left, right, options.shift)
    by_side = {side: spikes(curve.series[LOSS]) for side, curve in (("baseline", left), ("target", right))}
    first = first_place(pair, options.tolerance, _within_spikes(pair, by_side, options.shift))
    known = {"baseline": checkpoints(left), "target": checkpoints(right, options.checkpoints)}
    before = _before_update(left, right, pair)
    found = [say.verdict(left, right, pair, first, options.tolerance, before),
             *say.shifted(left, right, options.tolerance, options.shift),
             *judge_gradient(left, right, options.shift, options.tolerance, _parted(pair, first), before),
             *say.rate(left, right, options.shift),
             *say.alignment(left, right, pair, options.shift),
             *say.coarse(left, right, pair, options.tolerance),
             *(one for curve in (left, right) for one in _ended(curve, followed)),
             *(one for curve in (left, right) for one in say.not_finite(curve)),
             *(Finding("ACC257", Status.WARN, key, args) for curve in (left, right) for key, args in curve.told),
             *say.spike_findings(by_side, {"baseline": left, "target": right}, known, options.shift),
             *judge_scale(left, right),
             *judge_targets(options.targets, left, right),
             *judge_finals(left, right, options.shift, options.tolerance)]  # fmt: skip
    marks = sorted({spike.first + (options.shift if side == "target" else 0)
                    for side, some in by_side.items() for spike in some or ()})  # fmt: skip
    pointed = ([] if first is None else [first]) + np.searchsorted(pair.steps, marks).tolist()
    mark = _marked(found)
    tier = str(right.meta.get("tier", ""))
    return Report(
        "precision", "curves", tuple(_headlined(found)), table(left, right, pair, options.shift, pointed),
        Chart("lines", "step", ("loss_baseline", "loss_target"), mark=mark,
              below=("relative_error", "smoothed_error"), marks=tuple(marks)),
        facts=_facts(left, right, pair, options, by_side, followed), tier=tier,
    )  # fmt: skip


def _parted(pair: Aligned, first: int | None) -> int | None:
    return None if first is None else int(pair.steps[first])


def _paired(left: Curve, right: Curve, shift: int) -> Aligned:
    """Raises WorkbookError where there is no loss, or no step, on both sides."""
    for curve in (left, right):
        if LOSS not in curve.series:
            if curve.series:
                raise WorkbookError("curves.no_loss", path=curve.shown, known=sorted(curve.series)[:12])
            line, text = curve.unread or (None, None)
            raise WorkbookError("curves.no_numbers", path=curve.shown, line=line, text=text)
    pair = aligned(left.series[LOSS], right.series[LOSS], shift)
    if not len(pair.steps):
        ends = [say.ranges(curve.series[LOSS].last_of_each()[0]) for curve in (left, right)]
        raise WorkbookError("curves.no_common", baseline=ends[0], target=ends[1], baseline_path=left.shown,
                            target_path=right.shown)  # fmt: skip
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


def _before_update(left: Curve, right: Curve, pair: Aligned) -> bool:
    """The first value of both logs, at step 0 or 1: nothing was learnt before it."""
    begin = [min(curve.series[LOSS].steps) for curve in (left, right)]
    return max(begin) <= 1 and int(pair.steps[0]) == begin[0] and not (left.ordinal or right.ordinal)


def _ended(curve: Curve, followed: str) -> list[Finding]:
    """Our own log says whether its run ended; others do not."""
    if not curve.status or curve.status in COMPLETE:
        return []
    if followed and curve.status == "running":
        return [Finding("ACC251", Status.SKIPPED, "ACC251.running", {"path": curve.shown})]
    return [Finding("ACC251", Status.FAIL, "ACC251.unfinished",
                    {"path": curve.shown, "status": curve.status}, weight=200)]  # fmt: skip


def _headlined(found: list[Finding]) -> list[Finding]:
    """What was not looked at lowers the status of a healthy result, but the result stays the headline."""
    worst = max(one.status for one in found)
    if worst >= Status.WARN:
        return found
    return [replace(one, status=worst) if one.rule == "ACC250" else one for one in found]


def _marked(found: list[Finding]) -> Any:
    return next((one.args.get("step") for one in found if one.rule == "ACC250"), None)


def _facts(
    left: Curve, right: Curve, pair: Aligned, options: Options, by_side: dict[str, Any], followed: str
) -> dict[str, Any]:
    finite = pair.relative[np.isfinite(pair.relative)]
    names = sorted(left.series.keys() & right.series.keys() - {LOSS})
    finals = {name: [(final(curve, name) or (0, None))[1] for curve in (left, right)] for name in (LOSS, *names)}
    norm = aligned(left.series[GRAD_NORM], right.series[GRAD_NORM], options.shift) if GRAD_NORM in names else None
    return {
        "baseline": left.shown, "target": right.shown, "tolerance": options.tolerance,
        "formats": [left.kind, right.kind], "shift": options.shift, "steps_compared": len(pair.steps),
        "mean_relative": float(finite.mean()) if len(finite) else None,
        "worst_relative": float(finite.max()) if len(finite) else None,
        "worst_gradient_norm": str(norm.relative.max()) if norm is not None and len(norm.steps) else None,
        "spikes": {side: None if some is None else [asdict(one) for one in some] for side, some in by_side.items()},
        "loss_scale": [asdict(told) if (told := history(curve)) else None for curve in (left, right)],
        "skipped_steps": [skipped_steps(curve) for curve in (left, right)],
        "final": {name: [None if value is None else value if np.isfinite(value) else str(value) for value in both]
                  for name, both in finals.items()},
        "followed": followed,
        "tiers": [str(left.meta.get("tier", "")), str(right.meta.get("tier", ""))],
        "simulator": together((left.meta, right.meta)),
    }  # fmt: skip
