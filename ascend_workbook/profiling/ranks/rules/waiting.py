"""Does a rank wait in collectives for one that comes late? That is waiting and no transmission.

The members of a collective finish together, so each waits for the last to arrive. Whether the collective then takes
long is another question. An NPU's Notify_Wait names the peer, also where that one's profile is not among these.
https://www.hiascend.com/document (HCCL: Notify Wait and Notify Record tasks)
"""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.ranks.cluster import Blame, Cluster
from ascend_workbook.profiling.ranks.savings import is_worth_telling, make_saving_finding, name_waited_rank
from ascend_workbook.profiling.ranks.waiting import NOBODY

CODE = "PRF352"
#: A rank is the late one where it is waited for so many times as long as the next
CLEARLY = 1.5


def check(cluster: Cluster) -> Iterator[Finding]:
    if not any(len(item.calls) for item in cluster.ranks.values()):
        yield Finding(CODE, Status.OK, "PRF352.none")
        return
    tells_waits = any((item.calls.told_wait_ns >= 0).any() for item in cluster.ranks.values())
    if not tells_waits and not (cluster.matches.members > 1).any():
        raise CannotCheck("PRF352.alone" if len(cluster.ranks) == 1 else "PRF352.unmatched")
    unseen = float(cluster.unseen_ms())
    if is_worth_telling(cluster, unseen):
        yield Finding(CODE, Status.SKIPPED, "PRF352.unseen_members", {"rest_ms": round(unseen, 3)})
    costly_blames = [item for item in cluster.find_blames() if is_worth_telling(cluster, item.gain_ms)]
    for blame in costly_blames:
        yield _make_finding(cluster, blame)
    if not costly_blames:
        longest = max(cluster.wait_ms(rank, across=False) for rank in cluster.ranks)
        key = "PRF352.short_in_stage" if cluster.stages else "PRF352.short"
        yield Finding(CODE, Status.OK, key, {"wait_ms": round(longest, 3)})


def _make_finding(cluster: Cluster, blame: Blame) -> Finding:
    times = int(cluster.matches.rank[cluster.rows_of(blame.waiting, across=False)].size)
    calls = cluster.ranks[blame.waiting].calls
    rows = cluster.rows_of(blame.waiting)
    whole = int(calls.duration_ns[cluster.matches.at[rows]].sum()) / len(cluster.ranks[blame.waiting].steps) / 1e6
    args: dict[str, Scalar] = {
        "rank": blame.waiting,
        "waited": name_waited_rank(cluster, blame.who),
        "waited_rank": blame.who if blame.who >= 0 else None,
        "wait_ms": round(blame.wait_ms, 3),
        "whole_ms": round(whole, 3),
        "times": blame.times,
        "calls": times,
    }
    if blame.who != NOBODY and blame.wait_ms < CLEARLY * _rival_ms(cluster, blame):
        return make_saving_finding(cluster, CODE, "in_turn", blame.gain_ms, {**args, "waited_rank": None})
    known = "seen" if blame.who in cluster.ranks else "unnamed" if blame.who == -1 else "unseen"
    return make_saving_finding(cluster, CODE, known, blame.gain_ms, args)


def _rival_ms(cluster: Cluster, blame: Blame) -> float:
    """Return the longest that the same rank waits for another one, or is itself waited for by the one blamed, in
    milliseconds a step.
    """
    waits, own_rows = cluster.waits, cluster.rows_of(blame.waiting, across=False)
    others = {int(who) for who in waits.waited_for[own_rows]} - {blame.who, NOBODY}
    rows = [(blame.waiting, own_rows & (waits.waited_for == who)) for who in others]
    if blame.who in cluster.ranks:
        rows_of_blamed = cluster.rows_of(blame.who, across=False)
        rows.append((blame.who, rows_of_blamed & (waits.waited_for == blame.waiting)))
    waits_ms = (int(waits.wait_ns[mask].sum()) / len(cluster.ranks[rank].steps) / 1e6 for rank, mask in rows)
    return max(waits_ms, default=0.0)
