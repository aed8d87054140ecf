"""The runner, a run's process or its kernel killed in the middle: no process lives on, nothing is lost or redone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import psutil
import pytest

from ascend_workbook.batch.campaign import attempt
from tests.batch.campaign.conftest import Start, ended, item
from tests.conftest import ROOT

Make = Callable[..., Path]


@contextlib.contextmanager
def runner(root: Path, books: Path, *names: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    words = [str(root), str(books), json.dumps(options), *names]
    command = [sys.executable, "-m", "tests.batch.campaign.starting", *words]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(true: Callable[[], Any], seconds: float = 40) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = true()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come")


def of(folder: Path) -> list[psutil.Process]:
    return attempt.marked_processes(folder)


def kernel(folder: Path) -> psutil.Process | None:
    return next((one for one in of(folder) if "ipykernel_launcher" in " ".join(one.cmdline())), None)


def sleeper(folder: Path) -> psutil.Process | None:
    """What the kernel started in a session of its own."""
    return next((one for one in of(folder) if one.name() == "sleep"), None)


def test_no_process_lives_on_after_a_killed_runner_and_the_next_start_goes_on(
    notebooks: Make, tmp_path: Path, start: Start
) -> None:
    books, night = notebooks(environment="as_named"), tmp_path / "night"
    with runner(tmp_path, books, "good", "leaves", workers=2) as process:
        until(
            lambda: (
                sleeper(night / "leaves")
                and (night / "good" / "ended.json").is_file()
                and "good" in (night / "good" / "ended.json").read_text().split("state")[1][:12]
            )
        )
        with runner(tmp_path, books, "good") as second:
            assert second.wait(30) == 2 and f"pid {process.pid}" in (second.stderr or []).read()  # type: ignore[union-attr]
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not of(night / "leaves"), 10)
    runs, _ = start([item("good"), item("leaves", run_timeout_s=1)])
    assert runs["good"].reused and (night / "good" / "count-environment").read_text() == "x"
    assert runs["leaves"].attempts == 2 and runs["leaves"].notes[0]["say"] == "plan.lost"  # type: ignore[index, call-overload]


@pytest.mark.full
def test_an_interrupt_ends_what_goes_and_the_page_says_so(notebooks: Make, tmp_path: Path) -> None:
    night = tmp_path / "night"
    with runner(tmp_path, notebooks(environment="as_named"), "leaves", "good", workers=1) as process:
        until(lambda: sleeper(night / "leaves"))
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert f"the same command goes on from there; {night / 'index.html'}" in (process.stderr or []).read()  # type: ignore[union-attr]
    assert not of(night / "leaves")
    assert {name: one.state for name, one in ended(night).items()} == {"leaves": "stopped", "good": "not_run"}
    told = json.loads((night / "summary.json").read_text())
    assert told["exit_code"] == 130 and told["verdict"]["en"].startswith("stopped by the user: 0 of 2 runs")


@pytest.mark.full
@pytest.mark.parametrize("victim", ["worker", "kernel"])
def test_a_killed_process_is_told_and_tried_again(victim: str, notebooks: Make, tmp_path: Path) -> None:
    """What it left in sessions of its own is gone before the next try begins."""
    folder = tmp_path / "night" / "leaves"
    with runner(tmp_path, notebooks(environment="as_named"), "leaves", workers=1) as process:
        first = until(lambda: sleeper(folder))
        found = kernel(folder)
        assert found
        os.kill(found.pid if victim == "kernel" else found.ppid(), signal.SIGKILL)
        second = until(lambda: (one := sleeper(folder)) and one.pid != first.pid and one)
        assert not first.is_running() and second.is_running()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 130
    run = ended(tmp_path / "night")["leaves"]
    assert run.attempts == 2 and run.state == "stopped" and "died" in str(run.notes)
