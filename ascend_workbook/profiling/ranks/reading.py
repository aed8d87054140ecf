"""The facts of one rank from its profile: of its trace, or where only tables were kept, of these."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.number_lists import parse_numbers
from ascend_workbook.profiling.breakdown import PARTS, StepTime, busy_intervals
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.intervals import Intervals
from ascend_workbook.profiling.ranks import told
from ascend_workbook.profiling.ranks.calls import Calls
from ascend_workbook.profiling.ranks.facts import RankFacts, StepParts
from ascend_workbook.profiling.ranks.recorded import calls_at, group_numbers_at
from ascend_workbook.profiling.readers import locate_profile, read_step_table
from ascend_workbook.profiling.readers.choice import ALL, AUTO, Mark, choice_of
from ascend_workbook.profiling.trace import Looked

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
    """Read one rank; `steps`: see readers.read_trace; with `own` a rank that does not have these chooses some of its
    own, and says so. Raises WorkbookError where neither a trace nor the tables can be read."""
    profile_path = locate_profile(path)
    try:
        profile = _load_steps(path, steps, own)
    except WorkbookError as error:
        if error.key != "profiling.not_parsed":
            raise
        return RankRead(_facts_of_tables(profile_path, rank, error, steps, own), None)
    return RankRead(facts_of(profile, profile_path, rank), profile)


def _load_steps(path: Path, steps: str, own: bool) -> Profile:
    try:
        return load_profile(path, steps)
    except WorkbookError as error:
        if not own or error.key not in OTHER_STEPS:
            raise
        profile = load_profile(path, AUTO)
        args = {"asked": steps, "here": error.arguments.get("here")}
        remark = Sentence(OTHER_STEPS[error.key], **args)
        return replace(profile, trace=replace(profile.trace, remarks=(*profile.trace.remarks, remark)))


def facts_of(profile: Profile, profile_path: Path, rank: int) -> RankFacts:
    """Return the facts of a profile that was read from `profile_path`."""
    calls = calls_at(profile_path, profile.trace)
    bare = profile.trace.dialect == "ascend" and not profile.trace.count_events("host_op")
    looked = profile.trace.looked
    steps = _steps_of_tables(profile.told, calls, looked) if bare else ()
    steps = steps or tuple(_steady_steps(profile, calls))
    if looked:
        calls = calls.of_steps({step.number for step in profile.trace.steps})  # of others not all are there
    facts = RankFacts(
        rank,
        str(profile_path),
        steps,
        calls,
        tier=profile.tier,
        simulated=profile.simulated,
        on_device=profile.trace.on_device,
        host=str(profile.trace.about.get("host_name") or ""),
        looked=looked,
    )
    return _add_outputs(facts, profile_path, profile.trace.about)


def _facts_of_tables(profile_path: Path, rank: int, error: WorkbookError, steps: str, own: bool) -> RankFacts:
    calls = calls_at(profile_path, None)
    rows = read_step_table(profile_path)
    every = _steps_of_tables(rows, calls, None)
    if not every:
        raise error
    looked = _choose_table_steps(rows, steps, profile_path, own)
    chosen_steps = _steps_of_tables(rows, calls, looked) if looked else every
    facts = RankFacts(rank, str(profile_path), chosen_steps, calls, tier="npu", tables_only=True, looked=looked)
    return _add_outputs(facts, profile_path, {})


def _choose_table_steps(rows: dict[int, dict[str, int]], steps: str, profile_path: Path, own: bool) -> Looked | None:
    """Choose which of the table's steps were asked for, None: all. It says how long each took, not when it began. With
    `own` all where it does not have these."""
    if steps in (ALL, AUTO) or (own and not {*parse_numbers(steps, "steps")} <= rows.keys()):
        return None
    ends = [0, *accumulate(sum(row[name] for name in TOLD if name in row) for _, row in sorted(rows.items()))]
    choice = choice_of([Mark(*span) for span in zip(sorted(rows), ends, ends[1:])], steps, profile_path)
    return choice.looked_steps if choice else None


def _add_outputs(facts: RankFacts, profile_path: Path, about: dict[str, object]) -> RankFacts:
    """Add what the profiler's files beside the times say: groups, world size, links and packets."""
    meta = told.read_metadata(profile_path)
    groups = told.read_groups(meta, about)
    links, own, sizes = told.read_links(profile_path)
    packets = told.read_packets(profile_path)
    if facts.looked:
        links, packets = [], []  # what these carried in all steps tells nothing of some
    own_there, sizes_there = group_numbers_at(profile_path)
    return replace(
        facts,
        groups=groups,
        world_size=told.find_world_size(meta, about, groups),
        links=tuple(links),
        own_number={**own_there, **own},
        sizes={**sizes_there, **sizes},
        packets=tuple(packets),
    )


def _steps_of_tables(rows: dict[int, dict[str, int]], calls: Calls, looked: Looked | None) -> tuple[StepParts, ...]:
    """Return the steps of step_trace_time.csv or those looked at, without its first where there are three or more."""
    step_parts = []
    for number, row in sorted(rows.items()):
        if set(TOLD) <= row.keys() and (looked is None or looked.first <= number <= looked.last):
            parts = {**dict.fromkeys(PARTS, 0), "computing": row["Computing"], "communication": row[EXPOSED]}
            parts["free"] = row["Free"]
            start = int(calls.start_ns[calls.step == number].min(initial=2**62))
            step_parts.append(StepParts(number, start, sum(parts.values()), parts, row.get("Bubble", 0)))
    return tuple(step_parts[1:] if len(step_parts) >= 3 and step_parts[0].number == min(rows) else step_parts)


def _steady_steps(profile: Profile, calls: Calls) -> list[StepParts]:
    """Return the steady steps. Without a device gloo's threads communicate: where no operator runs meanwhile, that is
    exposed communication and not free time."""
    waiting = None
    if not profile.trace.on_device and len(calls):
        at_work = busy_intervals(profile.trace)
        waiting = (Intervals.union_of(calls.start_ns, calls.end_ns), at_work["computing"] | at_work["loading"])
    steps = []
    for step in profile.breakdown.steady:
        row = profile.told.get(step.number, {})
        parts = _with_waiting(step, *waiting) if waiting else step.parts_ns
        steps.append(StepParts(step.number, step.start_ns, step.total_ns, parts, row.get("Bubble", 0)))
    return steps


def _with_waiting(step: StepTime, calls: Intervals, working: Intervals) -> dict[str, int]:
    window = (step.start_ns, step.end_ns)
    at_work = working.clip_to(*window)
    exposed = (at_work | calls.clip_to(*window)).length_ns - at_work.length_ns
    return {**step.parts_ns, "communication": exposed, "free": step.parts_ns["free"] - exposed}


def read_stated_rank(profile: Profile) -> int:
    """Return the rank that a profile states for itself, 0 where it states none."""
    distributed = profile.trace.about.get("distributedInfo")
    rank = distributed.get("rank") if isinstance(distributed, dict) else None
    return rank if isinstance(rank, int) and rank >= 0 else 0
