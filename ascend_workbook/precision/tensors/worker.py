"""Compare tensors in a process of its own: jobs a line in, answers a line out, to the input's end.

Started as `python -m ascend_workbook.precision.tensors.worker`.

In:  {"jobs": [[target, baseline, target shape, baseline shape], ...], "share": 1.0, "seed": 0, "block": 16384}
Out: [[metrics in the order of their fields] or {"key": ..., "args": ...}, ...]"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.tensors.measuring import Job, Sample, measure_files
from ascend_workbook.precision.tensors.metrics import Metrics

#: Elements at a time: with BLAS on one thread as large as the cache of a core likes it.
BLOCK = 1 << 14
FIELDS = tuple(Metrics.__dataclass_fields__)


def write_order(jobs: list[Job], sample: Sample, block: int = BLOCK) -> str:
    """Write the line that asks for these jobs. Sums of `block` elements are added up: another block, other digits."""
    rows = [[str(job.target), str(job.baseline), job.target_shape, job.baseline_shape] for job in jobs]
    return json.dumps({"jobs": rows, "share": sample.share, "seed": sample.seed, "block": block})


def read_answers(line: str) -> list[Metrics | WorkbookError]:
    """Read the answers in a worker's line."""
    return [
        WorkbookError(row["key"], **row["args"]) if isinstance(row, dict) else Metrics(*row) for row in json.loads(line)
    ]


def parse_request(line: str) -> tuple[list[Job], Sample, int]:
    """What a line asks for."""
    content = json.loads(line)
    jobs = [Job(Path(row[0]), Path(row[1]), tuple(row[2]), tuple(row[3])) for row in content["jobs"]]
    return jobs, Sample(content["share"], content["seed"]), int(content["block"])


def write_answer(results: list[Metrics | WorkbookError]) -> str:
    """The line that answers."""
    rows = [
        {"key": result.key, "args": result.arguments}
        if isinstance(result, WorkbookError)
        else [getattr(result, name) for name in FIELDS]
        for result in results
    ]
    return json.dumps(rows)


def measure_job(job: Job, sample: Sample, block: int) -> Metrics | WorkbookError:
    """Measure one pair of files; what is wrong with them is the answer too."""
    try:
        return measure_files(job, sample, block)
    except WorkbookError as cause:
        return cause


def main() -> None:
    for line in sys.stdin:
        jobs, sample, block = parse_request(line)
        print(write_answer([measure_job(job, sample, block) for job in jobs]), flush=True)


if __name__ == "__main__":
    main()
