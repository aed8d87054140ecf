"""Files measured in blocks, by samples and by workers: the same numbers as whole in memory, and no pair takes the rest
with it."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.tensors import workers
from ascend_workbook.precision.tensors.measuring import Job, Sample, measure_files
from ascend_workbook.precision.tensors.metrics import BLOCK, Metrics, measure_arrays
from ascend_workbook.precision.tensors.tensorfile import read_tensor


def saved(folder: Path, name: str, value: torch.Tensor) -> Path:
    path = folder / f"{name}.pt"
    torch.save(value, path)
    return path


def job(folder: Path, value: torch.Tensor, other: torch.Tensor, name: str = "x") -> Job:
    shapes = tuple(value.shape), tuple(other.shape)
    return Job(saved(folder, f"{name}a", value), saved(folder, f"{name}b", other), *shapes)


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.complex64, torch.bool],
    ids=str,
)
@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, 2 * BLOCK + 5])
def test_blocks_give_what_the_whole_gives(tmp_path: Path, dtype: torch.dtype, size: int) -> None:
    torch.manual_seed(0)
    values = [(torch.randn(size) * 3).to(dtype) for _ in range(2)]
    found = measure_files(job(tmp_path, *values), block=1000)
    whole = [read_tensor(tmp_path / f"x{side}.pt") for side in "ab"]
    expected = measure_arrays(*whole, bfloat16=dtype == torch.bfloat16)
    assert found.relative_l2 == pytest.approx(expected.relative_l2, rel=1e-12, nan_ok=True)
    same = ("max_absolute", "max_relative", "within_thousandth", "within_five_thousandths", "unequal", "size")
    assert [getattr(found, name) for name in same] == [getattr(expected, name) for name in same]
    assert found.max_ulp == expected.max_ulp


@pytest.mark.parametrize(
    ("target", "baseline", "dtype", "ulp"),
    [
        (1 + 2**-23, 1.0, torch.float32, 1),
        (1 + 2**-7, 1.0, torch.bfloat16, 1),
        (-(2**-149), 2**-149, torch.float32, 2),
        (1 + 2**-10, 1.0, torch.float16, 1),
        (1 + 2**-52, 1.0, torch.float64, 1),
        (0.0, -0.0, torch.float32, 0),
    ],
)
def test_last_places(tmp_path: Path, target: float, baseline: float, dtype: torch.dtype, ulp: int) -> None:
    sides = [torch.tensor([value, 1.0], dtype=torch.float64).to(dtype) for value in (target, baseline)]
    assert measure_files(job(tmp_path, *sides)).max_ulp == ulp


def test_a_sample_is_repeatable_and_knows_its_error(tmp_path: Path) -> None:
    """Over many seeds the true error lies within two of the errors told about as often as it should."""
    generator = torch.Generator().manual_seed(1)
    base = torch.randn(40 * BLOCK, generator=generator)
    noise = torch.randn(base.shape, generator=generator) * torch.linspace(0.1, 3, base.numel()) * 1e-3
    pair = job(tmp_path, base + noise, base)
    truth = measure_files(pair)
    assert truth.sampling is None and truth.measured == truth.size
    found = [measure_files(pair, Sample(0.2, seed)) for seed in range(30)]
    assert found[0] == measure_files(pair, Sample(0.2, 0)) and found[0] != found[1]
    assert all(one.measured == pytest.approx(0.2 * one.size, rel=0.05) for one in found)
    off = [abs(one.relative_l2 - truth.relative_l2) / (one.sampling or 0) for one in found]
    assert sum(value < 2 for value in off) >= 24 and max(off) > 0.2
    with pytest.raises(WorkbookError, match="share above 0"):
        workers.measure_all([pair], Sample(0.0))


def test_workers_answer_in_order_and_a_bad_file_is_its_own_error(tmp_path: Path) -> None:
    jobs = [job(tmp_path, torch.full((9,), float(n)), torch.ones(9), str(n)) for n in range(150)]
    jobs[70].target.write_bytes(b"not a zip")
    found = workers.measure_all(jobs, workers=2)
    assert isinstance(found[70], WorkbookError) and "70a.pt" in str(found[70])
    for number, one in enumerate(found):
        assert number == 70 or isinstance(one, Metrics) and one.max_absolute == abs(number - 1)


def test_a_killed_worker_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is killed before it answers; and a file that kills whoever reads it is one error among answers."""
    jobs = [job(tmp_path, torch.full((9,), float(n)), torch.ones(9), str(n)) for n in range(12)]
    deadly, ask, killed = str(jobs[5].target), workers.Worker.request_answers, []

    def shot(self: workers.Worker, asked: list[Job], sample: Sample, *rest: int) -> object:
        if not killed or any(str(one.target) == deadly for one in asked):
            killed.append(self.process.pid)
            os.kill(self.process.pid, signal.SIGKILL)
        return ask(self, asked, sample, *rest)

    monkeypatch.setattr(workers.Worker, "request_answers", shot)
    found = workers.measure_all(jobs, workers=2)
    assert isinstance(found[5], WorkbookError) and found[5].key == "precision.worker_died" and deadly in str(found[5])
    assert all(isinstance(one, Metrics) for number, one in enumerate(found) if number != 5) and len(killed) >= 2
    workers.dismiss_workers()


@pytest.mark.parametrize("left", [0, 1])
def test_where_no_worker_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    """One worker alone does it all; none is one error in both languages, that names the cause and a next step."""
    workers.dismiss_workers()
    jobs = [job(tmp_path, torch.ones(9), torch.ones(9), str(n)) for n in range(3)]
    popen, started = workers.subprocess.Popen, []

    def limited(*arguments: object, **options: object) -> object:
        if len(started) >= left:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        started.append(arguments)
        return popen(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(workers.subprocess, "Popen", limited)
    if left:
        assert all(isinstance(one, Metrics) for one in workers.measure_all(jobs, workers=2))
    else:
        with pytest.raises(WorkbookError, match="no process could be started.*temporarily unavailable") as caught:
            workers.measure_all(jobs, workers=2)
        assert isinstance(caught.value.__cause__, OSError) and "ulimit -u" in caught.value.hint("zh")
    workers.dismiss_workers()


def test_a_dead_worker_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "write_order", lambda *_: "no line of jobs")
    (found,) = workers.measure_all([job(tmp_path, torch.ones(9), torch.ones(9))], workers=1)
    assert isinstance(found, WorkbookError) and found.key == "precision.worker_died"
    assert "JSONDecodeError: Expecting value" in found.message("en") and found.hint("zh")
    workers.dismiss_workers()


def test_a_file_cut_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(5000))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "b.npy").write_bytes(whole[:-8])
    with pytest.raises(WorkbookError, match=r"b\.npy.*needs 40000 bytes"):
        measure_files(Job(tmp_path / "a.npy", tmp_path / "b.npy", (5000,), (5000,)))
    (tmp_path / "b.npy").write_bytes(whole)
    assert measure_files(Job(tmp_path / "a.npy", tmp_path / "b.npy", (5000,), (5000,))).unequal == 0
    np.save(tmp_path / "o.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(WorkbookError, match="refused"):
        read_tensor(tmp_path / "o.npy")


def test_a_file_of_another_shape_than_told_is_an_error(tmp_path: Path) -> None:
    """dump.json is believed as little as the file: their shapes must agree, and then both sides'."""
    three, four = (saved(tmp_path, str(size), torch.ones(size)) for size in (3, 4))
    with pytest.raises(WorkbookError, match=r"4\.pt.*holds shape \[4\], dump\.json says \[3\]"):
        measure_files(Job(three, four, (3,), (3,)))
    with pytest.raises(WorkbookError, match=r"3\.pt.*shape \[3\], the baseline's \[4\]"):
        measure_files(Job(three, four, (3,), (4,)))
    assert Job(three, four, (3, 5), (3, 5)).elements == 15


def test_the_blocks_of_a_sample() -> None:
    """At least two blocks, of 256 elements or a 64th of the tensor, and never more than there are."""
    assert Sample().choose_blocks("x", 1 << 20, 8192) == (8192, None)
    block, chosen = Sample(0.25).choose_blocks("x", 64 * 1000, 8192)
    assert block == 1000 and chosen is not None and len(chosen) == 16 and chosen == sorted({*chosen})
    assert set(chosen) <= set(range(64)) and chosen != Sample(0.25, 1).choose_blocks("x", 64 * 1000, 8192)[1]
    block, chosen = Sample(0.01).choose_blocks("x", 1000, 8192)
    assert block == 256 and chosen is not None and len(chosen) == 2 and set(chosen) <= {0, 1, 2, 3}
    assert Sample(0.5).choose_blocks("x", 100, 8192) == (256, [0]) and Sample(0.5).choose_blocks("x", 100, 64)[0] == 64
    for share in (0.0, -1.0, 1.1):
        with pytest.raises(WorkbookError):
            Sample(share).check()
    Sample(1.0).check()


def test_a_worker_leaves_by_itself_when_it_is_closed() -> None:
    worker = workers.Worker()
    assert worker.is_alive
    worker.close()
    assert worker.process.returncode == 0 and not worker.is_alive and worker.errors.closed


def test_tensors_that_do_not_lie_in_one_piece(tmp_path: Path) -> None:
    """1 to 4 against 1, 2, 3 and 8: 4 off, of sqrt(78); whichever side is turned."""
    one, other = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 2.0], [3.0, 8.0]])
    turned = [value.t().contiguous().t() for value in (one, other)]
    for sides in ([one, other], [turned[0], other], [one, turned[1]], turned):
        found = measure_files(job(tmp_path, *sides))
        assert found.relative_l2 == pytest.approx(4 / 78**0.5) and (found.unequal, found.max_absolute) == (1, 4.0)
        odd = measure_files(job(tmp_path, sides[0] + torch.tensor([[0.0, 1.0], [0.0, 0.0]]).t(), sides[1]))
        assert (odd.unequal, odd.max_absolute) == (2, 4.0)


def test_a_bfloat16_beside_a_float32_has_float32s_last_places(tmp_path: Path) -> None:
    wide, short = torch.tensor([1 + 2**-7]), torch.tensor([1.0]).bfloat16()
    for sides in ((wide, short), (short, wide)):
        assert measure_files(job(tmp_path, *sides)).max_ulp == 2**16
    assert measure_files(job(tmp_path, wide.bfloat16(), short)).max_ulp == 1
    grid = torch.tensor([[1 + 2**-7, 1.0], [1.0, 1.0]])
    sides = grid.bfloat16().t(), torch.ones(2, 2).bfloat16().t()
    assert measure_files(job(tmp_path, *sides)).max_ulp == 1, "turned"


def test_a_sample_of_nothing_and_of_one(tmp_path: Path) -> None:
    """Of no element nothing is sampled; one element is one block, whose error nobody knows."""
    empty = measure_files(job(tmp_path, torch.ones(0), torch.ones(0)), Sample(0.5))
    assert (empty.sampling, empty.measured, empty.relative_l2) == (None, 0, 0.0)
    one = measure_files(job(tmp_path, torch.tensor([2.0]), torch.tensor([1.0])), Sample(0.5))
    assert (one.sampling, one.measured, one.relative_l2) == (float("inf"), 1, 1.0)
    assert measure_files(job(tmp_path, torch.ones(1), torch.ones(1))).sampling is None
