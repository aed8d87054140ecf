"""A launcher that is killed leaves nobody: not the script, nor what the script started, in whatever session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ascend_workbook.machine.launch.launch import MARK
from tests.conftest import ROOT

SCRIPT = """
import subprocess, sys, time
from pathlib import Path
here = Path(__file__).parent
children = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=alone)
            for alone in (False, True)]
here.joinpath("started").write_text(" ".join(str(child.pid) for child in children))
{end}
"""
LAUNCH = """
import sys
from pathlib import Path
from ascend_workbook.machine.launch import LaunchSpec, launch
launch(LaunchSpec(out=Path(sys.argv[1], "out"), script=Path(sys.argv[1], "script.py"), transform="none"))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the guard looks into /proc")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait(condition: object, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.05)
    return bool(condition())  # type: ignore[operator]


def start(folder: Path, end: str) -> tuple[subprocess.Popen[bytes], list[int]]:
    (folder / "script.py").write_text(SCRIPT.format(end=end), encoding="utf-8")
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCH, str(folder)], cwd=ROOT, env=os.environ | {MARK: "outer"})
    started = folder / "started"
    assert wait(lambda: started.is_file() and started.read_text().count(" ") == 1, 60)
    return launcher, [int(word) for word in started.read_text().split()]


def test_nobody_is_left_of_a_launch_whose_launcher_was_killed(tmp_path: Path) -> None:
    launcher, children = start(tmp_path, "time.sleep(600)")
    assert all(map(alive, children))
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    assert wait(lambda: not any(map(alive, children)), 10)


def test_what_a_script_leaves_when_it_ends_is_its_own(tmp_path: Path) -> None:
    launcher, children = start(tmp_path, "")
    assert launcher.wait(60) == 0
    time.sleep(1)
    assert all(map(alive, children)), "a service that it started goes on"
    for child in children:
        os.kill(child, signal.SIGKILL)
