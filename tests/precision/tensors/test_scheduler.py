"""The tensors read by a real Dask cluster: one scheduler and two workers, each a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import ascend_workbook.machine.scheduler
from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.tensors import scheduler, workers
from ascend_workbook.precision.tensors.measuring import Job, Sample
from tests.precision.networks import convolutions
from tests.precision.test_compare import scaled

distributed = pytest.importorskip("distributed")
FAULT = "Functional.conv2d.1.forward"


def pairs(folder: Path, count: int = 5, size: int = 100_003) -> list[Job]:
    """Odd sizes and dtypes, one file that is missing."""
    found = []
    for number in range(count):
        draw = torch.Generator().manual_seed(number)
        values = torch.randn(size, generator=draw).to(torch.bfloat16 if number == 1 else torch.float32)
        paths = [folder / f"{side}{number}.pt" for side in "ab"]
        torch.save(values, paths[0])
        torch.save((values * 1.001 if number else values), paths[1])
        found.append(Job(paths[0], paths[1], (size,), (size,)))
    paths[1].unlink()
    return found


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_numbers_are_the_same_to_the_last_bit(
    address: str, tmp_path: Path, few: bool, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the worker processes give them, and as this process does where there is little to read."""
    monkeypatch.setattr(workers, "ALONE", 1 << 30 if few else 0)
    jobs, sample = pairs(tmp_path), Sample(share)
    here = workers.measure_all(jobs, sample)
    with scheduler.open_cluster(address) as measure:
        there = measure(jobs, sample)
    assert here[:-1] == there[:-1] and len(there) == len(jobs)
    assert isinstance(there[-1], WorkbookError) and str(there[-1]) == str(here[-1]) and "No such file" in str(there[-1])


def test_a_comparison_says_the_same(address: str, tmp_path: Path) -> None:
    sides = convolutions(tmp_path / "a"), convolutions(tmp_path / "b", faults={FAULT: scaled(1.2)})
    here, there = compare(*sides, replaying=False), compare(*sides, replaying=False, scheduler=address)
    assert there.facts["first_divergence"] == FAULT and there.status is Status.FIX
    assert here.table == there.table and [one.args for one in here.findings] == [one.args for one in there.findings]
    assert main(["compare", *map(str, sides), "--no-replay", "--scheduler", address]) == 1


def test_both_machines_take_part(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "split_batches", lambda jobs: [[number] for number in range(len(jobs))])
    with scheduler.open_cluster(address) as measure:
        measure(pairs(tmp_path, count=12, size=2_000_000), Sample())
    with distributed.Client(address, set_as_default=False) as client:
        assert all(client.run(lambda: len(workers._resting)).values()), "each has kept its worker process"


def test_a_cluster_without_workers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ascend_workbook.machine.scheduler, "CONNECT", 3)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", processes=False) as empty:  # noqa: SIM117
        with pytest.raises(WorkbookError, match="has no worker"), scheduler.open_cluster(empty.scheduler_address):
            pass


@pytest.mark.parametrize("where", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_nobody_there_is_one_error(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(ascend_workbook.machine.scheduler, "CONNECT", 1)
    convolutions(tmp_path)
    assert main(["compare", str(tmp_path), str(tmp_path), "--scheduler", where]) == 2
    assert where in capsys.readouterr().err


def test_a_task_that_cannot_run_is_one_error(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler.worker, "write_order", lambda *_: "no line of jobs")
    with pytest.raises(WorkbookError, match="did not run the task: JSONDecodeError"):  # noqa: SIM117
        with scheduler.open_cluster(address) as measure:
            measure(pairs(tmp_path, count=2), Sample())


def test_without_distributed_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(WorkbookError, match=r"needs dask\.distributed") as caught, scheduler.open_cluster("tcp://x:1"):
        pass
    assert "pip install -c held.txt distributed" in caught.value.hint("en")


def test_a_line_is_answered_by_a_worker_of_this_machine(tmp_path: Path) -> None:
    """As the process that a task runs in does it, which keeps its worker."""
    workers.dismiss_workers()
    jobs = pairs(tmp_path, count=2, size=1000)
    line = scheduler.worker.write_order(jobs, Sample())
    answers = scheduler.worker.read_answers(scheduler.serve_line(line))
    assert answers[:1] == workers.measure_all(jobs[:1], workers=1) and "No such file" in str(answers[1])
    assert len(workers._resting) == 1
    workers.dismiss_workers()


class Cluster:
    """Stands for a client whose tasks run at once."""

    def __init__(self) -> None:
        self.orders: list[dict[str, Any]] = []

    def map(self, function: Callable[[str], str], lines: list[str], *, pure: bool) -> list[Cluster]:
        assert not pure, "files may have changed since: no answer is remembered"
        self.orders += map(json.loads, lines)
        return [self for _ in lines]

    def result(self) -> str:
        return scheduler.worker.write_answer([WorkbookError("precision.sample", given=0.5)])


@pytest.mark.parametrize(("alone", "block"), [(2, 1 << 13), (1, 1 << 14)])
def test_little_data_is_read_in_the_blocks_that_it_has_here(
    monkeypatch: pytest.MonkeyPatch, alone: int, block: int
) -> None:
    """And a batch whose machine went is an error of each of its jobs."""
    jobs = [Job(Path(f"{name}.pt"), Path("b.pt"), (1,), (1,)) for name in "xy"]
    cluster, whys = Cluster(), iter([None, "gone"])
    monkeypatch.setattr(workers, "ALONE", alone)
    monkeypatch.setattr(workers, "BATCH_JOBS", 1)
    monkeypatch.setattr(scheduler, "wait_for", lambda *_: None)
    monkeypatch.setattr(scheduler, "explain_loss", lambda *_: next(whys))
    found = scheduler._measure_on_cluster(cluster, "tcp://x:1", jobs, Sample(1.0))  # type: ignore[arg-type]
    assert [(order["block"], len(order["jobs"])) for order in cluster.orders] == [(block, 1)] * 2
    assert [one.key for one in found if isinstance(one, WorkbookError)] == ["precision.sample", "precision.worker_died"]
    assert "y.pt" in str(found[1]) and "gone" in str(found[1])
    with pytest.raises(WorkbookError, match="share above 0"):
        scheduler._measure_on_cluster(cluster, "tcp://x:1", jobs, Sample(0.0))  # type: ignore[arg-type]


def test_without_an_address_it_is_measured_here() -> None:
    with scheduler.open_cluster("") as measure:
        assert measure is workers.measure_all
