"""How a run can end, and what is kept of it. About 50 seconds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say, show
from ascend_workbook.machine.launch import LaunchSpec, Plugin, RunLog, launch
from ascend_workbook.machine.launch.launch import LAST_WORDS, conclude_launch, find_last_words
from ascend_workbook.storage.names import read_user_output
from tests.machine.launch.running import SCRIPTS, output, recorder, run, told


def test_a_crash_keeps_the_error_and_the_place(tmp_path: Path) -> None:
    result = run(tmp_path, "crash.py", steps=4)
    assert result.outcome == "failed" and result.exit_code == 1 and not result.ok
    assert len(result.steps) == 2
    error = result.error
    assert error is not None and error.type == "RuntimeError" and "shapes cannot be multiplied" in error.message
    assert error.path is not None and (Path(error.path).name, error.line) == ("crash.py", 8)
    assert "crash.py" in output(result) and "_workbook_child" not in output(result)
    assert "launch/child" not in output(result), "the launcher's own frames are not the user's"
    assert result.trouble is not None
    for lang in ("en", "zh"):
        assert "crash.py:8" in say(str(result.trouble["say"]), lang, **result.trouble["args"])  # type: ignore[arg-type]


def test_a_killed_run_is_incomplete(tmp_path: Path) -> None:
    result = run(tmp_path, "dies.py")
    assert result.outcome == "killed" and result.exit_code == -9 and not result.ok
    assert result.trouble is not None and result.trouble["args"]["signal"] == "SIGKILL"  # type: ignore[index, call-overload]
    log = RunLog.load_log(tmp_path / "gpulog.json")
    assert log.status == "running" and not log.complete


def test_a_rank_that_a_signal_ended_is_told_of_before_what_its_peers_say(tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text(
        "import os, signal, time\n"
        "if os.environ['RANK'] == '1':\n    time.sleep(1)\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
        "time.sleep(3)\n"
    )
    result = run(tmp_path / "out", script, nproc=2)
    assert (result.outcome, result.exit_code) == ("killed", -11) and not result.ok
    assert result.trouble is not None and result.trouble["args"]["signal"] == "SIGSEGV"  # type: ignore[index, call-overload]


def test_time_runs_out(tmp_path: Path) -> None:
    script = tmp_path / "sleeps.py"
    script.write_text("import subprocess, sys, time\nsubprocess.Popen(['sleep', '60'])\nprint('on')\ntime.sleep(60)\n")
    started = time.monotonic()
    result = run(tmp_path / "out", script, timeout_s=8)
    assert result.outcome == "timeout" and time.monotonic() - started < 30
    assert result.trouble is not None and result.trouble["say"] == "launch.timeout"
    assert not result.logs[0].complete


@pytest.mark.parametrize(
    ("args", "code", "outcome"),
    [((), 0, "finished"), (("0",), 0, "finished"), (("7",), 7, "failed"), (("a message",), 1, "failed")],
)
def test_exit_codes_are_the_scripts(tmp_path: Path, args: tuple[str, ...], code: int, outcome: str) -> None:
    result = run(tmp_path, "no_steps.py", *args)
    assert (result.exit_code, result.outcome) == (code, outcome)
    assert not result.ok, "no optimizer step is never good"
    assert result.trouble is not None
    assert result.trouble["say"] == ("launch.no_steps_said" if outcome == "finished" else "launch.failed")
    if outcome == "finished":
        assert "torch.Size([1, 1])" in str(result.trouble["args"]["last"])
    if args == ("a message",):
        assert "a message" in output(result)
    if args == ("7",):
        assert "torch.Size([1, 1])" in str(result.trouble["args"]), "its last words stand beside the bare number"


def test_last_words_are_the_scripts_and_hold_no_part_of_a_secret() -> None:
    long = "x" * (LAST_WORDS - 30)
    output = f"first\n{long} https://user:Sup3rS3cretPassw0rd@example.com/models\n"
    warned = "[W1128 NPUCachingAllocator.cpp:1] Warning: no\n/x/y.py:3: UserWarning: old\n  warnings.warn('old')\n"
    assert find_last_words(output + warned).startswith(long) and "Sup3r" not in find_last_words(output + warned)
    assert find_last_words("done  \n\n") == "done" and find_last_words(warned) == ""


def test_a_known_failure_is_explained(tmp_path: Path) -> None:
    """Cause and cure stand in the sentence that every verb shows; another failure keeps its plain one."""
    script = tmp_path / "fails.py"
    script.write_text("import sys\nraise RuntimeError(sys.argv[1])\n")
    known = run(tmp_path / "known", script, "NPU out of memory. Tried to allocate 2.00 GiB")
    assert known.trouble is not None and known.trouble["say"] == "launch.failed_known"
    for lang, cause in (("en", "Cause: The NPU's memory"), ("zh", "原因：NPU 显存")):
        assert cause in show(known.trouble, lang) and "npu-smi info" in show(known.trouble, lang)
    other = run(tmp_path / "other", script, "all mine")
    assert other.trouble is not None and other.trouble["say"] == "launch.failed"


def test_the_stop_unwinds_the_script(tmp_path: Path) -> None:
    result = run(tmp_path, "cleanup.py", steps=3)
    assert result.outcome == "stopped_after" and len(result.steps) == 3
    assert (tmp_path / "work" / "tidy.txt").read_text() == "2"
    assert "an Exception" not in output(result)


def test_a_script_that_swallows_the_stop_is_ended(tmp_path: Path) -> None:
    result = run(tmp_path, "cleanup.py", "stubborn", steps=3)
    assert result.outcome == "stopped_after" and len(result.steps) == 3
    assert result.logs[0].notes[0]["code"] == "stop_ignored"


def test_loader_workers_end_with_the_run(tmp_path: Path) -> None:
    result = run(tmp_path, "workers.py", steps=3)
    assert result.outcome == "stopped_after"
    assert len(list(tmp_path.glob("gpulog*.json"))) == 1, "forked workers are not observed"
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and "workers.py" in _command(pid)]  # noqa: PTH208
    assert not left


def _command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") + os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115
    except OSError:
        return ""


def test_plugins_hear_everything_in_order(tmp_path: Path) -> None:
    plugin, path = recorder(tmp_path)
    run(tmp_path, "scaled.py", transform="baseline_cpu", steps=3, plugins=[plugin])
    forward = ["forward", "Linear"]
    assert told(path) == [
        ["model", "Linear", 0],
        forward,
        ["step", 1, True, True],
        forward,
        ["step", 2, True, True],
        forward,
        ["skip"],
        forward,
        ["step", 3, True, True],
        ["end", "stopped_after"],
    ]


def test_a_failing_plugin_fails_the_run(tmp_path: Path) -> None:
    plugin, path = recorder(tmp_path, fail_at=2)
    result = run(tmp_path, "plain.py", plugins=[plugin])
    assert result.outcome == "failed" and result.error is not None and result.error.message == "the plugin gave up"
    assert told(path)[-1] == ["end", "failed"]


def test_progress_tells_lines_and_steps(tmp_path: Path) -> None:
    heard = []
    spec = LaunchSpec(out=tmp_path, script=SCRIPTS / "plain.py", args=["4"], steps=9)
    launch(spec, heard.append)
    lines = [line for progress in heard for line in progress.lines]
    assert lines == read_user_output(tmp_path / "output.log").splitlines()
    assert heard[-1].step == 4 and heard[-1].steps == 9 and heard[-1].loss is not None


def test_an_earlier_log_is_never_taken_for_this_run(tmp_path: Path) -> None:
    run(tmp_path, "plain.py")
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n")
    result = run(tmp_path, broken)
    assert result.outcome == "failed" and result.steps == ()
    assert result.error is not None and result.error.type == "SyntaxError"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"script": Path("nowhere.py")}, "launch.script_missing"),
        ({"module": "json"}, "launch.one_target"),
        ({"script": None}, "launch.one_target"),
        ({"python": "/no/python"}, "launch.python_missing"),
        ({"transform": "magic"}, "launch.transform_unknown"),
        ({"transform": "baseline_cpu", "tier": "npu"}, "launch.baseline_tier"),
        ({"steps": 0}, "launch.not_positive"),
        ({"loss_regex": "("}, "launch.bad_regex"),
        ({"loss_regex": "loss"}, "launch.bad_regex"),
        ({"plugins": [Plugin(Path("none.py"))]}, "launch.plugin_missing"),
        ({"cwd": Path("/no/folder")}, "launch.cwd_missing"),
    ],
)
def test_what_cannot_be_launched(tmp_path: Path, change: dict[str, object], key: str) -> None:
    options: dict[str, object] = {"script": SCRIPTS / "plain.py", "out": tmp_path / "out", **change}
    with pytest.raises(WorkbookError) as caught:
        launch(LaunchSpec(**options))  # type: ignore[arg-type]
    assert caught.value.key == key
    assert caught.value.message("en") and caught.value.message("zh")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("regex", [r"loss:\s*(?P<loss>[\d.]+)?", r"step (?P<step>\w+) loss: (?P<loss>[\d.]+)"])
def test_a_loss_that_is_no_number_is_told_with_the_regex(tmp_path: Path, regex: str) -> None:
    (tmp_path / "output.log").write_text("step x loss: 1.5\nloss: \n")
    with pytest.raises(WorkbookError) as caught:
        conclude_launch(LaunchSpec(out=tmp_path, script=SCRIPTS / "plain.py", loss_regex=regex), 0, False, 1.0)
    assert caught.value.key == "launch.bad_regex" and regex in caught.value.message("zh")


@pytest.mark.parametrize("content", ["", "[]", '{"schema": "other/1"}', '{"schema": "ascend-workbook/gpulog/1"}'])
def test_an_unreadable_log(tmp_path: Path, content: str) -> None:
    (tmp_path / "gpulog.json").write_text(content)
    with pytest.raises(WorkbookError) as caught:
        RunLog.load_log(tmp_path / "gpulog.json")
    assert caught.value.key == "launch.log_unreadable" and "gpulog.json" in caught.value.message("en")


STARTER = """
import sys
from pathlib import Path
from ascend_workbook.machine.launch import LaunchSpec, launch
from ascend_workbook.machine.sandbox import Enclosure
script, out = map(Path, sys.argv[1:3])
enclosure = Enclosure(()) if sys.argv[3] == "enclosed" else None
launch(LaunchSpec(out=out, script=script, mirror=out.parent / "mirror", enclosure=enclosure))
"""
DAEMONS = """
import os, signal, subprocess, sys, time
from pathlib import Path
for options in ({}, {"start_new_session": True}):
    subprocess.Popen(["sleep", "1" + MARK], **options)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execvp("sleep", ["sleep", "3" + MARK])
    os._exit(0)
(Path(OUT) / "started").touch()
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
@pytest.mark.parametrize("how", ["as it is", "enclosed"])
def test_who_is_killed_while_it_launches_leaves_no_process(tmp_path: Path, how: str) -> None:
    mark, script = f"{os.getpid()}.5", tmp_path / "daemons.py"
    out = tmp_path / "out"
    script.write_text(f"MARK = {mark!r}; OUT = {str(out)!r}\n" + DAEMONS)
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(script), str(out), how])
    _wait_until((out / "started").exists, 60)
    _wait_until(lambda: _running(mark) == 3, 30)
    (tmp_path / "mirror" / "below").mkdir(parents=True)
    for name, target in (("data", "out"), ("below/file", "daemons.py"), ("nothing", "none")):
        (tmp_path / "mirror" / name).symlink_to(tmp_path / target)
    (tmp_path / "mirror" / "below" / "kept").touch()
    starter.kill()
    starter.wait()
    _wait_until(lambda: not _running(mark), 10)
    _wait_until(lambda: not list(tmp_path.glob(".enclosure-*")), 10)
    _wait_until(lambda: not [path for path in tmp_path.rglob("*") if path.is_symlink()], 10)
    assert script.is_file() and (out / "started").exists() and (tmp_path / "mirror" / "below" / "kept").exists()


def _running(mark: str) -> int:
    lines = subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout.splitlines()
    return sum(f"sleep 1{mark}" in line or f"sleep 3{mark}" in line for line in lines)


def _wait_until(came: Callable[[], object], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not came():
        assert time.monotonic() < deadline
        time.sleep(0.1)
