"""The facts of one rank from its profile: of its trace, or where only tables were kept, of these; and of
the files beside them: how many ranks there are, the groups, the links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.number_lists import parse_numbers
from ascend_workbook.profiling.breakdown import PARTS, busy_intervals
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.intervals import Intervals
from ascend_workbook.profiling.ranks import collectives
from ascend_workbook.profiling.ranks.collectives import calls_at, is_positive_number
from ascend_workbook.profiling.ranks.facts import Calls, Group, Link, Packets, RankFacts, StepParts
from ascend_workbook.profiling.ranks.shapes import count_shapes
from ascend_workbook.profiling.readers import locate_profile, read_step_table
from ascend_workbook.profiling.readers.choice import ALL, AUTO, Mark, choice_of
from ascend_workbook.profiling.readers.database import find_database
from ascend_workbook.profiling.trace import Looked

#: Why the steps of the other ranks are not in this one, and what is then said
OTHER_STEPS = {"profiling.no_such_steps": "PRF302.others", "profiling.steps_without_marks": "PRF302.others_unmarked"}
EXPOSED = "Communication(Not Overlapped)"
#: The columns of the profiler's table that a step is made of
TOLD = ("Computing", EXPOSED, "Free")


def read_rank(path: Path, rank: int, steps: str = ALL, own: bool = False) -> tuple[RankFacts, Profile | None]:
    """Read one rank: its facts and profile, None where only tables are there. `steps`: see readers.read_trace; with
    `own` a rank that does not have these chooses some of its own, and says so. Raises WorkbookError where neither a
    trace nor the tables can be read."""
    profile_path = locate_profile(path)
    try:
        profile = _load_steps(path, steps, own)
    except WorkbookError as error:
        if error.key != "profiling.not_parsed":
            raise
        return _facts_of_tables(profile_path, rank, error, steps, own), None
    return facts_of(profile, profile_path, rank), profile


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
        shapes=count_shapes(profile),
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
    exported = find_database(profile_path) if profile_path.is_dir() else None
    meta = collectives.read_metadata(profile_path, exported) if profile_path.is_dir() else {}
    groups = read_groups(meta, about)
    links, own, sizes = read_links(profile_path)
    packets = read_packets(profile_path)
    if facts.looked:
        links, packets = [], []  # what these carried in all steps tells nothing of some
    own_there, sizes_there = collectives.group_numbers_at(profile_path)
    return replace(
        facts,
        groups=groups,
        world_size=find_world_size(meta, about, groups),
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
    """Return the steady steps. Without a device what gloo's threads do while no operator runs is no free time."""
    waiting = None
    if not profile.trace.on_device and len(calls):
        at_work = busy_intervals(profile.trace)
        waiting = (Intervals.union_of(calls.start_ns, calls.end_ns), at_work["computing"] | at_work["loading"])
    steps = []
    for step in profile.breakdown.steady:
        row, parts = profile.told.get(step.number, {}), step.parts_ns
        if waiting:
            gloo, working = (intervals.clip_to(step.start_ns, step.end_ns) for intervals in waiting)
            exposed = (working | gloo).length_ns - working.length_ns
            parts = {**parts, "communication": exposed, "free": parts["free"] - exposed}
        steps.append(StepParts(step.number, step.start_ns, step.total_ns, parts, row.get("Bubble", 0)))
    return steps


def read_stated_rank(profile: Profile) -> int:
    """Return the rank that a profile states for itself, 0 where it states none."""
    distributed = profile.trace.about.get("distributedInfo")
    rank = distributed.get("rank") if isinstance(distributed, dict) else None
    return rank if isinstance(rank, int) and rank >= 0 else 0


MATRIX = "communication_matrix.json"
TOTAL = "-total"
SIZES = "Size Distribution"


def find_world_size(meta: dict[str, object], about: dict[str, object], groups: tuple[Group, ...]) -> int:
    """Return how many ranks the run had, or 0."""
    places = (meta.get("distributed_args"), about.get("distributedInfo"))
    stated_sizes = [place.get("world_size") for place in places if isinstance(place, dict)]
    sizes = [int(str(size)) for size in stated_sizes if str(size).isdecimal()]
    return max([*sizes, *(len(group.members) for group in groups)], default=0)


def read_groups(meta: dict[str, object], about: dict[str, object]) -> tuple[Group, ...]:
    """Return the groups that this rank is in, by torch_npu's metadata or Kineto's distributedInfo."""
    by_npu = meta.get("parallel_group_info")
    named_ranks: list[tuple[object, Any]] = [
        (group.get("group_name"), group.get("global_ranks")) for group in _list_dicts(by_npu)
    ]
    distributed = about.get("distributedInfo")
    by_kineto = distributed.get("pg_config") if isinstance(distributed, dict) else None
    named_ranks += [(group.get("pg_name"), group.get("ranks")) for group in _list_dicts(by_kineto)]
    return tuple(
        Group(str(name), tuple(ranks))
        for name, ranks in named_ranks
        if (isinstance(ranks, list) and all(type(rank) is int and rank >= 0 for rank in ranks))
    )


def _list_dicts(content: object) -> list[dict[str, object]]:
    values = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return [value for value in values if isinstance(value, dict)]


def read_links(folder: Path) -> tuple[list[Link], dict[str, int], dict[str, int]]:
    """Read communication_matrix.json, or analysis.db: the links, which member of each group the rank is, and how many
    it has at least."""
    rank_links: list[Link] = []
    own: dict[str, int] = {}
    sizes: dict[str, int] = {}
    operations = collectives.load_operations(folder, MATRIX)
    for _, name, group, links_by_ends in collectives.iterate_operations(operations):
        for ends, link in links_by_ends.items():
            source, _, target = ends.partition("-")
            if not (source.isdecimal() and target.isdecimal() and isinstance(link, dict)):
                continue
            own[group] = int(source)
            sizes[group] = max(sizes.get(group, 0), int(source) + 1, int(target) + 1)
            size, time = (link.get(key, 0) for key in ("Transit Size(MB)", "Transit Time(ms)"))
            if name.endswith(TOTAL) and source != target and is_positive_number(size) and is_positive_number(time):
                transport = str(link.get("Transport Type"))
                rank_links.append(Link(group, name[: -len(TOTAL)], int(source), int(target), transport, size, time))
    return rank_links, own, sizes


def read_packets(folder: Path) -> list[Packets]:
    """Read from communication.json, or analysis.db, the sizes of what was sent, by transport."""
    summed: dict[tuple[str, float], tuple[int, float]] = {}
    operations = collectives.load_operations(folder, collectives.COMMUNICATION)
    for _, _, _, values in collectives.iterate_operations(operations):
        for transport, size, count, time in _packet_sizes(values.get("Communication Bandwidth Info")):
            before = summed.get((transport, size), (0, 0.0))
            summed[transport, size] = before[0] + count, before[1] + time
    return [Packets(transport, size, *values) for (transport, size), values in sorted(summed.items())]


def _packet_sizes(bandwidth: object) -> Iterator[tuple[str, float, int, float]]:
    for transport, attributes in bandwidth.items() if isinstance(bandwidth, dict) else ():
        spread = attributes.get(SIZES) if isinstance(attributes, dict) else None
        for size, pair in spread.items() if isinstance(spread, dict) else ():
            amount = _parse_amount(size)
            if amount > 0 and isinstance(pair, list) and len(pair) == 2 and all(map(is_positive_number, pair)):
                yield transport, amount, int(pair[0]), float(pair[1])


def _parse_amount(text: str) -> float:
    """Return the value of a text such as `9.6e-05`; 0 for what is no number."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if is_positive_number(value) else 0.0
