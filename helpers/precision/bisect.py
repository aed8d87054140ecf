"""`bisect`: statistics of everything on both sides, then tensors around the suspicious place alone.

Whole tensors of a step of a large model are hundreds of gigabytes; its statistics are megabytes. What parts first in
the statistics is captured anew on both sides with its neighbours, as whole tensors, and compared again: the answer is
that of a comparison by tensor, for a fraction of the bytes.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers.finding import Finding, Status
from helpers.precision.capture import capture
from helpers.precision.compare import compare
from helpers.precision.comparison import Comparison, StepComparison, examine
from helpers.precision.divergence import PARTING
from helpers.precision.record import BACKWARD, FORWARD, Run
from helpers.report import Report
from helpers.words import Scalar, say

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

    def told(self) -> str:
        """What is said before the operators are captured whole."""
        return say("precision.told.place", None, step=self.step, rank=self.rank, suspects=list(self.suspects))


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
    force: bool = False,
    python: str = sys.executable,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Finds the first divergence between `baseline` and `device` with four small captures below `out`.

    Options are those of `capture`; `settings` hold for the target alone, `force` for each of the captures. The report
    is that of `compare`, with what was written against what whole tensors of all operators would have taken. Where the
    statistics show no place, their report is the answer and no tensor is captured. Raises WorkbookError where a capture
    or comparison cannot be.
    """
    shared: dict[str, Any] = {"level": level, "seed": seed, "limit_mib": limit_mib, "nproc": nproc, "force": force,
              "python": python, "progress": progress}  # fmt: skip
    devices = dict(zip(SIDES, (baseline, device)))

    def both(kind: str, options: Mapping[str, Mapping[str, Any]]) -> tuple[Path, Path, int]:
        folders = [Path(out) / kind / side for side in SIDES]
        written = [capture(script, args, out=folder, device=devices[side], task=kind, estimate=False,
                           settings=settings if side == "target" else None, **shared, **options[side]).facts["bytes"]
                   for side, folder in zip(SIDES, folders)]  # fmt: skip
        return folders[0], folders[1], sum(written)

    whole = {"steps": steps, "dump_steps": dump_steps}
    left, right, first_bytes = both("statistics", dict.fromkeys(SIDES, whole))
    facts = examine(left.absolute(), right.absolute(), replaying=False)
    place, all_bytes = suspicious(facts), sum(_values(run) for side in (facts.baseline, facts.target)
                                              for run in side.runs.values())  # fmt: skip
    if place is None:
        return _told(compare(left, right), "nothing", first_bytes, 0, all_bytes, None)
    if progress:
        progress(place.told())
    narrow: dict[str, Any] = {"steps": place.step + 1, "dump_steps": (place.step,),
                              "ranks": (place.rank,) if nproc > 1 else ()}  # fmt: skip
    left, right, then_bytes = both("tensor", {side: {**narrow, "names": place.names[side]} for side in SIDES})
    report = compare(left, right, only=place.names["target"], progress=progress)
    told = _told(report, "found", first_bytes, then_bytes, all_bytes, place)
    if progress:
        progress(told.findings[-1].message())
    return told


def suspicious(facts: Comparison) -> Place | None:
    """The first operators that part in the earliest step that does, with their neighbours; None where none does."""
    if facts.first is None:
        return None
    step = facts.first[0]
    parting = [at for at, one in enumerate(step.judged) if one.outcome in PARTING][:SUSPECTS]
    near = sorted({at for found in parting for at in range(found - AROUND, found + AROUND + 1)
                   if 0 <= at < len(step.judged)})  # fmt: skip
    pairs = [step.judged[at].agreement.pair for at in near]
    names = {"target": _names([pair.target.name for pair in pairs], step, "target"),
             "baseline": _names([pair.baseline.name for pair in pairs], step, "baseline")}  # fmt: skip
    return Place(step.step, step.rank, tuple(step.judged[at].name for at in parting), names)


def _names(names: list[str], step: StepComparison, side: str) -> tuple[str, ...]:
    """With the forward call of every backward one: it is run again from its forward inputs."""
    run: Run = getattr(step.pairing, side)
    forwards = [name.replace(f".{BACKWARD}", f".{FORWARD}") for name in names if f".{BACKWARD}" in name]
    return tuple(dict.fromkeys([*names, *(name for name in forwards if name in run.by_name)]))


def _values(run: Run) -> int:
    """Bytes of all tensors of a run, values alone, from dtypes and shapes."""
    tensors = [one for operator in run.operators for one in (*operator.inputs, *operator.outputs)]
    return sum(math.prod(one.shape) * _width(one.dtype) for one in tensors)


def _width(dtype: str) -> int:
    """`bfloat16` is 2, `float8_e4m3fn` 1, `bool` 1."""
    found = BITS.search(dtype)
    return max(1, int(found[0]) // 8) if found else 1


def _told(report: Report, key: str, first: int, then: int, whole: int, place: Place | None) -> Report:
    args: dict[str, Scalar] = {"statistics_mib": _mib(first), "tensors_mib": _mib(then), "whole_mib": _mib(whole),
                               "suspects": list(place.suspects) if place else []}  # fmt: skip
    told = {"statistics_bytes": first, "tensor_bytes": then, "all_bytes": whole,
            "suspects": list(place.suspects) if place else []}  # fmt: skip
    finding = Finding(CODE, Status.NOTE, f"ACC203.{key}", args, weight=30)
    return replace(report, findings=(*report.findings, finding), facts={**report.facts, "bisect": told})


def _mib(size: int) -> float:
    return round(size / (1 << 20), 2)
