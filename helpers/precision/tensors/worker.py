"""Worker process: `python -m helpers.precision.tensors.worker`. Jobs a line in, answers a line out, to the input's end.

In:  {"jobs": [[target, baseline, target shape, baseline shape], ...], "share": 1.0, "seed": 0, "block": 16384}
Out: [[metrics in the order of their fields] or {"key": ..., "args": ...}, ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.precision.tensors.measuring import Job, Sample, measure_files
from helpers.precision.tensors.metrics import Metrics

#: Elements at a time: with BLAS on one thread as large as the cache of a core likes it.
BLOCK = 1 << 14
FIELDS = tuple(Metrics.__dataclass_fields__)


def order(jobs: list[Job], sample: Sample, block: int = BLOCK) -> str:
    """The line that asks for these jobs. Sums of `block` elements are added up: another block, other last digits."""
    rows = [[str(job.target), str(job.baseline), job.target_shape, job.baseline_shape] for job in jobs]
    return json.dumps({"jobs": rows, "share": sample.share, "seed": sample.seed, "block": block})


def answers(line: str) -> list[Metrics | WorkbookError]:
    """What a worker's line says."""
    return [WorkbookError(row["key"], **row["args"]) if isinstance(row, dict) else Metrics(*row)
            for row in json.loads(line)]  # fmt: skip


def asked(line: str) -> tuple[list[Job], Sample, int]:
    """What a line asks for."""
    content = json.loads(line)
    jobs = [Job(Path(row[0]), Path(row[1]), tuple(row[2]), tuple(row[3])) for row in content["jobs"]]
    return jobs, Sample(content["share"], content["seed"]), int(content["block"])


def work(line: str) -> str:
    """One line answered."""
    jobs, sample, block = asked(line)
    return told([_one(job, sample, block) for job in jobs])


def told(found: list[Metrics | WorkbookError]) -> str:
    """The line that answers."""
    rows = [{"key": one.key, "args": one.arguments} if isinstance(one, WorkbookError)
            else [getattr(one, name) for name in FIELDS] for one in found]  # fmt: skip
    return json.dumps(rows)


def _one(job: Job, sample: Sample, block: int) -> Metrics | WorkbookError:
    try:
        return measure_files(job, sample, block)
    except WorkbookError as cause:
        return cause


def main() -> None:
    for line in sys.stdin:
        print(work(line), flush=True)


if __name__ == "__main__":
    main()
