"""Who measures, how many of them, in which batches; and what a worker printed last."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.precision.tensors import metrics, worker, workers
from ascend_workbook.precision.tensors.measuring import Job, Sample


def job(*shape: int, name: str = "a") -> Job:
    return Job(Path(f"{name}.pt"), Path("b.pt"), shape, shape)


def answer_for(one: Job) -> WorkbookError:
    return WorkbookError("precision.sample", given=str(one.target))


def test_the_processors_of_this_process_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda who: {0: {1, 2, 3}, 1: {1}}[who], raising=False)
    assert workers.count_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for told, expected in ((5, 5), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda told=told: told)
        assert workers.count_cores() == expected


@pytest.mark.parametrize(
    ("jobs", "asked", "started"),
    [
        ([job(1), job(1)], None, 0),
        ([job(99), job(1)], None, 2),
        ([job(99)], None, 1),
        ([job(99), *[job(1)] * 6], None, 4),
        ([job(1), job(1)], 1, 1),
        ([job(1), job(1)], 2, 2),
        ([job(1), job(1)], 7, 2),
        ([job(1)] * 6, 5, 5),
        ([], 3, 0),
        ([], None, 0),
    ],
)
def test_how_many_workers_measure(
    monkeypatch: pytest.MonkeyPatch, jobs: list[Job], asked: int | None, started: int
) -> None:
    """As many as there are processors or as asked for, no more than jobs; little data is read by this process."""
    counts: list[int] = []
    blocks: list[int] = []
    monkeypatch.setattr(workers, "ALONE", 10)
    monkeypatch.setattr(workers, "count_cores", lambda: 4)
    monkeypatch.setattr(workers._Crew, "run_workers", lambda self, count: counts.append(count) or ["crew"])
    monkeypatch.setattr(workers, "measure_job", lambda one, sample, block: blocks.append(block) or "here")
    found: list[Any] = workers.measure_all(jobs, workers=asked)
    assert counts == ([started] if started else [])
    assert found == (["crew"] if started else ["here"] * len(jobs)) and set(blocks) <= {metrics.BLOCK}


def test_what_is_little_and_what_fills_a_batch() -> None:
    """8 Mi elements are measured alone; a batch has 4 Mi elements or 64 jobs."""
    mebi = 1 << 20
    assert workers.is_little_data([job(8, mebi)], Sample())
    assert not workers.is_little_data([job(8 * mebi + 1)], Sample())
    assert workers.split_batches([job(4 * mebi), job(1)]) == [[0], [1]]
    assert workers.split_batches([job(4 * mebi - 1), job(1), job(1)]) == [[0, 1], [2]]
    assert [len(batch) for batch in workers.split_batches([job(1)] * 129)] == [64, 64, 1]


def test_a_block_is_summed_by_the_thread_that_reads_it() -> None:
    """OpenBLAS takes its other threads from 10000 elements on; a worker has one."""
    orders = [worker.write_order([job(1)], Sample(), *block) for block in ((metrics.BLOCK,), ())]
    here, there = (worker.parse_request(order)[2] for order in orders)
    assert here == metrics.measure_arrays.__defaults__[0] and here < 10000 <= there  # type: ignore[index]
    assert metrics.measure_arrays(np.ones(3), np.zeros(3)).measured == 3


def test_a_worker_is_started_where_the_package_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one thread each, and what PYTHONPATH says behind it."""
    started: list[dict[str, Any]] = []
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setattr(workers.subprocess, "Popen", lambda command, **options: started.append(options))
    workers.Worker().errors.close()
    root = Path(started[0]["cwd"])
    assert Path(worker.__file__) == root.joinpath(*worker.__name__.split(".")).with_suffix(".py")
    environment = started[0]["env"]
    assert environment["PYTHONPATH"].split(os.pathsep) == [str(root), "elsewhere"]
    assert {environment[name] for name in workers.THREADS} == {"1"}


class Resting:
    """Stands for a worker that waits."""

    def __init__(self, alive: bool = True) -> None:
        self.is_alive, self.closed = alive, False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Whoever is hired answers at once; gives what each thread of a crew did."""
    seen: list[Any] = []

    def serve(one: Any, jobs: list[Job], sample: Sample) -> tuple[Any, list[Any]]:
        seen.append(("serve", threading.current_thread().daemon))
        return one, list(map(answer_for, jobs))

    monkeypatch.setattr(workers, "hire_worker", lambda: seen.append("hire") or Resting())
    monkeypatch.setattr(workers, "keep_worker", lambda one: seen.append("keep"))
    monkeypatch.setattr(workers, "serve_jobs", serve)
    monkeypatch.setattr(workers, "BATCH_JOBS", 2)
    yield seen


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_crew_has_as_many_as_asked_for_and_says_how_far_it_is(crew: list[Any], count: int) -> None:
    told: list[tuple[int, int]] = []
    jobs = [job(1, name=str(number)) for number in range(5)]
    found = workers.measure_all(jobs, workers=count, tell=lambda done, of: told.append((done, of)))
    assert [str(answer) for answer in found] == [str(answer_for(one)) for one in jobs]
    assert (crew.count("hire"), crew.count("keep"), crew.count(("serve", True))) == (count, count, 3)
    assert len(told) == 3 and max(told) == (5, 5) and {of for _, of in told} == {5}
    assert len(workers.measure_all(jobs, workers=count)) == 5, "nobody has to be told"


def test_a_worker_that_rests_is_hired_again_and_a_dead_one_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_resting", [])
    monkeypatch.setattr(workers, "Worker", lambda: "new")
    alive, dead = Resting(), Resting(alive=False)
    for one in (alive, dead):
        workers.keep_worker(one)  # type: ignore[arg-type]
    found: list[Any] = [workers.hire_worker(), workers.hire_worker()]
    assert found == [alive, "new"] and dead.closed and not alive.closed
    workers.keep_worker(alive)  # type: ignore[arg-type]
    workers.dismiss_workers()
    assert alive.closed and workers._resting == []


def test_the_last_words_of_a_worker() -> None:
    one = workers.Worker()
    try:
        silent = one.last_words()
        assert isinstance(silent, Sentence) and silent.key == "precision.printed_nothing"
        for text, words in (
            ("abc", "abc"),
            (" a\n\tb ", "a b"),
            ("a\x1bb", "a?b"),
            ("x" + "y" * 399, "x" + "y" * 399),
            ("x" + "y" * 400, "y" * 400),
        ):
            one.errors.seek(0)
            one.errors.truncate()
            one.errors.write(text.encode())
            assert one.last_words() == words
    finally:
        one.close()
