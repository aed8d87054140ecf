"""`analyse` of a folder with a profile from each of several ranks: read side by side, one row a rank."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Union

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.profiling.breakdown import PARTS
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

#: A WorkbookError as key and arguments, for an exception with named arguments does not travel between processes
Outcome = Union[Report, tuple[str, dict[str, Scalar]]]


def analyse_ranks(profiles: Mapping[int, Path], analyse: Callable[[Path], Report], stage: str) -> Report:
    """A row a rank, in milliseconds of its median step; `parts` holds the reports of the ranks that could be read.

    A rank that cannot be read is a finding; raises WorkbookError only where none can. `analyse` must be a function
    that processes can share.
    """
    with ProcessPoolExecutor(min(len(profiles), os.cpu_count() or 1)) as processes:
        outcomes = dict(zip(profiles, processes.map(partial(_outcome, analyse), profiles.values())))
    read = {rank: one for rank, one in outcomes.items() if isinstance(one, Report)}
    unread = {rank: one for rank, one in outcomes.items() if not isinstance(one, Report)}
    if not read:
        key, args = next(iter(unread.values()))
        raise WorkbookError(key, **args)
    findings = [_headline(read, len(profiles)), *(_unread(rank, *error) for rank, error in unread.items())]
    columns = (Column("rank"), Column("step_time", "ms"), *(Column(f"profiling_{part}", "ms") for part in PARTS))
    rows = tuple((rank, _ms(one, ""), *(_ms(one, part) for part in PARTS)) for rank, one in read.items())
    chart = Chart("stacks", "rank", tuple(f"profiling_{part}" for part in PARTS), "ms")
    tiers = {one.tier for one in read.values()}
    tier = next(iter(tiers)) if len(tiers) == 1 else ""
    return Report(stage, "ranks", tuple(findings), Table(columns, rows), chart, tier=tier, parts=tuple(read.values()))


def _outcome(analyse: Callable[[Path], Report], path: Path) -> Outcome:
    try:
        return analyse(path)
    except WorkbookError as error:
        return error.key, error.arguments


def _headline(read: Mapping[int, Report], ranks: int) -> Finding:
    computing = {rank: _ms(one, "computing") for rank, one in read.items()}
    most, least = (choose(computing, key=computing.__getitem__) for choose in (max, min))
    args: dict[str, Scalar] = {"read": len(read), "ranks": ranks, "most": most, "least": least}
    args |= {"most_ms": round(computing[most], 3), "least_ms": round(computing[least], 3)}
    return Finding("PRF310", max(one.status for one in read.values()), "PRF310.ranks", args, weight=1000.0)


def _unread(rank: int, key: str, args: dict[str, Scalar]) -> Finding:
    return Finding("PRF310", Status.FAIL, "PRF310.unread", {"rank": rank, "error": {"say": key, "args": args}})


def _ms(report: Report, part: str) -> float:
    facts = report.parts[0].facts
    return float(facts["parts_ns"][part] if part else facts["step_ns"]) / 1e6
