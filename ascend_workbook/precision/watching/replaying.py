"""Runs the steps from a kept state to an alarm again, and holds them against the first run.

What comes out the same until the step before proves that the second run is the same training: then an alarm that comes
again is in the script, its data or an operator, and one that does not is of that one run alone."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.device import Device, child_environment
from ascend_workbook.machine.launch import LaunchSpec, Plugin, Progress, launch
from ascend_workbook.machine.launch.enclosed import choose_enclosure
from ascend_workbook.machine.sandbox import Account
from ascend_workbook.precision.capturing.written import check_ran
from ascend_workbook.precision.child.watch_rules import Rules
from ascend_workbook.precision.watching.reading import FILE, Watched, read_watched

PLUGIN = Path(__file__).parents[1] / "child" / "watch_replay.py"
#: What the second run says of the alarm.
AGAIN, NOT_AGAIN, PARTED, OTHER, UNPROVEN = "again", "not_again", "parted", "other", "unproven"
#: The same loss and gradient: an accelerator may sum in another order; another batch is further away than that.
LOSS_CLOSE, GRADIENTS_CLOSE = 1e-2, 5e-2
#: Parameters that a parting names.
SHOWN = 4


@dataclass(frozen=True)
class Script:
    """How the watched script is started, as it was."""

    path: Path
    args: tuple[str, ...]
    cwd: Path | None
    python: str
    timeout_s: float | None


@dataclass(frozen=True)
class Verdict:
    """`compared` steps before the alarm came out the same; `parted` is the first that did not (0: none), with the
    parameters whose gradients are furthest away."""

    outcome: str
    step: int
    compared: int
    parted: int = 0
    names: tuple[str, ...] = ()


def make_replay(
    state: Path, watch: Mapping[str, int] | None = None, *, save: Path | None = None, save_at: int = 0
) -> Plugin:
    """Make the plugin that brings a run to a state."""
    config: dict[str, object] = {"state": str(state.absolute()), "watch": dict(watch or {}), "skips": True}
    return Plugin(PLUGIN, {**config, "save": str(save.absolute()) if save else "", "save_at": save_at})


def run_again(
    script: Script, plugin: Plugin, folder: Path, attempts: int, device: Device, tell: Callable[[Progress], None] | None
) -> tuple[Watched, dict[str, Any], Account | None]:
    """Run a script again from a state, enclosed, until so many attempts at an update are over; what was watched, what
    the plugin tells, and what it tried outside. A finished one in `folder` is taken as it is.

    Raises WorkbookError where it fails before it is watched."""
    summary = folder / "replay.rank0.json"
    account = None
    if not (summary.is_file() and (folder / FILE).is_file() and read_watched(folder / FILE).end):
        folder.mkdir(parents=True, exist_ok=True)
        for stale in (summary, folder / FILE):
            stale.unlink(missing_ok=True)
        spec = LaunchSpec(folder, script.path, args=script.args, cwd=script.cwd, python=script.python)
        spec = replace(spec, env=child_environment(device.tier), steps=attempts, timeout_s=script.timeout_s).on(device)
        enclosure = choose_enclosure(device, python=script.python)
        spec = replace(spec, grad_norm=False, counts_only=True, plugins=[plugin], enclosure=enclosure)
        result = launch(spec, tell)
        account = result.account
        if not summary.is_file():
            check_ran(result, device.tier)
            raise WorkbookError("watch.not_reached", path=str(result.output_path))
    about = json.loads(summary.read_text(encoding="utf-8"))
    if not about["started"]:
        raise WorkbookError("watch.not_reached", path=str(folder / "output.log"))
    return read_watched(folder / FILE), about, account


def hold_against(first: Watched, again: Watched, alarm: Mapping[str, Any]) -> Verdict:
    """Say whether the alarm came again, and whether the steps before it prove that the second run is the same."""
    step = int(alarm["step"])
    steps_again = {int(record["step"]): record for record in again.records}
    rules, compared, parted = Rules(first.names, first.sizes), 0, 0
    names: tuple[str, ...] = ()
    for record in first.records:
        at = int(record["step"])
        if at >= step:
            break
        rules.see(record)
        if at in steps_again and not parted:
            if is_same_step(record, steps_again[at]):
                compared += 1
            else:
                parted, names = at, find_furthest(record, steps_again[at], first.names)
    if step not in steps_again or again.names != first.names:
        return Verdict(UNPROVEN, step, compared, parted, names)
    if any(other["key"] == alarm["key"] for other in rules.see(steps_again[step])):
        return Verdict(AGAIN, step, compared, parted, names)
    if parted:
        return Verdict(PARTED if compared else OTHER, step, compared, parted, names)
    return Verdict(NOT_AGAIN if compared else UNPROVEN, step, compared)


def is_reproduced(left: Watched, right: Watched, until: int) -> bool:
    """Return whether two runs from one state came out the same, step by step."""
    others = {int(record["step"]): record for record in right.records}
    pairs = [(record, others.get(int(record["step"]))) for record in left.records if int(record["step"]) <= until]
    return bool(pairs) and all(other is not None and is_same_step(record, other) for record, other in pairs)


def is_same_step(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Return whether two records are of one step: its loss, and most of its gradients' norms."""
    losses = [left.get("loss"), right.get("loss")]
    if None not in losses and _distance(*losses) > LOSS_CLOSE:
        return False
    apart = [distance for _, distance in _list_distances(left, right)]
    return not apart or statistics.median(apart) <= GRADIENTS_CLOSE


def find_furthest(left: Mapping[str, Any], right: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Name the parameters whose gradients are furthest apart."""
    ranked = sorted(_list_distances(left, right), key=lambda pair: -pair[1])
    return tuple(names[place] for place, distance in ranked[:SHOWN] if distance > GRADIENTS_CLOSE)


def _list_distances(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[tuple[int, float]]:
    pairs = zip(left.get("gradients") or (), right.get("gradients") or ())
    return [
        (
            place,
            0.0 if mine is None and other is None else math.inf if None in (mine, other) else _distance(mine, other),
        )
        for place, (mine, other) in enumerate(pairs)
    ]


def _distance(mine: Any, others: Any) -> float:
    """The relative distance; none of two numbers that are equally not finite."""
    left, right = float(mine), float(others)
    if not (math.isfinite(left) and math.isfinite(right)):
        return 0.0 if str(left) == str(right) else math.inf
    return abs(left - right) / max(abs(left), abs(right), 1e-12)
