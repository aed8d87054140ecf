"""Starts the child, follows it, and makes of its exit code and the logs it left a LaunchResult."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded, sandbox
from ascend_workbook.machine.launch.result import ChildError, LaunchResult, Progress, RunLog
from ascend_workbook.machine.launch.spec import STANDING_IN, LaunchSpec
from ascend_workbook.machine.sandbox import Account
from ascend_workbook.redaction.exits import redact, redact_file
from ascend_workbook.storage.local import name_in_errors
from ascend_workbook.storage.names import mark_user_output, read_user_output

# One child process group: started, followed through its output file, ended whole.

GRACE_S = 5.0
#: An enclosed child lists what its script did, for ten seconds at most, before it ends.
ENCLOSED_GRACE_S = 15.0


#: Name of the mark that all processes of one launch have in their environment
MARK = "ASCEND_WORKBOOK_LAUNCH"
#: Outlives a launcher that is killed, whatever kills it, for then its standard input ends, and ends what that left: the
#: script's own processes too, in whatever group or session they are. $1 is the mark with its value, $2 seconds that an
#: enclosure has to end by itself, for it then removes its layers, $3 a folder whose links go then, or nothing.
GUARD = """read ended && exit
sleep "$2"
for round in 1 2 3 4 5 6; do
  for place in $(grep -ls "$1" /proc/[0-9]*/environ); do
    process=${place%/environ}
    kill -KILL "${process#/proc/}"
  done
  sleep 0.5
done
[ -z "$3" ] || find "$3" -type l -exec rm -f {} +"""


class Child:
    """The child writes straight into the file: what it said is there even if this process dies."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | None,
        output: Path,
        grace_s: float = GRACE_S,
        mirror: Path | None = None,
    ) -> None:
        self._grace_s = grace_s
        output.unlink(missing_ok=True)  # an earlier script may have left a link there
        launch_mark = uuid.uuid4().hex
        self._guard = subprocess.Popen(
            (
                *("/bin/sh", "-c", GUARD, "guard", f"{MARK}={launch_mark}", "0" if grace_s == GRACE_S else "5"),
                "" if mirror is None else str(mirror.absolute()),
            ),
            env={"PATH": os.defpath},  # without the mark of a launch around this one
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        mark = mark_user_output()
        with name_in_errors(output), output.open("xb") as sink:
            sink.write(mark)
            sink.flush()
            self._process = subprocess.Popen(
                command,
                env={**env, MARK: launch_mark},
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # its own group, so that workers and ranks end with it
            )
        self._tail = output.open("rb")
        self._tail.seek(len(mark))
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._rest = ""

    def wait_for_end(self, seconds: float) -> bool:
        """Wait for the child and return whether it has ended."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def exit_code(self) -> int:
        """Return the exit code; a negative one is the signal that ended it."""
        return self._process.wait()

    def new_lines(self, *, last: bool = False) -> tuple[str, ...]:
        """Return whole lines written since the last call; progress bars end theirs with a carriage return."""
        text = self._rest + self._decode(self._tail.read())
        *lines, self._rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if last:
            self._tail.close()
            lines.append(self._rest)
        return tuple(line for line in lines if line)

    def release_guard(self) -> None:
        """Let the guard go: what the script leaves now, it leaves on purpose."""
        self._guard.communicate(b"ended\n")

    def end_group(self) -> None:
        """Ask the whole process group to end, then make it, with what it started in groups of their own."""
        self._send_signal(signal.SIGTERM)
        below = bounded.find_descendants(self._process.pid)
        if not self.wait_for_end(self._grace_s):
            below.update(bounded.find_descendants(self._process.pid))
            self._send_signal(signal.SIGKILL)
            self.wait_for_end(GRACE_S)
        self._send_signal(signal.SIGKILL)  # workers that outlived their parent
        bounded.kill_same(below)
        self._tail.close()

    def _send_signal(self, sign: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # all gone
            os.killpg(self._process.pid, sign)


# From an exit code and the logs left behind to a LaunchResult.

LAST_WORDS = 200
#: A line of a library, not of the script: a warning, and the line of code that Python shows below one.
WARNING = re.compile(r"Warning\b|^\[W\d|^\s*warnings\.warn\(|\[WARN(ING)?\]")
TAIL_LINES = 20


def conclude_launch(
    spec: LaunchSpec, exit_code: int, timed_out: bool, elapsed_s: float, account: Account | None = None
) -> LaunchResult:
    """Read the logs and return how the launch ended."""
    own = [*spec.out.glob("gpulog.json"), *sorted(spec.out.glob("gpulog.rank*.json"), key=_rank_of)]
    logs = tuple(map(RunLog.load_log, own))
    if not any(log.steps_done for log in logs):  # ranks that the script spawned itself, where the parent has no step
        spawned = sorted(spec.out.glob("gpulog.spawned*.json"), key=_rank_of)
        logs = tuple(map(RunLog.load_log, spawned)) or logs
    exit_code = _find_signal(spec, exit_code)
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
        _describe_trouble(spec, outcome, exit_code, logs, error, losses, account),
        STANDING_IN if spec.transform == "baseline_cpu" else None,
        losses,
        account,
    )


def _rank_of(path: Path) -> int:
    match = re.search(r"(\d+)\.json$", path.name)
    return int(match[1]) if match else 0


#: What torchrun says of the first of its ranks that ended
RANK_ENDED = re.compile(r"\bfailed \(exitcode: (-\d+)\) local_rank: \d+ ")


def _find_signal(spec: LaunchSpec, exit_code: int) -> int:
    """Return the exit code, or of the rank that ended first, where a signal ended it: what the others say behind that,
    as of a peer that is gone, is no cause."""
    if spec.nproc == 1 or exit_code <= 0:
        return exit_code
    first = RANK_ENDED.search(read_user_output(spec.out / "output.log"))
    return int(first[1]) if first else exit_code


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
    logged = next((log.error for log in logs if log.error is not None), None)
    if logged is None and outcome not in ("failed", "killed"):
        return None
    tail = tuple(read_user_output(spec.out / "output.log").splitlines()[-TAIL_LINES:])
    if logged is None:
        return ChildError("", tail[-1].strip() if tail else "", traceback=tail)
    message = logged["message"]
    if logged["type"] == "SystemExit" and spec.nproc == 1 and any(map(str.strip, tail)):
        # what the script said before it ended itself, such as argparse of an option it does not know
        message += f" ({[line.strip() for line in tail if line.strip()][-1]})"
    return ChildError(logged["type"], message, logged["path"], logged["line"], tuple(logged["traceback"]))


def _describe_trouble(
    spec: LaunchSpec,
    outcome: str,
    exit_code: int,
    logs: tuple[RunLog, ...],
    error: ChildError | None,
    losses: tuple[float, ...],
    account: Account | None,
) -> Sentence | None:
    """Return the first thing that went wrong, as a sentence; before all which of its enclosure's limits ended it."""
    done = logs[0].steps_done if logs else 0
    if account is not None and account.cut in ("cpu", "disk", "memory", "processes", "time"):
        return Sentence(f"launch.cut_{account.cut}", steps=done)
    if outcome == "timeout":
        return Sentence("launch.timeout", seconds=spec.timeout_s, steps=done)
    if outcome == "killed":
        return Sentence("launch.killed", signal=signal.Signals(-exit_code).name, steps=done)
    if outcome == "failed":
        assert error is not None
        place = f"{error.path}:{error.line}" if error.path else ""
        message = ": ".join(filter(None, (error.type, error.message)))
        # without a Python error the output's end is read
        text = f"{error.type}: {error.message}" if error.type else "\n".join(error.traceback)
        known = explain_text(text, spec.out / "output.log")
        args: dict[str, Scalar] = {"error": message, "place": place, "code": exit_code, "steps": done}
        if known:
            return Sentence("launch.failed_known", **args, cause=known.cause, fix=known.fix)
        return Sentence("launch.failed", **args)
    if spec.loss_regex and not losses:
        return Sentence("launch.no_match", regex=spec.loss_regex)
    if not done and not losses:
        last_words = find_last_words(read_user_output(spec.out / "output.log"))
        return Sentence("launch.no_steps_said", last=last_words) if last_words else Sentence("launch.no_steps")
    return None


def find_last_words(output: str) -> str:
    """Find the last line of a script's output that is no warning; a long one is cut, after secrets are taken out: what
    is left of one that is cut in two is not known any more."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not WARNING.search(line)]
    return redact(lines[-1])[:LAST_WORDS] if lines else ""


def _log_losses(spec: LaunchSpec) -> tuple[float, ...]:
    """Return what the regex finds in the output, in order; with a group `step` in the order of the steps."""
    pattern = re.compile(spec.loss_regex or "")
    text = read_user_output(spec.out / "output.log")
    group = "loss" if "loss" in pattern.groupindex else 1
    losses: dict[int, float] = {}
    for number, match in enumerate(pattern.finditer(text)):
        try:
            step = int(match.group("step")) if "step" in pattern.groupindex else number
            losses[step] = float(match.group(group))
        except (ValueError, TypeError) as error:  # TypeError: a group that may be left out was
            raise WorkbookError("launch.bad_regex", regex=spec.loss_regex, why=str(error)) from error
    return tuple(loss for _, loss in sorted(losses.items()))


CHILD = Path(__file__).resolve().parent / "child"
POLL_S = 0.1


def launch(spec: LaunchSpec, on_progress: Callable[[Progress], None] | None = None) -> LaunchResult:
    """Run the script to its end, to `spec.steps` or to `spec.timeout_s`, whichever comes first.

    A script that fails is a result (`result.trouble`), not an exception. Raises WorkbookError where the
    launch itself cannot be. KeyboardInterrupt ends the child and is raised on.
    """
    spec.check_fields()
    spec_path = _prepare_folder(spec)
    started = time.monotonic()
    enclosure = spec.enclosure and replace(spec.enclosure, writable=(*spec.enclosure.writable, spec.out))
    with sandbox.enclose(_make_command(spec, spec_path), enclosure, spec.cwd or Path.cwd()) as enclosed:
        grace_s = ENCLOSED_GRACE_S if enclosure else GRACE_S
        child = Child(
            enclosed.command, _make_environment(spec), spec.cwd, spec.out / "output.log", grace_s, spec.mirror
        )
        try:
            timed_out = _follow_child(child, spec, on_progress)
        except BaseException:
            child.end_group()
            raise
        finally:
            child.release_guard()
        exit_code = child.exit_code
        account = enclosed.read_account(ended_early=timed_out)
    return conclude_launch(spec, exit_code, timed_out, time.monotonic() - started, account)


def _prepare_folder(spec: LaunchSpec) -> Path:
    """Make the folder, remove logs of an earlier launch and write launch.json."""
    spec.out.mkdir(parents=True, exist_ok=True)
    for stale in spec.out.glob("gpulog*.json*"):
        stale.unlink()
    path = spec.out.absolute() / "launch.json"
    aside = path.with_name("launch.json.part")
    aside.unlink(missing_ok=True)
    with name_in_errors(aside):
        aside.write_text(redact_file(path.name, json.dumps(spec.for_child(), indent=1)), encoding="utf-8")
    aside.replace(path)
    return path


def _make_command(spec: LaunchSpec, spec_path: Path) -> list[str]:
    observe = [str(CHILD / "observe.py"), str(spec_path), *map(str, spec.args)]
    if spec.nproc == 1:
        return [spec.python, *observe]
    # --standalone: a rendezvous of its own on a free port
    torchrun = [str(CHILD / "torchrun.py"), "--standalone", f"--nproc_per_node={spec.nproc}"]
    return [spec.python, *torchrun, *observe]


def _make_environment(spec: LaunchSpec) -> dict[str, str]:
    env = dict(os.environ if spec.env is None else spec.env)
    env["PYTHONUNBUFFERED"] = "1"  # its output is followed while it runs
    if spec.seed is not None:
        env["PYTHONHASHSEED"] = str(spec.seed % 2**32)
    if spec.deterministic:
        # https://docs.nvidia.com/cuda/cublas/#results-reproducibility
        env.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if spec.transform == "baseline_cpu":
        env["CUDA_VISIBLE_DEVICES"] = ""  # what slips past the stand-in must fail, not find a real GPU
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    return env


def _follow_child(child: Child, spec: LaunchSpec, on_progress: Callable[[Progress], None] | None) -> bool:
    """Wait for the child's end, telling of new lines and steps, and return whether the time ran out."""
    deadline = None if spec.timeout_s is None else time.monotonic() + spec.timeout_s
    reported_step = 0
    while True:
        ended = child.wait_for_end(POLL_S)
        lines = child.new_lines(last=ended)
        step, loss = _read_progress(spec.out)
        if on_progress is not None and (lines or step != reported_step or ended):
            on_progress(Progress(step, spec.steps, loss, lines))
        reported_step = step
        if ended:
            return False
        if deadline is not None and time.monotonic() > deadline:
            child.end_group()
            return True


def _read_progress(out: Path) -> tuple[int, float | None]:
    """Return steps done and the last loss, as far as the child has written them."""
    for path in (out / "gpulog.json", out / "gpulog.spawned0.json"):
        try:
            log = RunLog.load_log(path)
        except WorkbookError:
            continue  # not there yet
        if log.steps_done:
            return log.steps_done, log.steps[-1].loss if log.steps else None
    return 0, None
