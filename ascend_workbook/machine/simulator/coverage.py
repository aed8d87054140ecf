"""What of torch's own operator database (OpInfo) the simulated NPU runs as the CPU does; why the rest raises.

Children started by path do the work, one per core; nothing here imports torch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Callable

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import simulator
from ascend_workbook.machine.simulator.reporting import make_report

if TYPE_CHECKING:
    from ascend_simulator.coverage.entries import Entry, Request

__all__ = ["DIRECTIONS", "DTYPES", "EVERYTHING", "measure_coverage"]

DTYPES = ("float32", "float16", "bfloat16", "int64", "bool", "complex64")
DIRECTIONS = ("forward", "strided", "backward", "inplace", "out")
#: The slices of the whole table: gradients exist for floating-point types; the other ways are checked in float32.
EVERYTHING = (
    *(("forward", dtype) for dtype in DTYPES),
    *(("backward", dtype) for dtype in ("float32", "float16", "bfloat16", "complex64")),
    *((direction, "float32") for direction in ("strided", "inplace", "out")),
)
SAMPLES = 8


@simulator.with_our_errors
def measure_coverage(
    slices: Iterable[tuple[str, str]] = EVERYTHING,
    names: Iterable[str] = (),
    *,
    every: int = 1,
    samples: int = SAMPLES,
    workers: int | None = None,
    env: dict[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Run each entry of each (direction, dtype) on the CPU and on the simulated NPU, and return the report of all
    outcomes.

    `names` limits it to these entries of the database, `every` to each n-th entry, `samples` the samples of an entry.
    `env` is the children's environment (default: simulator.environment()). A child that dies costs its entry only,
    which then counts as `crashed`. Raises WorkbookError where the simulator is not installed or not built, or an entry
    has no name.
    """
    simulator.import_distribution()
    from ascend_simulator.coverage.entries import operator_states
    from ascend_simulator.coverage.pool import Pool

    environ = simulator.simulator_environment() if env is None else env
    with Pool(environ, workers or os.cpu_count() or 1) as pool:
        listing = pool.list_entries()
        known = {entry["name"] for entry in listing["entries"]}
        unknown = sorted(set(names) - known)
        if unknown:
            raise WorkbookError("coverage.unknown", names=", ".join(unknown))
        requests = _make_requests(listing["entries"], list(slices), set(names), every, samples)
        states = operator_states(listing["operators"])
        results: list[Entry] = []
        for entry in pool.run_requests(requests):
            results.append(entry)
            if progress:
                progress(len(results), len(requests))
    return make_report(sorted(results, key=lambda entry: entry.request.order), states, samples)


def _make_requests(
    listing: list[dict[str, object]], slices: list[tuple[str, str]], names: set[str], every: int, samples: int
) -> list[Request]:
    from ascend_simulator.coverage.entries import Request

    requests: list[Request] = []
    for direction, dtype in slices:
        chosen = [
            (number, entry)
            for number, entry in enumerate(listing)
            if dtype in entry["goes"][direction] and (not names or entry["name"] in names)  # type: ignore[index]
        ]
        for number, entry in chosen[::every]:
            name, variant = str(entry["name"]), str(entry["variant"])
            requests.append(Request(len(requests), number, name, variant, direction, dtype, samples))
    return requests
