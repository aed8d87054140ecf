"""`bisect`: statistics of everything on both sides, then tensors around the suspicious place alone.

Whole tensors of a step of a large model are hundreds of gigabytes; its statistics are megabytes. What parts first in
the statistics is captured anew on both sides with its neighbours, as whole tensors, and compared again: the answer is
that of a comparison by tensor, for a fraction of the bytes."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, say
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.comparison import Comparison, StepComparison, examine_captures
from ascend_workbook.precision.divergence import PARTING
from ascend_workbook.precision.record import BACKWARD, FORWARD, Run

CODE = "ACC203"
#: Operators that part in the statistics and are looked at, the earliest first; each with its neighbours.
SUSPECTS = 3
AROUND = 2
BITS = re.compile(r"\d+")
SIDES = ("baseline", "target")


@dataclass(frozen=True)
class Place:
    """Where to look: one step and rank, and the operators to capture whole, by their names on each side."""

    step: int
    rank: int
    suspects: tuple[str, ...]
    names: dict[str, tuple[str, ...]]


def bisect(
    script: str | Path,
    args: Sequence[str] = (),
    *,
    out: str | Path,
    device: str = "auto",
    baseline: str = "baseline",
    steps: int = 1,
    dump_steps: str | Sequence[int] = (0,),
    level: str = "L1",
    seed: int = 1234,
    limit_mib: int = 2048,
    settings: Mapping[str, str] | None = None,
    nproc: int = 1,
    draws: str = "device",
    rm_dropout: bool = False,
    force: bool = False,
    network: bool = False,
    timeout_s: float | None = None,
    python: str = sys.executable,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Finds the first divergence between `baseline` and `device` with four small captures below `out`.

    Options are those of `capture`; `settings` hold for the target alone, `force` for each of the captures. The report
    is that of `compare`, with what was written against what whole tensors of all operators would have taken. Where the
    statistics show no place, their report is the answer and no tensor is captured. Raises WorkbookError where a capture
    or comparison cannot be."""
    shared: dict[str, Any] = {"level": level, "seed": seed, "limit_mib": limit_mib, "nproc": nproc, "force": force}
    shared |= {"draws": draws, "rm_dropout": rm_dropout}
    shared |= {"python": python, "progress": progress, "estimate": False, "network": network, "timeout_s": timeout_s}
    devices = dict(zip(SIDES, (baseline, device)))

    def capture_both_sides(kind: str, options: Mapping[str, Mapping[str, Any]]) -> tuple[Path, Path, int]:
        folders = [Path(out) / kind / side for side in SIDES]
        written = [
            capture(
                script,
                args,
                out=folder,
                device=devices[side],
                task=kind,
                settings=settings if side == "target" else None,
                **shared,
                **options[side],
            ).facts["bytes"]
            for side, folder in zip(SIDES, folders)
        ]
        return folders[0], folders[1], sum(written)

    whole = {"steps": steps, "dump_steps": dump_steps}
    return narrow_down(capture_both_sides, whole, nproc=nproc, progress=progress)


#: Captures one kind on both sides, with options by side: the two folders, and how many bytes were written.
Capturing = Callable[[str, Mapping[str, Mapping[str, Any]]], tuple[Path, Path, int]]


def narrow_down(
    capture_both_sides: Capturing, whole: Mapping[str, Any], *, nproc: int, progress: Callable[[str], None] | None
) -> Report:
    """Compare the statistics of the steps of `whole` on both sides, then tensors about the place that parts first."""
    left, right, first_bytes = capture_both_sides("statistics", dict.fromkeys(SIDES, whole))
    facts = examine_captures(left.absolute(), right.absolute(), replaying=False)
    place = find_suspicious_place(facts)
    all_bytes = sum(_count_tensor_bytes(run) for side in (facts.baseline, facts.target) for run in side.runs.values())
    if place is None:
        return _add_costs(compare(left, right), "nothing", first_bytes, 0, all_bytes, None)
    if progress:
        suspects = list(place.suspects)
        progress(say("precision.told.place", None, step=place.step, rank=place.rank, suspects=suspects))
    narrow: dict[str, Any] = {"steps": place.step + 1, "dump_steps": (place.step,)}
    narrow["ranks"] = (place.rank,) if nproc > 1 else ()
    selected = {side: {**narrow, "names": place.names[side]} for side in SIDES}
    left, right, then_bytes = capture_both_sides("tensor", selected)
    report = compare(left, right, only=place.names["target"], progress=progress)
    answer = _add_costs(report, "found", first_bytes, then_bytes, all_bytes, place)
    if progress:
        progress(answer.findings[-1].message())
    return answer


def find_suspicious_place(facts: Comparison) -> Place | None:
    """Find the first operators that part in the earliest step that does, with their neighbours; None where
    none does."""
    if facts.first is None:
        return None
    step = facts.first[0]
    parting = [at for at, judgement in enumerate(step.judged) if judgement.outcome in PARTING][:SUSPECTS]
    near = sorted(
        {at for centre in parting for at in range(centre - AROUND, centre + AROUND + 1) if 0 <= at < len(step.judged)}
    )
    pairs = [step.judged[at].agreement.pair for at in near]
    names = {side: _add_forward_calls([getattr(pair, side).name for pair in pairs], step, side) for side in SIDES}
    return Place(step.step, step.rank, tuple(step.judged[at].name for at in parting), names)


def _add_forward_calls(names: list[str], step: StepComparison, side: str) -> tuple[str, ...]:
    """Add to the names the forward call of every backward one: it is run again from its forward inputs."""
    run: Run = getattr(step.pairing, side)
    forwards = [name.replace(f".{BACKWARD}", f".{FORWARD}") for name in names if f".{BACKWARD}" in name]
    return tuple(dict.fromkeys([*names, *(name for name in forwards if name in run.by_name)]))


def _count_tensor_bytes(run: Run) -> int:
    """Count the bytes of all tensors of a run, values alone, from dtypes and shapes."""
    total = 0
    for tensor in (tensor for operator in run.operators for tensor in (*operator.inputs, *operator.outputs)):
        digits = BITS.search(tensor.dtype)  # an element of bfloat16 has 2 bytes, of float8_e4m3fn 1, of bool 1
        total += math.prod(tensor.shape) * (max(1, int(digits[0]) // 8) if digits else 1)
    return total


def _add_costs(report: Report, key: str, first: int, then: int, whole: int, place: Place | None) -> Report:
    suspects: dict[str, Scalar] = {"suspects": list(place.suspects) if place else []}
    sizes = {"statistics_mib": first, "tensors_mib": then, "whole_mib": whole}
    args = {**{name: round(size / (1 << 20), 2) for name, size in sizes.items()}, **suspects}
    costs = {"statistics_bytes": first, "tensor_bytes": then, "all_bytes": whole, **suspects}
    finding = Finding(CODE, Status.NOTE, f"ACC203.{key}", args, weight=30)
    return replace(report, findings=(*report.findings, finding), facts={**report.facts, "bisect": costs})
