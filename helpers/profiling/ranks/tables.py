"""The tables of many ranks: a row a rank, a row a kind of collective, a row a link."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from helpers.finding import Finding
from helpers.profiling.breakdown import PARTS
from helpers.profiling.intervals import I64
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.rules.bubbles import bubble_ms
from helpers.profiling.ranks.savings import short
from helpers.profiling.ranks.transport import Compared, compared
from helpers.profiling.ranks.waiting import NOBODY
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

STAGE = "profiling"
LINKS = 40


def rank_table(cluster: Cluster) -> tuple[Table, Chart]:
    """Milliseconds of a mean step; the bars show what each rank needs by itself and how long it waits."""
    columns = [Column("rank"), *([Column("rank_stage"), Column("rank_bubble", "ms")] if cluster.stages else [])]
    columns += [Column("step_time", "ms"), *(Column(f"profiling_{part}", "ms") for part in PARTS)]
    columns += [Column("rank_wait", "ms"), Column("rank_waits_for")]
    columns += [Column("rank_steps")] if cluster.looked else []
    rows = tuple(tuple(_rank_row(cluster, rank)) for rank in cluster.ranks)
    bars = ("profiling_computing", "profiling_copy", "profiling_loading", "profiling_free", "profiling_communication")
    return Table(tuple(columns), rows), Chart("stacks", "rank", bars, "ms")


def _rank_row(cluster: Cluster, rank: int) -> list[Scalar]:
    stage: list[Scalar] = [cluster.stages[rank], bubble_ms(cluster, rank)] if cluster.stages else []
    waits: list[Scalar] = [cluster.wait_ms(rank), short(cluster, cluster.waited_for(rank))]
    parts: list[Scalar] = [cluster.ms(rank, part) for part in ("total", *PARTS)]
    return [rank, *stage, *parts, *waits, *([_steps(cluster, rank)] if cluster.looked else [])]


def _steps(cluster: Cluster, rank: int) -> Scalar:
    """Which steps of the rank were looked at, of how many; None: all."""
    looked = cluster.looked.get(rank)
    args: dict[str, Scalar] = {"first": looked.first, "last": looked.last, "steps": looked.steps} if looked else {}
    return {"say": "profiling.steps_of", "args": args} if looked else None


def collectives(cluster: Cluster, findings: Sequence[Finding], tier: str) -> Report | None:
    """A row a kind of collective, the means over the ranks that took part; None where there were none."""
    kinds = sorted({kind for one in cluster.ranks.values() for kind in one.calls.kind})
    if not kinds:
        return None
    rows = [row for row in (_kind_row(cluster, kind) for kind in kinds) if row]
    rows.sort(key=lambda row: -float(str(row[3])))
    columns = (Column("collective_kind"), Column("group_members"), Column("calls_per_step"),
               Column("collective_time", "ms"), Column("collective_wait", "ms"), Column("transmission", "ms"),
               Column("collective_size", "MB"), Column("collective_speed", "GB/s"), Column("last_rank"))  # fmt: skip
    chart = Chart("stacks", "collective_kind", ("collective_wait", "transmission"), "ms")
    facts = {"blames": [{**asdict(one), "who": short(cluster, one.who)} for one in cluster.blames()]}
    table = Table(columns, tuple(tuple(row) for row in rows))
    return Report(STAGE, "collectives", tuple(findings), table, chart, facts=facts, tier=tier)


def _kind_row(cluster: Cluster, kind: str) -> list[Scalar]:
    """Of one rank that takes part, the mean over all that do."""
    totals = np.zeros(4)
    last: list[I64] = []
    taking, members, whole = 0, 1, True
    for rank, facts in cluster.ranks.items():
        rows = cluster.rows_of(rank)
        at = cluster.matches.at[rows]
        mine = np.array([facts.calls.kind[one] == kind for one in at.tolist()], np.bool_)
        if not mine.any():
            continue
        wait, took = cluster.waits.wait_ns[rows][mine], facts.calls.duration_ns[at[mine]]
        sent = facts.calls.sent_bytes[at[mine]]
        size = math.nan if (sent < 0).any() else sent.sum() / 1e6
        totals += np.array([mine.sum(), took.sum() / 1e6, wait.sum() / 1e6, size]) / len(facts.steps)
        whole = whole and bool(cluster.told_whole[rows][mine].all())
        last.append(cluster.waits.waited_for[rows][mine])
        taking, members = taking + 1, max(members, int(cluster.matches.members[rows][mine].max()))
    if not taking:
        return []
    count, whole_ms, wait_ms, size_mb = (totals / taking).tolist()
    rest = whole_ms - wait_ms if whole else None
    size = None if math.isnan(size_mb) else size_mb
    speed = size / rest if size and rest else None
    return [kind, members, count, whole_ms, wait_ms, rest, size, speed, _often(cluster, np.concatenate(last))]


def _often(cluster: Cluster, waited_for: I64) -> Scalar:
    """Who was waited for most often; None where two were as often."""
    found, times = np.unique(waited_for[waited_for != NOBODY], return_counts=True)
    clear = found.size and (times == times.max()).sum() == 1
    return short(cluster, int(found[times.argmax()])) if clear else None


def links(cluster: Cluster, findings: Sequence[Finding], tier: str) -> Report | None:
    """The links, the slowest against its kind first; None where no bandwidth is told."""
    rows = compared(cluster)
    if not rows:
        return None
    columns = (Column("rank_link"), Column("transport"), Column("collective_kind"), Column("link_size", "MB"),
               Column("link_time", "ms"), Column("link_speed", "GB/s"), Column("link_usual", "GB/s"))  # fmt: skip
    table = Table(columns, tuple(map(_link_row, rows[:LINKS])))
    facts = {"links": len(rows), "shown": min(LINKS, len(rows))}
    chart = Chart("bars", "rank_link", ("link_speed",), "GB/s")
    return Report(STAGE, "links", tuple(findings), table, chart, facts=facts, tier=tier)


def packets(cluster: Cluster, findings: Sequence[Finding], tier: str) -> Report | None:
    """How fast packets of each size went, over all ranks, the slowest sizes' time first; None where no size is told."""
    summed: dict[tuple[str, float], tuple[int, float]] = {}
    for one in (one for facts in cluster.ranks.values() for one in facts.packets):
        count, time = summed.get((one.transport, one.size_mb), (0, 0.0))
        summed[one.transport, one.size_mb] = count + one.count, time + one.time_ms
    if not summed:
        return None
    rows = sorted(
        ((transport, size, count, time, size * count / time) for (transport, size), (count, time) in summed.items()),
        key=lambda row: -row[3],
    )
    columns = (Column("transport"), Column("packet_size", "MB"), Column("packet_count"), Column("link_time", "ms"),
               Column("link_speed", "GB/s"))  # fmt: skip
    chart = Chart("bars", "packet_size", ("link_speed",), "GB/s")
    return Report(STAGE, "packets", tuple(findings), Table(columns, tuple(rows[:LINKS])), chart, tier=tier)


def _link_row(one: Compared) -> tuple[Scalar, ...]:
    ends = f"{one.source} > {one.target}"
    return ends, one.transport, one.operation, one.size_mb, one.time_ms, one.gb_per_s, one.usual
