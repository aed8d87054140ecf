"""A real Dask scheduler with two workers in processes of their own: one killed in the middle, the client killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from ascend_workbook.batch.campaign import cluster
from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from tests.batch.campaign.conftest import Start, item
from tests.batch.campaign.test_killed import runner, sleeper, until
from tests.conftest import started

distributed = pytest.importorskip("distributed")


@dataclass(frozen=True)
class Dask:
    """The scheduler's address, and the process ids of its workers."""

    address: str
    workers: tuple[int, ...]


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    file = tmp_path / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with contextlib.ExitStack() as stack:
        stack.enter_context(started("distributed.cli.dask_scheduler", *options))
        address = until(lambda: file.exists() and json.loads(file.read_text())["address"])
        words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path))
        workers = [stack.enter_context(started("distributed.cli.dask_worker", address, *words)) for _ in range(2)]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield Dask(address, tuple(one.pid for one in workers))


@pytest.mark.full
def test_a_lost_machine_and_a_lost_client(dask: Dask, start: Start) -> None:
    """A machine is killed while it has a run, then the client; the second start has all, and says what was tried."""
    names = ("waits-a", "waits-b", "lingers", "waits-c")
    folder = start.folder
    with runner(folder.parent, start.books, *names, scheduler=dask.address) as client:
        first = until(lambda: sleeper(folder / "lingers"), 90)
        holder = next(one for one in psutil.Process(first.pid).parents() if one.pid in dask.workers)
        os.kill(holder.pid, signal.SIGKILL)
        until(lambda: not first.is_running())
        assert until(lambda: sleeper(folder / "lingers"), 90).pid != first.pid
        os.kill(client.pid, signal.SIGKILL)
    runs, _ = start([item(name) for name in names], scheduler=dask.address)  # the run still goes on where it is
    assert {run.state for run in runs.values()} == {"good"}
    assert {(folder / name / "count-environment").read_text() for name in names} == {"x"}, "each was done once"
    assert runs["lingers"].reused and runs["lingers"].attempts == 2
    assert [note["say"] for note in runs["lingers"].notes] == ["plan.lost"] and "tcp://" in runs["lingers"].where


@pytest.mark.full
def test_a_cluster_runs_a_plan(address: str, start: Start) -> None:
    runs, lines = start([item("good-a"), item("raises"), item("good-b", require="npu")], scheduler=address)
    assert [run.state for run in runs.values()] == ["good", "red", "red"]
    assert "tcp://" in runs["good-a"].where and any("good-a: started" in line for line in lines)
    again, _ = start([item("good-a")], scheduler=address)
    assert again["good-a"].reused


@pytest.mark.full
def test_a_machine_that_does_not_see_the_folder_says_so(
    address: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_workbook.batch.campaign.cluster.START", ".elsewhere")
    with pytest.raises(WorkbookError, match=f"does not see the plan's folder {start.folder}") as caught:
        start([item("good")], scheduler=address)
    assert "No such file" in str(caught.value) and "tcp://" in str(caught.value)
    assert not (start.folder / "good" / "order.json").exists(), "nothing was sent there"


def test_whether_a_machine_sees_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "SEEN_S", 0.0)
    assert cluster.why_unseen(str(tmp_path), "7") == "No such file or directory"
    (tmp_path / cluster.START).write_text("6")
    assert "another folder" in cluster.why_unseen(str(tmp_path), "7")
    (tmp_path / cluster.START).write_text("7")
    assert cluster.why_unseen(str(tmp_path), "7") == ""
    monkeypatch.setattr("os.access", lambda *words: False)
    assert cluster.why_unseen(str(tmp_path), "7") == "Permission denied"


def test_no_scheduler_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_workbook.machine.scheduler.CONNECT", 1)
    (tmp_path / "plan.yaml").write_text("name: x\nstages: environment\nparameters: {device: cpu}\nruns: [{name: a}]\n")
    words = ["run", str(tmp_path / "plan.yaml"), "--root", str(tmp_path), "--scheduler", "tcp://127.0.0.1:9"]
    assert main(words) == 2 and "tcp://127.0.0.1:9" in capsys.readouterr().err
