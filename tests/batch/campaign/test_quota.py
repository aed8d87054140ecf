"""The bound on disk: dumps of good runs go first, reports never; without any, runs are ended. A full disk is told."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_workbook.batch.campaign import progress
from ascend_workbook.batch.campaign.ended import GOOD, RED, Ended, load_ended, save_ended
from ascend_workbook.batch.campaign.progress import Quota
from tests.batch.campaign.conftest import Start, all_of, item

MIB = 1 << 20


def lay(folder: Path, name: str, state: str, age: float) -> Path:
    """A run with 3 MiB of dumps and a rehearsal, a report, and a folder of another stage."""
    run = folder / name
    for place in ("precision/target/step0", "profiling/profile", "migration/project"):
        (run / place).mkdir(parents=True)
        (run / place / "data").write_bytes(bytes(MIB))
    (run / "planning" / "rehearsal").mkdir(parents=True)
    (run / "planning" / "rehearsal" / "memory.rank0.json").write_bytes(b"")
    (run / "precision" / "report.json").write_text("{}")
    save_ended(run, Ended(name, state, "Good"))
    os.utime(run / "ended.json", (age, age))
    return run


def test_the_oldest_good_run_gives_its_dumps_first_and_no_report_goes(tmp_path: Path) -> None:
    runs = [
        lay(tmp_path, name, state, age)
        for name, state, age in (("red", RED, 1), ("new", GOOD, 9), ("old", GOOD, 5), ("goes", GOOD, 2))
    ]
    over, dropped = Quota(tmp_path, 11).free_and_measure({"goes"})
    assert (over, [one.name for one in dropped]) == (0, ["old"])
    old = tmp_path / "old"
    assert not (old / "precision" / "target").exists() and not (old / "profiling" / "profile").exists()
    assert not (old / "planning" / "rehearsal").exists()
    assert (old / "precision" / "report.json").is_file() and (old / "migration" / "project" / "data").is_file()
    assert all((run / "precision" / "target").is_dir() for run in runs if run.name != "old")
    kept = load_ended(old)
    assert kept and kept.notes == ({"say": "plan.dumps_dropped", "args": {"mib": 2}},)


def test_what_is_too_much_even_so(tmp_path: Path) -> None:
    lay(tmp_path, "red", RED, 1)
    link = tmp_path / "red" / "precision" / "link"
    link.symlink_to("/")
    assert Quota(tmp_path, 1).free_and_measure(()) == (3, []) and Quota(tmp_path, 0).free_and_measure(()) == (0, [])
    assert Quota(tmp_path, 4).free_and_measure(()) == (0, [])


def test_nothing_outside_the_plan_is_dropped(tmp_path: Path) -> None:
    """Neither by a name that leads away, as of a run that was fetched, nor behind a link in a run's place."""
    plan, elsewhere = tmp_path / "plan", lay(tmp_path, "elsewhere", GOOD, 1)
    named = lay(plan, "named", GOOD, 2)
    save_ended(named, Ended("../elsewhere", GOOD, "Good"))
    (plan / "elsewhere").symlink_to(elsewhere)
    assert Quota(plan, 1).free_and_measure(())[1] == []
    assert (elsewhere / "precision" / "target").is_dir() and (named / "precision" / "target").is_dir()


def test_beyond_the_bound_a_run_is_ended_and_no_other_starts(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOOK_S", 0.2)
    runs, _ = start([item("fills"), item("good")], workers=1, plan={"disk_mb": 20})
    assert [runs["fills"].state, runs["good"].state] == ["disk_full", "disk_full"]
    assert runs["fills"].verdict == runs["good"].verdict == {"say": "plan.beyond_disk"}


@contextlib.contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[Path]:
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("no file system of its own can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.full
def test_a_full_disk_is_told_and_nothing_half_written_is_taken_for_good(start: Start, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as root:
        with contextlib.suppress(OSError):  # where not even that can be written any more
            all_of([item("fills")], root, start.books, say_progress=str)
        for path in (root / "night").rglob("*.json"):
            json.loads(path.read_text())
        ended = load_ended(root / "night" / "fills")
        assert ended and ended.state in ("disk_full", "stopped")
        (root / "night" / "fills" / "filled").unlink()
        all_of([item("good")], root, start.books, say_progress=str)
        again = load_ended(root / "night" / "good")
        assert again and again.state == "good"
