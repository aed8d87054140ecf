"""All ranks as one report: what was found, who waits for whom, who is slow, a row a rank; then each rank by itself.

Each is read in a process of its own, or on a machine of a Dask cluster. What comes back is JSON text, the same from
both: of two ways to hand over a result one would be wrong one day."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, Union

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import format_spans
from ascend_workbook.profiling.breakdown import PARTS
from ascend_workbook.profiling.figures import make_columns
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.ranks import rules
from ascend_workbook.profiling.ranks.causes import find_rank_causes
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.facts import RankFacts
from ascend_workbook.profiling.ranks.rules.links import compare_links
from ascend_workbook.profiling.ranks.rules.waiting import bubble_ms, short_rank_name
from ascend_workbook.profiling.ranks.waiting import NOBODY, compare_clocks
from ascend_workbook.profiling.readers import RankProfiles

STAGE = "profiling"
LINKS = 40


def rank_table(cluster: Cluster) -> tuple[Table, Chart]:
    """Return the table of the ranks, with the milliseconds of a mean step; the bars show what each rank needs by itself
    and how long it waits."""
    columns = [Column("rank"), *([Column("rank_stage"), Column("rank_bubble", "ms")] if cluster.stages else [])]
    columns += [Column("step_time", "ms"), *(Column(f"profiling_{part}", "ms") for part in PARTS)]
    columns += [Column("rank_wait", "ms"), Column("rank_waits_for")]
    columns += [Column("rank_steps")] if cluster.chosen_steps else []
    rows = tuple(tuple(_rank_row(cluster, rank)) for rank in cluster.ranks)
    bars = ("profiling_computing", "profiling_copy", "profiling_loading", "profiling_free", "profiling_communication")
    return Table(tuple(columns), rows), Chart("stacks", "rank", bars, "ms")


def _rank_row(cluster: Cluster, rank: int) -> list[Scalar]:
    stage: list[Scalar] = [cluster.stages[rank], bubble_ms(cluster, rank)] if cluster.stages else []
    waits: list[Scalar] = [cluster.wait_ms(rank), short_rank_name(cluster, cluster.find_longest_awaited(rank))]
    parts: list[Scalar] = [cluster.mean_part_ms(rank, part) for part in ("total", *PARTS)]
    looked = cluster.chosen_steps.get(rank)
    some = Sentence("profiling.steps_of", first=looked.first, last=looked.last, steps=looked.steps) if looked else None
    return [rank, *stage, *parts, *waits, *([some] if cluster.chosen_steps else [])]


def report_collectives(cluster: Cluster, findings: Sequence[Finding], tier: str) -> Report | None:
    """Report the collectives, a row a kind, with the means over the ranks that took part; None where there are none."""
    kinds = sorted({kind for item in cluster.ranks.values() for kind in item.calls.kind})
    if not kinds:
        return None
    rows = [row for row in (_row_of_kind(cluster, kind) for kind in kinds) if row]
    rows.sort(key=lambda row: -float(str(row[3])))
    whole = make_columns(collective_kind="", group_members="", calls_per_step="", collective_time="ms")
    parts = make_columns(collective_wait="ms", transmission="ms", collective_size="MB", collective_speed="GB/s")
    columns = (*whole, *parts, Column("last_rank"))
    chart = Chart("stacks", "collective_kind", ("collective_wait", "transmission"), "ms")
    facts = {"blames": [{**asdict(item), "who": short_rank_name(cluster, item.who)} for item in cluster.find_blames()]}
    table = Table(columns, tuple(tuple(row) for row in rows))
    return Report(STAGE, "collectives", tuple(findings), table, chart, facts=facts, tier=tier)


def _row_of_kind(cluster: Cluster, kind: str) -> list[Scalar]:
    """Return the row of a kind of collective: of one rank that takes part, the mean over all that do."""
    totals = np.zeros(4)
    last: list[I64] = []
    taking, members, whole = 0, 1, True
    for rank, facts in cluster.ranks.items():
        rows = cluster.rows_of(rank)
        at = cluster.matches.at[rows]
        of_kind = np.array([facts.calls.kind[call_index] == kind for call_index in at.tolist()], np.bool_)
        if not of_kind.any():
            continue
        wait, took = cluster.waits.wait_ns[rows][of_kind], facts.calls.duration_ns[at[of_kind]]
        sent = facts.calls.sent_bytes[at[of_kind]]
        size = math.nan if (sent < 0).any() else sent.sum() / 1e6
        totals += np.array([of_kind.sum(), took.sum() / 1e6, wait.sum() / 1e6, size]) / len(facts.steps)
        whole = whole and bool(cluster.fully_known_rows[rows][of_kind].all())
        last.append(cluster.waits.waited_for[rows][of_kind])
        taking, members = taking + 1, max(members, int(cluster.matches.members[rows][of_kind].max()))
    if not taking:
        return []
    count, whole_ms, wait_ms, size_mb = (totals / taking).tolist()
    rest = whole_ms - wait_ms if whole else None
    size = None if math.isnan(size_mb) else size_mb
    speed = size / rest if size and rest else None
    return [kind, members, count, whole_ms, wait_ms, rest, size, speed, _most_awaited(cluster, np.concatenate(last))]


def _most_awaited(cluster: Cluster, waited_for: I64) -> Scalar:
    """Return who was waited for most often; None where two were as often."""
    awaited_ranks, times = np.unique(waited_for[waited_for != NOBODY], return_counts=True)
    clear = awaited_ranks.size and (times == times.max()).sum() == 1
    return short_rank_name(cluster, int(awaited_ranks[times.argmax()])) if clear else None


def report_links(cluster: Cluster, findings: Sequence[Finding], tier: str) -> Report | None:
    """Report the links, the slowest against its kind first; None where no bandwidth is told."""
    rows = compare_links(cluster)
    if not rows:
        return None
    ends = make_columns(link_from="", link_to="", transport="", collective_kind="")
    columns = (*ends, *make_columns(link_size="MB", link_time="ms", link_speed="GB/s", link_usual="GB/s"))
    shown: tuple[tuple[Scalar, ...], ...] = tuple(
        (at.source, at.target, at.transport, at.operation, at.size_mb, at.time_ms, at.gb_per_s, at.usual)
        for at in rows[:LINKS]
    )
    table = Table(columns, shown)
    facts = {"links": len(rows), "shown": min(LINKS, len(rows))}
    chart = Chart("heat", "link_to", ("link_speed",), "GB/s", by="link_from")
    return Report(STAGE, "links", tuple(findings), table, chart, facts=facts, tier=tier)


def report_packets(cluster: Cluster, findings: Sequence[Finding], tier: str) -> Report | None:
    """Report how fast packets of each size went, over all ranks, the longest time first; None where no size is told."""
    summed: dict[tuple[str, float], tuple[int, float]] = {}
    for entry in (entry for facts in cluster.ranks.values() for entry in facts.packets):
        count, time = summed.get((entry.transport, entry.size_mb), (0, 0.0))
        summed[entry.transport, entry.size_mb] = count + entry.count, time + entry.time_ms
    if not summed:
        return None
    rows = sorted(
        ((transport, size, count, time, size * count / time) for (transport, size), (count, time) in summed.items()),
        key=lambda row: -row[3],
    )
    columns = make_columns(transport="", packet_size="MB", packet_count="", link_time="ms", link_speed="GB/s")
    chart = Chart("bars", "packet_size", ("link_speed",), "GB/s")
    return Report(STAGE, "packets", tuple(findings), Table(columns, tuple(rows[:LINKS])), chart, tier=tier)


#: What the verdict chooses from, the cause before what it brings about
CAUSES = ("PRF354", "PRF353", "PRF352", "PRF356", "PRF357")
#: Which finding is shown beside which table
#: Codes that belong to the report of another
WITH = {"PRF357": ("PRF349", "PRF359")}
BESIDE = {"PRF352": report_collectives, "PRF356": report_links, "PRF357": report_packets}
#: From more ranks than these the reports of the ranks that stand out and of the first ones are kept
WHOLE = 8


def analyse_ranks(rank_profiles: RankProfiles, answer: Answer, scheduler: str = "") -> Report:
    """Analyse all ranks in one report: a row a rank; the parts are the collectives, the links, and the reports of the
    ranks that could be read. A rank that cannot be read is a finding; raises WorkbookError only where none can."""
    outcomes = read_ranks_in_parallel(rank_profiles.profiles, answer, scheduler)
    read = {rank: outcome for rank, outcome in outcomes.items() if isinstance(outcome, RankAnswer)}
    unread = {rank: outcome for rank, outcome in outcomes.items() if isinstance(outcome, WorkbookError)}
    if not read:
        raise next(iter(unread.values()))
    run_ranks, *others = group_ranks_by_run({rank: outcome.facts for rank, outcome in read.items()})
    cluster = Cluster.from_ranks({rank: read[rank].facts for rank in run_ranks})
    faults = list(find_inventory_faults(rank_profiles, cluster, unread, [rank for run in others for rank in run]))
    return _make_report(cluster, faults, {rank: read[rank] for rank in run_ranks}, len(rank_profiles.profiles))


def reports_of_one_rank(facts: RankFacts) -> tuple[Report, ...]:
    """Return what one rank's own profile tells of its waits and links, as an NPU's does from level 1 on; else empty."""
    if not facts.steps or not ((facts.calls.told_wait_ns >= 0).any() or facts.links):
        return ()
    cluster = Cluster.from_ranks({facts.rank: facts})
    return tuple(_part_reports(cluster, judge_facts(cluster, rules_of(rules)), facts.tier))


def _part_reports(cluster: Cluster, judged: list[Finding], tier: str) -> list[Report]:
    """Return the reports of the collectives, the links and the packets, where the profile tells of these."""
    parts = [
        table(cluster, [finding for finding in judged if finding.rule in (code, *WITH.get(code, ()))], tier)
        for code, table in BESIDE.items()
    ]
    return [part for part in parts if part]


def _make_report(cluster: Cluster, faults: list[Finding], read: Mapping[int, RankAnswer], ranks: int) -> Report:
    judged = judge_facts(cluster, rules_of(rules))
    tiers = {item.facts.tier for item in read.values()}
    tier = next(iter(tiers)) if len(tiers) == 1 else ""
    own = {
        rank: replace(item.report, facts={**item.report.facts, "rank": rank})
        for rank, item in read.items()
        if item.report
    }
    status = max([item.status for item in judged] + [item.status for item in own.values()], default=Status.GOOD)
    findings = [_make_headline(cluster, judged, ranks, status), *faults, *judged]
    table, chart = rank_table(cluster)
    facts = {**_collect_facts(cluster), "causes": find_rank_causes(cluster, judged, own)}
    parts = [*_part_reports(cluster, judged, tier), *(own[rank] for rank in _choose_ranks_to_show(judged, list(own)))]
    return Report(STAGE, "ranks", tuple(findings), table, chart, facts=facts, tier=tier, parts=tuple(parts))


def _make_headline(cluster: Cluster, judged: list[Finding], ranks: int, status: Status) -> Finding:
    savings = [finding for finding in judged if finding.rule in CAUSES and finding.status in (Status.NOTE, Status.LOOK)]
    args: dict[str, Scalar] = {"read": len(cluster.ranks), "ranks": ranks}
    if savings:
        most = max(finding.weight for finding in savings)
        worth = min(
            (finding for finding in savings if finding.weight >= most / 2),
            key=lambda finding: CAUSES.index(finding.rule),
        )
        args["what"] = Sentence(worth.key, **worth.args)
        return Finding("PRF310", status, "PRF310.ranks_saving", args, weight=1000.0)
    computing = {rank: cluster.mean_part_ms(rank, "computing") for rank in cluster.ranks}
    most, least = (choose(computing, key=computing.__getitem__) for choose in (max, min))
    args |= {"most": most, "most_ms": round(computing[most], 3)}
    args |= {"least": least, "least_ms": round(computing[least], 3)}
    return Finding("PRF310", status, "PRF310.ranks", args, weight=1000.0)


def _choose_ranks_to_show(judged: list[Finding], ranks: list[int]) -> list[int]:
    """Return the ranks whose own reports are kept: all, or of many those that findings name and the first ones."""
    if len(ranks) <= WHOLE:
        return ranks
    open_args = [finding.args for finding in judged if finding.status is not Status.GOOD]
    named = [args.get(name) for args in open_args for name in ("rank", "waited_rank")]
    return sorted(list(dict.fromkeys([*(rank for rank in ranks if rank in named), *ranks]))[:WHOLE])


def _collect_facts(cluster: Cluster) -> dict[str, object]:
    return {
        "ranks": list(cluster.ranks),
        "world_size": cluster.world_size,
        "stages": {str(rank): stage for rank, stage in cluster.stages.items()},
        "step_ms": cluster.step_ms,
        "steady_steps": {str(rank): [step.number for step in item.steps] for rank, item in cluster.ranks.items()},
        "looked": {str(rank): asdict(item) for rank, item in cluster.chosen_steps.items()},
        "clocks": {str(rank): asdict(clock) for rank, clock in cluster.clocks.items()},
        "clocks_set_right": sorted(cluster.shifted_clocks()),
        "matched_collectives": int(np.unique(cluster.matches.collective[cluster.matches.members > 1]).size),
    }


CODE = "PRF350"


def find_inventory_faults(
    rank_profiles: RankProfiles, cluster: Cluster, unread: Mapping[int, WorkbookError], others: list[int]
) -> Iterator[Finding]:
    """Yield one finding for each profile that is unread, doubled, missing or of another run."""
    for rank, error in unread.items():
        reason: Scalar = Sentence(error.key, **error.arguments)
        yield Finding("PRF310", Status.FIX, "PRF310.unread", {"rank": rank, "error": reason})
    for rank, older in rank_profiles.older.items():
        used = rank_profiles.profiles[rank]
        twice: dict[str, Scalar] = {"rank": rank, "count": len(older) + 1, "used": used.name}
        yield Finding(CODE, Status.LOOK, "PRF350.twice", twice, Place(str(used)))
    for path in rank_profiles.untold:
        yield Finding(CODE, Status.LOOK, "PRF350.untold", {"path": str(path)}, Place(str(path)))
    if others:
        args: dict[str, Scalar] = {"others": list(others), "kept": list(cluster.ranks)}
        yield Finding(CODE, Status.LOOK, "PRF350.other_run", args)
    tables = [rank for rank, facts in cluster.ranks.items() if facts.tables_only]
    if tables:
        yield Finding(CODE, Status.NOTE, "PRF350.tables", {"ranks": list(tables)})
    world = cluster.world_size
    if missing := [rank for rank in range(world) if rank not in rank_profiles.profiles]:
        args = {"ranks": world - len(missing), "world": world, "missing": format_spans(missing)}
        yield Finding(CODE, Status.NOT_LOOKED, "PRF350.missing", args)


#: Clocks of one run are not further apart than this without the ends of their collectives saying by how much
FAR_NS, EXACT_NS = 60 * 10**9, 5_000_000
#: And their steps not, where they share no collective
APART_NS = 600 * 10**9
UNKNOWN_NS = 2**62


def group_ranks_by_run(ranks: Mapping[int, RankFacts]) -> list[list[int]]:
    """Return the ranks by their runs, the largest run first and of equal ones the latest."""
    groups: list[list[int]] = []
    for rank, facts in sorted(ranks.items()):
        own_group = next((run for run in groups if _is_same_run(ranks[run[0]], facts)), None)
        if own_group is None:
            groups.append(own_group := [])
        own_group.append(rank)
    return sorted(groups, key=lambda run: (len(run), _first_start_ns(ranks[run[0]])), reverse=True)


def _is_same_run(first: RankFacts, other: RankFacts) -> bool:
    if first.world_size and other.world_size and first.world_size != other.world_size:
        return False
    clock = compare_clocks({0: first, 1: other})[1]
    if clock.shared:
        return abs(clock.ahead_ns) < FAR_NS or (clock.shared >= 3 and clock.spread_ns < EXACT_NS)
    times = [
        (_first_start_ns(facts), _first_start_ns(facts) + sum(step.total_ns for step in facts.steps))
        for facts in (first, other)
    ]
    if any(begin >= UNKNOWN_NS for begin, _ in times):
        return True
    return max(begin for begin, _ in times) - min(end for _, end in times) < APART_NS


def _first_start_ns(facts: RankFacts) -> int:
    return min(step.start_ns for step in facts.steps)


#: (path, rank) -> what `answer_to_json` gives; a function that processes and machines can share
Answer = Callable[[str, int], str]


class RankAnswer(NamedTuple):
    """What one rank's profile says; `report` is None where only tables are there."""

    facts: RankFacts
    report: Report | None


Outcome = Union[RankAnswer, WorkbookError]


def answer_to_json(read: Callable[[], RankAnswer]) -> str:
    """Return an answer as JSON text; an error as its key and arguments."""
    try:
        facts, report = read()
    except WorkbookError as error:
        return json.dumps({"error": error.key, "args": error.arguments})
    return json.dumps({"facts": facts.to_dict(), "report": report.to_json() if report else None})


def read_ranks_in_parallel(profiles: Mapping[int, Path], answer: Answer, scheduler: str = "") -> dict[int, Outcome]:
    """Read every rank and return its answer by rank. Raises WorkbookError where the cluster cannot be used."""
    paths = {rank: str(path.resolve()) for rank, path in profiles.items()}
    texts = _on_cluster(paths, answer, scheduler) if scheduler else _in_processes(paths, answer)
    return {rank: _parse_outcome(text) for rank, text in texts.items()}


def _in_processes(paths: Mapping[int, str], answer: Answer) -> dict[int, str]:
    from concurrent.futures import ProcessPoolExecutor  # not needed where there is one rank
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(min(len(paths), os.cpu_count() or 1)) as processes:
        futures = {rank: processes.submit(answer, path, rank) for rank, path in paths.items()}
    texts = {}
    for rank, future in futures.items():
        try:
            texts[rank] = future.result()
        except BrokenProcessPool:  # one that is killed takes the others' with it, so each of these is read alone
            with ProcessPoolExecutor(1) as process:
                try:
                    texts[rank] = process.submit(answer, paths[rank], rank).result()
                except BrokenProcessPool as cause:
                    texts[rank] = json.dumps(
                        {"error": "ranks.process_lost", "args": {"rank": rank, "error": str(cause)}}
                    )
    return texts


def _on_cluster(paths: Mapping[int, str], answer: Answer, address: str) -> dict[int, str]:
    from ascend_workbook.machine.scheduler import connect_client, explain_loss, wait_for

    with connect_client(address) as client:
        futures = client.map(answer, list(paths.values()), list(paths), pure=False)
        wait_for(client, address, futures)
        texts = {}
        for rank, future in zip(paths, futures):
            why = explain_loss(address, future)
            lost = json.dumps({"error": "ranks.machine_lost", "args": {"rank": rank, "error": why}})
            texts[rank] = str(future.result()) if why is None else lost
        return texts


def _parse_outcome(text: str) -> Outcome:
    content = json.loads(text)
    if "error" in content:
        return WorkbookError(content["error"], **content["args"])
    report = Report.from_json(content["report"]) if content["report"] else None
    return RankAnswer(RankFacts.from_dict(content["facts"]), report)
