"""Worker process: `python -m helpers.precision.worker`. A line of jobs in, a line of answers out, until the input ends.

In:  {"jobs": [[target, baseline, target shape, baseline shape], ...], "share": 1.0, "seed": 0}
Out: [[metrics in the order of their fields] or {"key": ..., "args": ...}, ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.precision.measuring import Job, Sample, measure_files
from helpers.precision.metrics import Metrics

#: Elements at a time: with BLAS on one thread as large as the cache of a core likes it.
BLOCK = 1 << 14
FIELDS = tuple(Metrics.__dataclass_fields__)


def order(jobs: list[Job], sample: Sample) -> str:
    """The line that asks for these jobs."""
    rows = [[str(job.target), str(job.baseline), job.target_shape, job.baseline_shape] for job in jobs]
    return json.dumps({"jobs": rows, "share": sample.share, "seed": sample.seed})


def answers(line: str) -> list[Metrics | WorkbookError]:
    """What a worker's line says."""
    return [WorkbookError(row["key"], **row["args"]) if isinstance(row, dict) else Metrics(*row)
            for row in json.loads(line)]  # fmt: skip


def work(line: str) -> str:
    """One line answered."""
    asked = json.loads(line)
    sample = Sample(asked["share"], asked["seed"])
    jobs = (Job(Path(row[0]), Path(row[1]), tuple(row[2]), tuple(row[3])) for row in asked["jobs"])
    return json.dumps([_one(job, sample) for job in jobs])


def _one(job: Job, sample: Sample) -> Any:
    try:
        metrics = measure_files(job, sample, BLOCK)
    except WorkbookError as cause:
        return {"key": cause.key, "args": cause.arguments}
    return [getattr(metrics, name) for name in FIELDS]


def main() -> None:
    for line in sys.stdin:
        print(work(line), flush=True)


if __name__ == "__main__":
    main()
