"""Fits the numbers that times of kernels are estimated from, on public profiles, and says how far off they are.

    python -m tools.estimates TRACES             # the working half: each workload left out once
    python -m tools.estimates TRACES --held      # the held half too, with numbers of the working half
    python -m tools.estimates TRACES --write     # times.json: the working half's numbers, both halves' spreads

TRACES is a folder with the files of workloads.json below OWNER/NAME, as a clone of that repository has them; what is
absent is named. Nothing of it is kept but the numbers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from ascend_workbook.estimates.basis import SHIPPED, Basis, save_basis
from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.estimates.fitting import Measured, group_kernels, make_basis
from ascend_workbook.estimates.kernels import estimate_kernel, estimate_kernels
from ascend_workbook.estimates.loads import measure_kernel
from ascend_workbook.profiling.calibration import LEAST_SHAPES, read_timed_kernels

WORKLOADS = Path(__file__).with_name("workloads.json")
#: Families whose single kernels are told apart in the end: what most of a language model's time goes to
JUDGED = ("matmul", "attention", "attention_grad")


def read_workloads(traces: Path, half: str) -> dict[str, list[Measured]]:
    """Return the kernels of the workloads of one half, in the list's order. Raises SystemExit naming a file that is not
    there."""
    workloads = {}
    for name, entry in json.loads(WORKLOADS.read_text(encoding="utf-8"))["workloads"].items():
        if entry["half"] != half:
            continue
        timed = []
        for file in entry["files"]:
            path = traces / entry["repository"] / file
            if not path.is_file():
                raise SystemExit(f"{path} is not there: {entry['repository']} at {entry['commit']}")
            timed += read_timed_kernels(path)
        workloads[name] = group_kernels(timed, find_chip(entry["chip"]))
    return workloads


def judge(name: str, kernels: Sequence[Measured], basis: Basis) -> tuple[list[bool], list[bool], bool]:
    """Print how far off the basis is on a workload; return which kernels, which families and whether the whole lay in
    their ranges."""
    whole = estimate_kernels((case.kernel for case in kernels for _ in range(case.count)), kernels[0].chip, basis)
    real = sum(case.total for case in kernels)
    families: dict[str, list[Measured]] = {}
    for case in kernels:
        families.setdefault(measure_kernel(case.kernel).family, []).append(case)
    single, together, lines = [], [], []
    for family, cases in sorted(families.items(), key=lambda item: -sum(case.total for case in item[1])):
        ranges = [estimate_kernel(case.kernel, case.chip, basis) for case in cases]
        errors = _errors_of(cases, family, basis)
        took, estimated = sum(case.total for case in cases), whole.by_family[family]
        single += [estimate.low <= case.microseconds <= estimate.high for estimate, case in zip(ranges, cases)]
        together.append(estimated.low <= took <= estimated.high)
        share, ratio = took / real, estimated.middle / took
        lines.append(f"    {family:17} share {share:.3f} said/real {ratio:.2f} median error {median(errors):.2f}")
    estimated = whole.range
    print(
        f"{name}: {sum(case.count for case in kernels)} kernels of {len(kernels)} shapes, {real / 1000:.2f} ms, "
        f"said/real {estimated.middle / real:.2f} ({estimated.low / real:.2f} to {estimated.high / real:.2f})"
    )
    print("\n".join(lines))
    return single, together, estimated.low <= real <= estimated.high


def _errors_of(kernels: Sequence[Measured], family: str, basis: Basis) -> list[float]:
    """Return how far off each kernel of a family is, as a part of what was measured."""
    return [
        abs(estimate_kernel(case.kernel, case.chip, basis).middle / case.microseconds - 1)
        for case in kernels
        if measure_kernel(case.kernel).family == family
        for _ in range(case.count)
    ]


def judge_all(pairs: Mapping[str, tuple[Sequence[Measured], Basis]]) -> None:
    """Print every workload's errors, and how often ranges held what was measured."""
    single: list[bool] = []
    together: list[bool] = []
    wholes = []
    for name, (kernels, basis) in pairs.items():
        kernel_hits, family_hits, whole = judge(name, kernels, basis)
        single += kernel_hits
        together += family_hits
        wholes.append(whole)
    for family in JUDGED:
        errors = [error for kernels, basis in pairs.values() for error in _errors_of(kernels, family, basis)]
        if errors:
            print(f"median error of {len(errors)} kernels of {family}: {median(errors):.3f}")
    for what, hits in (("kernels", single), ("families", together), ("workloads", wholes)):
        print(f"80 % ranges held {sum(hits)} of {len(hits)} {what}: {sum(hits) / len(hits):.0%}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("traces", type=Path)
    parser.add_argument("--held", action="store_true", help="judge the held half too")
    parser.add_argument("--write", action="store_true", help="write times.json")
    options = parser.parse_args(arguments)
    record: dict[str, Any] = json.loads(WORKLOADS.read_text(encoding="utf-8"))
    working = read_workloads(options.traces, "working")
    enough = {name: kernels for name, kernels in working.items() if len(kernels) >= LEAST_SHAPES}

    def fit(left_out: str = "") -> Basis:
        """Return the numbers of the workloads that have enough kernels, without one of them."""
        rest = {name: kernels for name, kernels in enough.items() if name != left_out}
        return make_basis(rest, "public profiles", record["date"])

    print("each working workload with numbers of the others:")
    judge_all({name: (kernels, fit(name)) for name, kernels in working.items()})
    if options.held:
        basis = fit()
        print("the held half with numbers of the working half:")
        held = read_workloads(options.traces, "held")
        judge_all({name: (kernels, basis) for name, kernels in held.items()})
    if options.write:
        held = read_workloads(options.traces, "held")
        enough_held = {name: kernels for name, kernels in held.items() if len(kernels) >= LEAST_SHAPES}
        basis = make_basis(enough, "public profiles", record["date"], enough_held)
        about = {name: record[name] for name in ("links", "network", "host")}
        save_basis(Basis(**{**vars(basis), "about": about}), SHIPPED)
        print(f"written: {SHIPPED}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
