"""The tables of many ranks: a row a rank, a row a kind of collective, a row a link."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.breakdown import PARTS
from ascend_workbook.profiling.figures import make_columns
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.rules.links import compare_links
from ascend_workbook.profiling.ranks.rules.waiting import bubble_ms, short_rank_name
from ascend_workbook.profiling.ranks.waiting import NOBODY

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
    ends = make_columns(rank_link="", transport="", collective_kind="")
    columns = (*ends, *make_columns(link_size="MB", link_time="ms", link_speed="GB/s", link_usual="GB/s"))
    shown: tuple[tuple[Scalar, ...], ...] = tuple(
        (f"{at.source} > {at.target}", at.transport, at.operation, at.size_mb, at.time_ms, at.gb_per_s, at.usual)
        for at in rows[:LINKS]
    )
    table = Table(columns, shown)
    facts = {"links": len(rows), "shown": min(LINKS, len(rows))}
    chart = Chart("bars", "rank_link", ("link_speed",), "GB/s")
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
