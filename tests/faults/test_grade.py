"""`course grade` is killed while a submission runs, is judged or is written down: nobody is left, no row is half."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.course.test_grading import CHECK, handed_in, rows, solved
from tests.faults.points import end_processes, expand, wait_for_processes

#: What lives on unless somebody ends it: a program, and a cell that waits for a file beside the teacher's folder.
LASTING = """
import pathlib, subprocess, time
subprocess.Popen(["sleep", "300"], start_new_session=True)
pathlib.Path(run_dir + ".started").touch()
end = time.monotonic() + 100
while not pathlib.Path({go!r}).exists() and time.monotonic() < end:
    time.sleep(0.1)
"""
#: Moments: the file that is there then, below the work's folder, and the seconds after it.
MOMENTS = {
    "the trial of another user": ("trial/.enclosure-*/enclosure.json", 0.0),
    "an enclosure is asked for": ("ann*/.enclosure-*/enclosure.json", 0.0),
    "and is about to be made": ("ann*/.enclosure-*/enclosure.json", 0.02),
    "Python starts": ("ann*/home/plan.json", 0.5),
    "a cell runs": ("ann*/home/run.started", 0.3),
    "a judge is asked for": ("ann*/judging/plan.json", 0.02),
    "a judge judges": ("ann*/judging/plan.json", 0.6),
    "a grade is written": ("ann*/grade.json", 0.0),
    "the second one runs": ("bob*/home/run.started", 0.0),
}
#: Moments that come once the first one's cells have ended.
LATER = ("a judge is asked for", "a judge judges", "a grade is written", "the second one runs")


@pytest.mark.full
@pytest.mark.parametrize("ends", [os.kill, os.killpg], ids=["process", "group"])
@pytest.mark.parametrize("moment", MOMENTS, ids=[name.replace(" ", "-") for name in MOMENTS])
def test_killed(tmp_path: Path, moment: str, ends: Callable[[int, int], None]) -> None:
    for name in ("ann", "bob"):
        lasting = LASTING.format(go=str(tmp_path / f"go-{name}"))
        handed_in(tmp_path / "in", f"{name}.ipynb", solved(name), lasting, CHECK)
    words = expand(("ascend-workbook", "course", "grade", "{here}/in", "--out", "{here}/grades.csv"), tmp_path)
    pattern, delay = MOMENTS[moment]
    if moment in LATER:
        (tmp_path / "go-ann").touch()
    try:
        with subprocess.Popen(
            words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as process:
            end = time.monotonic() + 120
            while not list((tmp_path / "grades.csv.work").glob(pattern)):
                assert process.poll() is None and time.monotonic() < end, "the moment never came"
                time.sleep(0.002)
            time.sleep(delay)
            ends(process.pid, signal.SIGKILL)
            assert process.wait(10) == -signal.SIGKILL
        assert wait_for_processes(tmp_path) == ()
    finally:
        end_processes(tmp_path)
    check_no_half_table(tmp_path)
    for name in ("ann", "bob"):
        (tmp_path / f"go-{name}").touch()
    again = subprocess.run(words, cwd=ROOT, capture_output=True, timeout=200, check=False)
    assert again.returncode == 0, again.stderr
    assert {name: row["env_points"] for name, row in rows(tmp_path / "grades.csv").items()} == BOTH
    assert not list(tmp_path.glob("**/.enclosure-*")), "what a killed run left stays for ever"


BOTH = {"ann.ipynb": "1", "bob.ipynb": "1"}


def check_no_half_table(here: Path) -> None:
    """Who has a row was graded, and who has a grade was judged: rightly."""
    table = rows(here / "grades.csv") if (here / "grades.csv").exists() else {}
    assert all((row["env_points"], row["error"]) == ("1", "") for row in table.values())
    for path in here.glob("grades.csv.work/*/grade.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["status"]["env"] == "done"
