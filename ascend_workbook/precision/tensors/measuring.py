"""One pair of tensor files measured: read in blocks where they lie one after the other, whole otherwise."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.tensors import fused
from ascend_workbook.precision.tensors.metrics import BLOCK, Array, Meter, Metrics, measure_arrays
from ascend_workbook.precision.tensors.tensorfile import Stored, locate_tensor, read_tensor, unreadable_error

#: A sample has blocks of this many elements at least, and of a small tensor about this many blocks to choose from.
SMALLEST, CHOICE = 256, 64


@dataclass(frozen=True)
class Job:
    """Two files that dump.json says hold tensors of these shapes."""

    target: Path
    baseline: Path
    target_shape: tuple[int, ...]
    baseline_shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.target_shape)


@dataclass(frozen=True)
class Sample:
    """The share of every tensor's blocks that is read, chosen by the seed and the file's name: the same blocks in
    every run and on both sides."""

    share: float = 1.0
    seed: int = 0

    def check(self) -> None:
        """Raises WorkbookError where the share is not above 0 and at most 1."""
        if not 0 < self.share <= 1:
            raise WorkbookError("precision.sample", given=self.share)

    def choose_blocks(self, name: str, size: int, block: int) -> tuple[int, list[int] | None]:
        """Return the elements of a block, and the numbers of the blocks to read; None for all."""
        if self.share >= 1:
            return block, None
        block = min(block, max(SMALLEST, size // CHOICE))
        total = -(-size // block)
        wanted = min(total, max(2, round(self.share * total)))
        return block, sorted(random.Random(f"{self.seed}:{name}").sample(range(total), wanted))


#: All elements of every tensor.
WHOLE = Sample()


def measure_files(job: Job, sample: Sample = WHOLE, block: int = BLOCK) -> Metrics:
    """Measure one pair of tensor files; raises WorkbookError where a file cannot be read, holds another shape than
    told, or their shapes differ."""
    left, right = locate_pair(job)
    bfloat16 = left.bfloat16 and right.bfloat16
    if left.strides or right.strides or left.size == 0:
        return measure_arrays(read_tensor(job.target), read_tensor(job.baseline), bfloat16=bfloat16)
    count, chosen = sample.choose_blocks(job.target.name, left.size, block)
    meter = Meter(left.element, right.element, 2 * count, bfloat16=bfloat16, parts=chosen is not None)
    if fused.kernel_takes(left, right):
        fused.add_all(meter, left, right, count, chosen)
    else:
        meter.add_all(
            (real_parts(x), real_parts(y))
            for x, y in zip(left.read_blocks(count, chosen), right.read_blocks(count, chosen))
        )
    return meter.make_metrics(left.size)


def locate_pair(job: Job) -> tuple[Stored, Stored]:
    """Locate both tensors of a job, the target's first; raises WorkbookError as `measure_files` does."""
    left, right = _locate_tensor(job.target, job.target_shape), _locate_tensor(job.baseline, job.baseline_shape)
    if left.shape != right.shape:
        raise unreadable_error(job.target, f"shape {list(left.shape)}, the baseline's {list(right.shape)}")
    return left, right


def real_parts(values: Array) -> Array:
    """Return the values; of complex ones real and imaginary parts, one after the other."""
    return values.view(values.real.dtype) if values.dtype.kind == "c" else values


def _locate_tensor(path: Path, shape: tuple[int, ...]) -> Stored:
    stored = locate_tensor(path)
    if stored.shape != shape:
        raise unreadable_error(path, f"holds shape {list(stored.shape)}, dump.json says {list(shape)}")
    return stored
