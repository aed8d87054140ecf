"""The time limit holds whatever the child does; what it said before is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ascend_workbook.machine import bounded
from tests.conftest import ROOT


def test_output_and_code() -> None:
    done = bounded.run_bounded(["sh", "-c", "echo out; echo first >&2; echo last >&2; exit 3"], timeout_s=10)
    assert (done.code, done.stdout, done.timed_out, done.last_error) == (3, "out\n", False, "last")


def test_a_hanging_grandchild_that_holds_the_pipes() -> None:
    began = time.monotonic()
    done = bounded.run_bounded(["sh", "-c", "echo before; sleep 60 & wait"], timeout_s=0.3)
    assert done.timed_out and done.stdout == "before\n"
    assert time.monotonic() - began < 30


def test_a_grandchild_that_left_the_group_cannot_hold_us() -> None:
    """setsid leaves the killed group, as a daemon would, and keeps the pipe open."""
    began = time.monotonic()
    done = bounded.run_bounded(["sh", "-c", "echo before; setsid sleep 20 & wait"], timeout_s=0.3)
    assert done.timed_out and done.stdout == "before\n"
    assert time.monotonic() - began < 15


def test_a_signal_is_a_negative_code() -> None:
    assert bounded.run_bounded(["sh", "-c", "kill -SEGV $$"], timeout_s=10).code == -11


def test_bytes_that_are_no_text() -> None:
    assert bounded.run_bounded(["printf", r"\377ok"], timeout_s=10).stdout.endswith("ok")


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        bounded.run_bounded([str(tmp_path / "nothing")], timeout_s=1)


NESTED = """
import sys
from ascend_workbook.machine import bounded
bounded.run_bounded(["sh", "-c", f"echo $$ > {sys.argv[1]}; exec sleep 60"], timeout_s=60)
"""


def ended(file: Path) -> bool:
    """Whether the process whose id the file holds is no more, or a zombie."""
    for _ in range(100):
        stat = Path(f"/proc/{file.read_text().strip()}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="prctl and /proc are Linux's")
def test_a_nested_child_ends_with_the_outer_one(tmp_path: Path) -> None:
    """Stopped by our limit; and where the outer one is killed from outside."""
    command = [sys.executable, "-c", NESTED]
    assert bounded.run_bounded([*command, str(tmp_path / "limit")], timeout_s=5, cwd=str(ROOT)).timed_out
    assert ended(tmp_path / "limit")
    outer = subprocess.Popen([*command, str(tmp_path / "kill")], cwd=ROOT)
    while not (tmp_path / "kill").exists() or not (tmp_path / "kill").read_text().strip():
        time.sleep(0.05)
    os.kill(outer.pid, signal.SIGKILL)
    outer.wait()
    assert ended(tmp_path / "kill")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_one_that_left_the_session_ends_too(tmp_path: Path) -> None:
    line = f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60' & wait"
    assert bounded.run_bounded(["sh", "-c", line], timeout_s=1).timed_out and ended(tmp_path / "pid")
