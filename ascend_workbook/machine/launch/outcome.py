"""From an exit code and the logs left behind to a LaunchResult."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch.result import ChildError, LaunchResult
from ascend_workbook.machine.launch.runlog import RunLog
from ascend_workbook.machine.launch.spec import STANDING_IN, LaunchSpec

TAIL_LINES = 20


def conclude_launch(spec: LaunchSpec, exit_code: int, timed_out: bool, elapsed_s: float) -> LaunchResult:
    """Read the logs and return how the launch ended."""
    logs = _read_logs(spec.out)
    outcome = _judge_outcome(exit_code, timed_out, logs)
    error = _find_error(spec, outcome, logs)
    losses = _log_losses(spec) if spec.loss_regex else ()
    return LaunchResult(
        outcome,
        exit_code,
        spec.out,
        logs,
        elapsed_s,
        error,
        _describe_trouble(spec, outcome, exit_code, logs, error, losses),
        STANDING_IN if spec.transform == "baseline_cpu" else None,
        losses,
    )


def _read_logs(out: Path) -> tuple[RunLog, ...]:
    """Return one log per rank; where the script spawned its ranks itself, theirs rather than the parent's, which has no
    step. Where the script spawned its ranks itself, theirs rather than the parent's, which has no step.
    """
    named = sorted(out.glob("gpulog.rank*.json"), key=_rank_of)
    spawned = sorted(out.glob("gpulog.spawned*.json"), key=_rank_of)
    own = [path for path in (out / "gpulog.json",) if path.is_file()]
    logs = tuple(RunLog.load_log(path) for path in own + named)
    if spawned and not any(log.steps for log in logs):
        return tuple(RunLog.load_log(path) for path in spawned)
    return logs


def _rank_of(path: Path) -> int:
    match = re.search(r"(\d+)\.json$", path.name)
    return int(match.group(1)) if match else 0


def _judge_outcome(exit_code: int, timed_out: bool, logs: tuple[RunLog, ...]) -> str:
    if timed_out:
        return "timeout"
    if exit_code < 0:
        return "killed"
    statuses = {log.status for log in logs}
    if exit_code or not logs or statuses & {"failed", "running"}:
        return "failed"
    return "stopped_after" if "stopped_after" in statuses else "finished"


def _find_error(spec: LaunchSpec, outcome: str, logs: tuple[RunLog, ...]) -> ChildError | None:
    """Return the error a log holds, else the end of the output."""
    for log in logs:
        if log.error is not None:
            logged = log.error
            last_words = _last_words(spec) if logged["type"] == "SystemExit" and spec.nproc == 1 else ""
            message = f"{logged['message']} ({last_words})" if last_words else logged["message"]
            return ChildError(logged["type"], message, logged["path"], logged["line"], tuple(logged["traceback"]))
    if outcome not in ("failed", "killed"):
        return None
    tail = _read_tail(spec)
    return ChildError("", tail[-1].strip() if tail else "", traceback=tail)


def _last_words(spec: LaunchSpec) -> str:
    """Return what a script that ends itself said before, such as argparse of an option it does not know."""
    return next((line.strip() for line in reversed(_read_tail(spec)) if line.strip()), "")


def _read_tail(spec: LaunchSpec) -> tuple[str, ...]:
    text = (spec.out / "output.log").read_text(encoding="utf-8", errors="replace")
    return tuple(text.splitlines()[-TAIL_LINES:])


def _describe_trouble(
    spec: LaunchSpec,
    outcome: str,
    exit_code: int,
    logs: tuple[RunLog, ...],
    error: ChildError | None,
    losses: tuple[float, ...],
) -> Sentence | None:
    """Return the first thing that went wrong, as a sentence."""
    done = len(logs[0].steps) if logs else 0
    if outcome == "timeout":
        return Sentence("launch.timeout", seconds=spec.timeout_s, steps=done)
    if outcome == "killed":
        return Sentence("launch.killed", signal=signal.Signals(-exit_code).name, steps=done)
    if outcome == "failed":
        assert error is not None
        place = f"{error.path}:{error.line}" if error.path else ""
        message = ": ".join(filter(None, (error.type, error.message)))
        key, why = _explain_known(spec, error)
        return Sentence(key, error=message, place=place, code=exit_code, steps=done, **why)
    if spec.loss_regex and not losses:
        return Sentence("launch.no_match", regex=spec.loss_regex)
    if not done and not losses:
        return Sentence("launch.no_steps")
    return None


def _explain_known(spec: LaunchSpec, error: ChildError) -> tuple[str, dict[str, Scalar]]:
    """Return the sentence's key, and cause and cure of a known failure. Without a Python error the output's end is
    read.
    """
    text = f"{error.type}: {error.message}" if error.type else "\n".join(error.traceback)
    explained = explain_text(text, spec.out / "output.log")
    return (
        ("launch.failed_known", {"cause": explained.cause, "fix": explained.fix})
        if explained
        else ("launch.failed", {})
    )


def _log_losses(spec: LaunchSpec) -> tuple[float, ...]:
    """Return what the regex finds in the output, in order; with a group `step` in the order of the steps."""
    pattern = re.compile(spec.loss_regex or "")
    text = (spec.out / "output.log").read_text(encoding="utf-8", errors="replace")
    group = "loss" if "loss" in pattern.groupindex else 1
    losses: dict[int, float] = {}
    for number, match in enumerate(pattern.finditer(text)):
        try:
            step = int(match.group("step")) if "step" in pattern.groupindex else number
            losses[step] = float(match.group(group))
        except (ValueError, TypeError) as error:  # TypeError: a group that may be left out was
            raise WorkbookError("launch.bad_regex", regex=spec.loss_regex, why=str(error)) from error
    return tuple(loss for _, loss in sorted(losses.items()))
