"""The facts of one rank from its profile: of its trace, or where only tables were kept, of these."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from helpers.errors import WorkbookError
from helpers.number_lists import numbers
from helpers.profiling.breakdown import PARTS, StepTime, busy
from helpers.profiling.facts import Profile, load_profile
from helpers.profiling.intervals import Intervals
from helpers.profiling.ranks import told
from helpers.profiling.ranks.calls import Calls
from helpers.profiling.ranks.facts import RankFacts, StepParts
from helpers.profiling.ranks.recorded import calls_at, numbers_at
from helpers.profiling.readers import locate, told_steps
from helpers.profiling.readers.choice import ALL, AUTO, Mark, choice_of
from helpers.profiling.trace import Looked

#: Why the steps of the other ranks are not in this one, and what is then said
OTHER_STEPS = {"profiling.no_such_steps": "PRF302.others", "profiling.steps_without_marks": "PRF302.others_unmarked"}
EXPOSED = "Communication(Not Overlapped)"
#: The columns of the profiler's table that a step is made of
TOLD = ("Computing", EXPOSED, "Free")


class RankRead(NamedTuple):
    """One rank as it was read; `profile` is None where only tables are there."""

    facts: RankFacts
    profile: Profile | None


def read_rank(path: Path, rank: int, steps: str = ALL, own: bool = False) -> RankRead:
    """`steps`: see readers.read; with `own` a rank that does not have these chooses some of its own, and says so.
    Raises WorkbookError where neither a trace nor the tables can be read."""
    found = locate(path)
    try:
        profile = _load(path, steps, own)
    except WorkbookError as error:
        if error.key != "profiling.not_parsed":
            raise
        return RankRead(_of_tables(found, rank, error, steps, own), None)
    return RankRead(facts_of(profile, found, rank), profile)


def _load(path: Path, steps: str, own: bool) -> Profile:
    try:
        return load_profile(path, steps)
    except WorkbookError as error:
        if not own or error.key not in OTHER_STEPS:
            raise
        profile = load_profile(path, AUTO)
        args = {"asked": steps, "here": error.arguments.get("here")}
        remark = {"say": OTHER_STEPS[error.key], "args": args}
        return replace(profile, trace=replace(profile.trace, remarks=(*profile.trace.remarks, remark)))


def facts_of(profile: Profile, found: Path, rank: int) -> RankFacts:
    """The facts of a profile that was read from `found`."""
    calls = calls_at(found, profile.trace)
    bare = profile.trace.dialect == "ascend" and not profile.trace.count("host_op")
    looked = profile.trace.looked
    steps = _steps_of_tables(profile.told, calls, looked) if bare else ()
    steps = steps or tuple(_steps(profile, calls))
    if looked:
        calls = calls.of_steps({one.number for one in profile.trace.steps})  # of others not all are there
    about = _about(found, profile.trace.about, looked)
    plain = {"tier": profile.tier, "simulated": profile.simulated, "on_device": profile.trace.on_device}
    host = str(profile.trace.about.get("host_name") or "")
    return RankFacts(rank, str(found), steps, calls, **plain, host=host, **about)  # type: ignore[arg-type]


def _of_tables(found: Path, rank: int, error: WorkbookError, steps: str, own: bool) -> RankFacts:
    calls = calls_at(found, None)
    rows = told_steps(found)
    every = _steps_of_tables(rows, calls, None)
    if not every:
        raise error
    looked = _some(rows, steps, found, own)
    kept = _steps_of_tables(rows, calls, looked) if looked else every
    return RankFacts(rank, str(found), kept, calls, tier="npu", tables_only=True, **_about(found, {}, looked))  # type: ignore[arg-type]


def _some(rows: dict[int, dict[str, int]], steps: str, found: Path, own: bool) -> Looked | None:
    """Which of the table's steps were asked for, None: all. It says how long each took, not when it began. With `own`
    all where it does not have these."""
    if steps in (ALL, AUTO) or (own and not {*numbers(steps, "steps")} <= rows.keys()):
        return None
    ends = [0, *accumulate(sum(row[name] for name in TOLD if name in row) for _, row in sorted(rows.items()))]
    choice = choice_of([Mark(*one) for one in zip(sorted(rows), ends, ends[1:])], steps, found)
    return choice.looked if choice else None


def _about(found: Path, about: dict[str, object], looked: Looked | None) -> dict[str, object]:
    meta = told.metadata(found)
    groups = told.groups(meta, about)
    links, own, sizes = told.links(found)
    packets = told.packets(found)
    if looked:
        links, packets = [], []  # what these carried in all steps tells nothing of some
    own_there, sizes_there = numbers_at(found)
    return {
        "groups": groups,
        "world_size": told.world_size(meta, about, groups),
        "links": tuple(links),
        "own_number": {**own_there, **own},
        "sizes": {**sizes_there, **sizes},
        "packets": tuple(packets),
        "looked": looked,
    }


def _steps_of_tables(rows: dict[int, dict[str, int]], calls: Calls, looked: Looked | None) -> tuple[StepParts, ...]:
    """Of step_trace_time.csv: its steps or those looked at, without its first where there are three or more."""
    found = []
    for number, row in sorted(rows.items()):
        if set(TOLD) <= row.keys() and (looked is None or looked.first <= number <= looked.last):
            parts = {**dict.fromkeys(PARTS, 0), "computing": row["Computing"], "communication": row[EXPOSED]}
            parts["free"] = row["Free"]
            start = int(calls.start_ns[calls.step == number].min(initial=2**62))
            found.append(StepParts(number, start, sum(parts.values()), parts, row.get("Bubble", 0)))
    return tuple(found[1:] if len(found) >= 3 and found[0].number == min(rows) else found)


def _steps(profile: Profile, calls: Calls) -> list[StepParts]:
    """The steady steps. Without a device the threads of gloo communicate: where no operator runs meanwhile it is
    exposed communication and not free time."""
    waiting = None
    if not profile.trace.on_device and len(calls):
        at_work = busy(profile.trace)
        waiting = (Intervals.of(calls.start_ns, calls.end_ns), at_work["computing"] | at_work["loading"])
    steps = []
    for step in profile.breakdown.steady:
        row = profile.told.get(step.number, {})
        parts = _with_waiting(step, *waiting) if waiting else step.parts_ns
        steps.append(StepParts(step.number, step.start_ns, step.total_ns, parts, row.get("Bubble", 0)))
    return steps


def _with_waiting(step: StepTime, calls: Intervals, working: Intervals) -> dict[str, int]:
    window = (step.start_ns, step.end_ns)
    at_work = working.within(*window)
    exposed = (at_work | calls.within(*window)).length_ns - at_work.length_ns
    return {**step.parts_ns, "communication": exposed, "free": step.parts_ns["free"] - exposed}


def rank_told(profile: Profile) -> int:
    """The rank that a profile tells of itself, 0 where it tells none."""
    distributed = profile.trace.about.get("distributedInfo")
    rank = distributed.get("rank") if isinstance(distributed, dict) else None
    return rank if isinstance(rank, int) and rank >= 0 else 0
