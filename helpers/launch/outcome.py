"""From an exit code and the logs left behind to a LaunchResult."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from helpers.diagnosis import explanation
from helpers.errors import WorkbookError
from helpers.launch.result import ChildError, LaunchResult
from helpers.launch.runlog import RunLog
from helpers.launch.spec import STANDING_IN, LaunchSpec
from helpers.words import Scalar

TAIL_LINES = 20


def conclude(spec: LaunchSpec, exit_code: int, timed_out: bool, elapsed_s: float) -> LaunchResult:
    """Reads the logs and says how it ended."""
    logs = _logs(spec.out)
    outcome = _outcome(exit_code, timed_out, logs)
    error = _error(spec, outcome, logs)
    losses = _log_losses(spec) if spec.loss_regex else ()
    return LaunchResult(
        outcome,
        exit_code,
        spec.out,
        logs,
        elapsed_s,
        error,
        _trouble(spec, outcome, exit_code, logs, error, losses),
        STANDING_IN if spec.transform == "baseline_cpu" else None,
        losses,
    )


def _logs(out: Path) -> tuple[RunLog, ...]:
    """One per rank. Where the script spawned its ranks itself, theirs rather than the parent's, which has no step."""
    named = sorted(out.glob("gpulog.rank*.json"), key=_rank)
    spawned = sorted(out.glob("gpulog.spawned*.json"), key=_rank)
    own = [path for path in (out / "gpulog.json",) if path.is_file()]
    logs = tuple(RunLog.load(path) for path in own + named)
    if spawned and not any(log.steps for log in logs):
        return tuple(RunLog.load(path) for path in spawned)
    return logs


def _rank(path: Path) -> int:
    found = re.search(r"(\d+)\.json$", path.name)
    return int(found.group(1)) if found else 0


def _outcome(exit_code: int, timed_out: bool, logs: tuple[RunLog, ...]) -> str:
    if timed_out:
        return "timeout"
    if exit_code < 0:
        return "killed"
    statuses = {log.status for log in logs}
    if exit_code or not logs or statuses & {"failed", "running"}:
        return "failed"
    return "stopped_after" if "stopped_after" in statuses else "finished"


def _error(spec: LaunchSpec, outcome: str, logs: tuple[RunLog, ...]) -> ChildError | None:
    """The error a log kept, else the end of the output."""
    for log in logs:
        if log.error is not None:
            kept = log.error
            said = _last_words(spec) if kept["type"] == "SystemExit" and spec.nproc == 1 else ""
            message = f"{kept['message']} ({said})" if said else kept["message"]
            return ChildError(kept["type"], message, kept["path"], kept["line"], tuple(kept["traceback"]))
    if outcome not in ("failed", "killed"):
        return None
    tail = _tail(spec)
    return ChildError("", tail[-1].strip() if tail else "", traceback=tail)


def _last_words(spec: LaunchSpec) -> str:
    """What a script that ends itself said before, such as argparse of an option it does not know."""
    return next((line.strip() for line in reversed(_tail(spec)) if line.strip()), "")


def _tail(spec: LaunchSpec) -> tuple[str, ...]:
    text = (spec.out / "output.log").read_text(encoding="utf-8", errors="replace")
    return tuple(text.splitlines()[-TAIL_LINES:])


def _trouble(
    spec: LaunchSpec,
    outcome: str,
    exit_code: int,
    logs: tuple[RunLog, ...],
    error: ChildError | None,
    losses: tuple[float, ...],
) -> dict[str, Scalar] | None:
    """The first thing that went wrong, as a sentence."""
    done = len(logs[0].steps) if logs else 0
    if outcome == "timeout":
        return _sentence("launch.timeout", seconds=spec.timeout_s, steps=done)
    if outcome == "killed":
        return _sentence("launch.killed", signal=signal.Signals(-exit_code).name, steps=done)
    if outcome == "failed":
        assert error is not None
        place = f"{error.path}:{error.line}" if error.path else ""
        message = ": ".join(filter(None, (error.type, error.message)))
        key, why = _known(spec, error)
        return _sentence(key, error=message, place=place, code=exit_code, steps=done, **why)
    if spec.loss_regex and not losses:
        return _sentence("launch.no_match", regex=spec.loss_regex)
    if not done and not losses:
        return _sentence("launch.no_steps")
    return None


def _known(spec: LaunchSpec, error: ChildError) -> tuple[str, dict[str, Scalar]]:
    """The sentence's key, and cause and cure of a known failure. Without a Python error the output's end is read."""
    text = f"{error.type}: {error.message}" if error.type else "\n".join(error.traceback)
    found = explanation(text, spec.out / "output.log")
    return ("launch.failed_known", {"cause": found.cause, "fix": found.fix}) if found else ("launch.failed", {})


def _sentence(key: str, **args: Scalar) -> dict[str, Scalar]:
    return {"say": key, "args": args}


def _log_losses(spec: LaunchSpec) -> tuple[float, ...]:
    """What the regex finds in the output, in order; with a group `step` in the order of the steps."""
    pattern = re.compile(spec.loss_regex or "")
    text = (spec.out / "output.log").read_text(encoding="utf-8", errors="replace")
    group = "loss" if "loss" in pattern.groupindex else 1
    found: dict[int, float] = {}
    for number, match in enumerate(pattern.finditer(text)):
        try:
            step = int(match.group("step")) if "step" in pattern.groupindex else number
            found[step] = float(match.group(group))
        except (ValueError, TypeError) as error:  # TypeError: a group that may be left out was
            raise WorkbookError("launch.bad_regex", regex=spec.loss_regex, why=str(error)) from error
    return tuple(loss for _, loss in sorted(found.items()))
