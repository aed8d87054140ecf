"""Reads both logs again while a run is going, until it ends, a time is over, or Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, say
from ascend_workbook.precision.curves.aligned import align_series, first_place
from ascend_workbook.precision.curves.readers import Log
from ascend_workbook.precision.curves.series import LOSS, Curve

ENDED, TIMEOUT, IDLE, STOPPED = "ended", "timeout", "idle", "stopped"


@dataclass(frozen=True)
class Follow:
    """Seconds: between two looks, in all (0: without end), and without anything new after which the run counts as
    ended: text logs do not say that they end."""

    every_s: float = 2.0
    timeout_s: float = 0.0
    idle_s: float = 300.0

    def check_times(self) -> None:
        """Raises WorkbookError where a time cannot be."""
        for name, value in (("every_s", self.every_s), ("timeout_s", self.timeout_s), ("idle_s", self.idle_s)):
            if not value >= 0 or (name == "every_s" and not value > 0):
                raise WorkbookError("curves.seconds", name=name, given=value)


def follow_logs(
    places: tuple[Path, Path],
    how: Follow,
    *,
    pattern: str,
    loss: str,
    shift: int,
    tolerance: float,
    tell: Callable[[str], None] | None,
) -> tuple[Curve, Curve, str]:
    """Both curves at the end, and which end it was: the run's (its log says so, or it reached the baseline's last
    step), the time limit, nothing new for a while, or Ctrl-C."""
    how.check_times()
    logs = Log(places[0], pattern), Log(places[1], pattern)
    begun = fresh = time.monotonic()
    outcome, last_step, looks, growing = "", -1, 0, False
    try:
        while not outcome:
            new = [_update_log(log) for log in logs]
            growing |= looks > 0 and new[0]
            looks += new[0]
            if any(new):
                fresh = time.monotonic()
                last_step, ended = _look_at_logs(logs, loss, shift, tolerance, last_step, growing, tell)
                outcome = ENDED if ended else ""
            now = time.monotonic()
            if not outcome and how.timeout_s and now - begun >= how.timeout_s:
                outcome = TIMEOUT
            if not outcome and now - fresh >= how.idle_s:
                outcome = IDLE
            if not outcome:
                time.sleep(how.every_s)
    except KeyboardInterrupt:
        outcome = STOPPED
        logs = Log(places[0], pattern), Log(places[1], pattern)  # one may have been stopped within a piece
    for log in logs:
        log.read_new()  # what came since the last look; here a log that never came is an error
    if tell:
        tell(say(f"curves.followed_{outcome}"))
    return logs[0].make_curve(loss), logs[1].make_curve(loss), outcome


def _update_log(log: Log) -> bool:
    """Whether anything is new; a log that is not there yet, or is being written, may come."""
    try:
        return log.read_new()
    except (WorkbookError, OSError):
        return False


def _look_at_logs(
    logs: tuple[Log, Log],
    loss: str,
    shift: int,
    tolerance: float,
    last_step: int,
    growing: bool,
    tell: Callable[[str], None] | None,
) -> tuple[int, bool]:
    """(last step told, whether the target's run ended). `growing`: the baseline's run goes on, too."""
    try:
        left, right = (log.make_curve(loss, final=False) for log in logs)
    except WorkbookError:  # a JSON document that is being written
        return last_step, False
    if LOSS not in left.series or LOSS not in right.series:
        return last_step, False
    pair = align_series(left.series[LOSS], right.series[LOSS], shift)
    if len(pair.steps) and int(pair.steps[-1]) != last_step:
        last_step = int(pair.steps[-1])
        first = first_place(pair, tolerance)
        key = "curves.following" if first is None else "curves.following_apart"
        numbers = {"baseline": pair.baseline[-1], "target": pair.target[-1], "relative": pair.relative[-1]}
        args: dict[str, Scalar] = {name: float(value) for name, value in numbers.items()}
        if tell:
            tell(say(key, step=last_step, first=None if first is None else int(pair.steps[first]), **args))
    if right.status:
        return last_step, right.status != "running"
    last = [max(curve.series[LOSS].steps) for curve in (left, right)]
    return last_step, not growing and left.status != "running" and last[1] + shift >= last[0]
