"""Who waits for whom: in collectives for a late rank, for a rank that needs longer itself, between pipeline stages."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.figures import round_ms, to_percent
from ascend_workbook.profiling.ranks.cluster import Blame, Cluster
from ascend_workbook.profiling.ranks.waiting import FIRST_UNMAPPED, NOBODY

WORTH, MUCH = 0.03, 0.10


def make_saving_finding(cluster: Cluster, code: str, key: str, gain_ms: float, args: dict[str, Scalar]) -> Finding:
    """Make the finding of a saving: a NOTE, from a tenth of the step on a Look; on a simulated NPU always a NOTE, for
    its times are the CPU's."""
    share = gain_ms / cluster.step_ms
    status = Status.LOOK if share >= MUCH and not cluster.is_simulated else Status.NOTE
    all_args = {**args, "gain_ms": round_ms(gain_ms), "share": to_percent(share)}
    return Finding(code, status, f"{code}.{key}", all_args, weight=100 * share)


def is_worth_telling(cluster: Cluster, gain_ms: float) -> bool:
    """Return whether the saving is long enough to be told."""
    return gain_ms >= WORTH * cluster.step_ms


def name_waited_rank(cluster: Cluster, who: int) -> Sentence:
    """Return the rank that is waited for, in words."""
    if who == NOBODY:
        return Sentence("ranks.nobody")
    if who > FIRST_UNMAPPED:
        return Sentence("ranks.rank", number=who)
    _, number = cluster.waits.unmapped[FIRST_UNMAPPED - who]
    return Sentence("ranks.of_its_group", number=number)


def short_rank_name(cluster: Cluster, who: int) -> Scalar:
    """Return the rank that is waited for as a table's cell: its number where it has one, None for nobody."""
    return who if who >= 0 else None if who == NOBODY else name_waited_rank(cluster, who)


BASIS = {"PRF353": "reasoned"}
#: A rank is the late one where it is waited for so many times as long as the next
CLEARLY = 1.5


def check_late_ranks(cluster: Cluster) -> Iterator[Finding]:
    """Does a rank wait in collectives for one that comes late? That is waiting and no transmission. The members of a
    collective finish together, so each waits for the last to arrive. Whether the collective then takes long is another
    question. An NPU's Notify_Wait names the peer, also where that one's profile is not among these.
    https://www.hiascend.com/document (HCCL: Notify Wait and Notify Record tasks)"""
    if not any(len(item.calls) for item in cluster.ranks.values()):
        yield Finding("PRF352", Status.GOOD, "PRF352.none")
        return
    tells_waits = any((item.calls.told_wait_ns >= 0).any() for item in cluster.ranks.values())
    if not tells_waits and not (cluster.matches.members > 1).any():
        raise CannotCheck("PRF352.alone" if len(cluster.ranks) == 1 else "PRF352.unmatched")
    unseen = float(cluster.unseen_ms())
    if is_worth_telling(cluster, unseen):
        yield Finding("PRF352", Status.NOT_LOOKED, "PRF352.unseen_members", {"rest_ms": round_ms(unseen)})
    costly_blames = [item for item in cluster.find_blames() if is_worth_telling(cluster, item.gain_ms)]
    for blame in costly_blames:
        yield _blame_rank(cluster, blame)
    if not costly_blames:
        longest = max(cluster.wait_ms(rank, across=False) for rank in cluster.ranks)
        key = "PRF352.short_in_stage" if cluster.stages else "PRF352.short"
        yield Finding("PRF352", Status.GOOD, key, {"wait_ms": round_ms(longest)})


def _blame_rank(cluster: Cluster, blame: Blame) -> Finding:
    times = int(cluster.matches.rank[cluster.rows_of(blame.waiting, across=False)].size)
    calls = cluster.ranks[blame.waiting].calls
    rows = cluster.rows_of(blame.waiting)
    whole = int(calls.duration_ns[cluster.matches.at[rows]].sum()) / len(cluster.ranks[blame.waiting].steps) / 1e6
    args: dict[str, Scalar] = {
        "rank": blame.waiting,
        "waited": name_waited_rank(cluster, blame.who),
        "waited_rank": blame.who if blame.who >= 0 else None,
        "wait_ms": round_ms(blame.wait_ms),
        "whole_ms": round_ms(whole),
        "times": blame.times,
        "calls": times,
    }
    if blame.who != NOBODY and blame.wait_ms < CLEARLY * _rival_ms(cluster, blame):
        return make_saving_finding(cluster, "PRF352", "in_turn", blame.gain_ms, {**args, "waited_rank": None})
    known = "seen" if blame.who in cluster.ranks else "unnamed" if blame.who == -1 else "unseen"
    return make_saving_finding(cluster, "PRF352", known, blame.gain_ms, args)


def _rival_ms(cluster: Cluster, blame: Blame) -> float:
    """Return the longest that the rank waits for another, or the one blamed for the rank, in milliseconds a step."""
    waits, own_rows = cluster.waits, cluster.rows_of(blame.waiting, across=False)
    others = {int(who) for who in waits.waited_for[own_rows]} - {blame.who, NOBODY}
    rows = [(blame.waiting, own_rows & (waits.waited_for == who)) for who in others]
    if blame.who in cluster.ranks:
        rows_of_blamed = cluster.rows_of(blame.who, across=False)
        rows.append((blame.who, rows_of_blamed & (waits.waited_for == blame.waiting)))
    waits_ms = (int(waits.wait_ns[mask].sum()) / len(cluster.ranks[rank].steps) / 1e6 for rank, mask in rows)
    return max(waits_ms, default=0.0)


PARTS = ("computing", "copy", "loading", "free")
#: A difference counts from this many times the usual spread on
SURE = 3


def check_slow_ranks(cluster: Cluster) -> Iterator[Finding]:
    """Does one rank need longer for itself than those that do the same work? In which part, and what would it save?
    Each rank's own time is its step without the communication that nothing hides; the others wait as long. It is held
    against the median of its peers (the ranks of the same pipeline stage), which leaves the rank itself out, so that
    two ranks are enough. What the steps, or the peers among each other, spread by is not called slow."""
    if len(cluster.ranks) < 2:
        raise CannotCheck("PRF353.one")
    compared = [rank for rank in cluster.ranks if cluster.find_peers(rank)]
    if not compared:
        raise CannotCheck("PRF353.no_peers")
    slow = [
        rank
        for rank in compared
        if is_worth_telling(cluster, _excess_ms(cluster, rank, "own")) and _is_sure(cluster, rank)
    ]
    for rank in slow:
        yield _report_slow_rank(cluster, rank)
    if not slow:
        yield _report_alike(cluster, compared)


def _report_alike(cluster: Cluster, compared: list[int]) -> Finding:
    """Report that the ranks need equally long, with the span among those of equal work: of stages the widest."""
    spans = []
    for stage in {cluster.stages.get(rank) for rank in compared}:
        own = [cluster.mean_part_ms(rank, "own") for rank in compared if cluster.stages.get(rank) == stage]
        spans.append((max(own) - min(own), min(own), max(own), stage))
    _, least, most, stage = max(spans, key=lambda span: span[0])
    args: dict[str, Scalar] = {"least_ms": round_ms(least), "most_ms": round_ms(most), "stage": stage}
    return Finding("PRF353", Status.GOOD, "PRF353.alike" if stage is None else "PRF353.alike_in_stages", args)


def _excess_ms(cluster: Cluster, rank: int, part: str) -> float:
    """Return how many milliseconds a step the rank needs more than the median of its peers."""
    return cluster.mean_part_ms(rank, part) - median(
        cluster.mean_part_ms(other, part) for other in cluster.find_peers(rank)
    )


def _is_sure(cluster: Cluster, rank: int) -> bool:
    """Return whether the rank's excess is more than the peers differ among each other, and so in step after step."""
    peers = [cluster.mean_part_ms(other, "own") for other in cluster.find_peers(rank)]
    usual = median(peers)
    spread = median(abs(value - usual) for value in peers) if len(peers) > 2 else 0.0
    own_steps = {step.number: step.own_ns for step in cluster.ranks[rank].steps}
    others = [{step.number: step.own_ns for step in cluster.ranks[peer].steps} for peer in cluster.find_peers(rank)]
    shared = set(own_steps).intersection(*others)
    more = [(own_steps[number] - median(other[number] for other in others)) / 1e6 for number in sorted(shared)]
    middle = median(more) if more else 0.0
    noise = median(abs(value - middle) for value in more) if len(more) > 2 else 0.0
    above = cluster.mean_part_ms(rank, "own") - usual
    return above > SURE * spread and (not more or middle > noise)


def _report_slow_rank(cluster: Cluster, rank: int) -> Finding:
    part = max(PARTS, key=lambda name: _excess_ms(cluster, rank, name))
    fastest = min(cluster.mean_part_ms(other, "own") for other in cluster.find_peers(rank))
    gain = min(_excess_ms(cluster, rank, "own"), cluster.step_ms)
    args: dict[str, Scalar] = {
        "rank": rank,
        "own_ms": round_ms(cluster.mean_part_ms(rank, "own")),
        "others_ms": round_ms(cluster.mean_part_ms(rank, "own") - _excess_ms(cluster, rank, "own")),
        "part": Sentence(f"ranks.part.{part}"),
        "part_ms": round_ms(_excess_ms(cluster, rank, part)),
        "fastest_ms": round_ms(min(cluster.mean_part_ms(rank, "own") - fastest, cluster.step_ms)),
        "todo": Sentence(f"ranks.todo.{part}"),
    }
    return make_saving_finding(cluster, "PRF353", "slow", gain, args)


def check_stages(cluster: Cluster) -> Iterator[Finding]:
    """Do the stages of a pipeline compute equally long? The slowest sets the pace of each micro-batch. A micro-batch
    takes as long as its slowest stage, so with the same work spread evenly a step is shorter by no more than what the
    slowest stage computes above the mean of all. https://arxiv.org/abs/2104.04473 (pipeline schedules)"""
    if not cluster.stages:
        return
    ranks = {stage: [rank for rank, at in cluster.stages.items() if at == stage] for stage in cluster.stages.values()}
    ms = {
        stage: mean(cluster.mean_part_ms(rank, "computing") for rank in stage_ranks)
        for stage, stage_ranks in ranks.items()
    }
    slowest, fastest = max(ms, key=ms.__getitem__), min(ms, key=ms.__getitem__)
    gain = ms[slowest] - mean(ms.values())
    args: dict[str, Scalar] = {
        "stage": slowest,
        "ranks": [*sorted(ranks[slowest])],
        "most_ms": round_ms(ms[slowest]),
        "fastest": fastest,
        "least_ms": round_ms(ms[fastest]),
        "times": round(ms[slowest] / ms[fastest], 2) if ms[fastest] else None,
        "mean_ms": round_ms(mean(ms.values())),
    }
    if is_worth_telling(cluster, gain):
        yield make_saving_finding(cluster, "PRF354", "uneven", gain, args)
    else:
        yield Finding("PRF354", Status.GOOD, "PRF354.even", args)


def bubble_ms(cluster: Cluster, rank: int) -> float:
    """Return what a rank waits for other stages a step, by arrivals or by the profiler's own table: the longer."""
    steps = cluster.ranks[rank].steps
    return max(cluster.wait_ms(rank, across=True), sum(step.bubble_ns for step in steps) / len(steps) / 1e6)


def check_bubbles(cluster: Cluster) -> Iterator[Finding]:
    """How long do pipeline stages wait for each other? What is left when they are balanced, more micro-batches shorten.
    With equal stages the bubble is (stages - 1) / (micro-batches + stages - 1) of the step.
    https://arxiv.org/abs/2104.04473 (Narayanan and others, section 2.2)"""
    if not cluster.stages:
        return
    ms = {rank: bubble_ms(cluster, rank) for rank in cluster.ranks}
    share = mean(ms.values()) / cluster.step_ms
    longest = max(ms, key=ms.__getitem__)
    args: dict[str, Scalar] = {
        "mean_ms": round_ms(mean(ms.values())),
        "share": to_percent(share),
        "rank": longest,
        "longest_ms": round_ms(ms[longest]),
        "longest_share": round(100 * ms[longest] / cluster.step_ms, 1),
        "stages": len(set(cluster.stages.values())),
    }
    status, key = (Status.NOTE, "PRF355.bubbles") if share >= WORTH else (Status.GOOD, "PRF355.short")
    yield Finding("PRF355", status, key, args)


RULES = {"PRF352": check_late_ranks, "PRF353": check_slow_ranks, "PRF354": check_stages, "PRF355": check_bubbles}
