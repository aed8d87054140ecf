"""Why the ranks' steps are not shorter: one that is waited for, because of its computing, its host or its shapes; then
what each rank's own causes are, of the rank that waits least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.shapes import are_given_more

#: A rank computes more than the others from so many times on, and where that is at least this part of what it is late
COMPUTES_MORE, PART = 1.25, 1 / 3
#: Causes of a host that can make its rank late
OF_HOST = ("loading", "preprocessing", "python", "garbage", "checkpoint", "logging", "compiling")
MIN_RANKS = 2
COUNTED = ("PRF316.objects", "PRF316.collectives", "PRF316.reduced")
#: Of what one rank does at a line, another that does not come to it may seem to do so much there
NEARLY_NONE = 0.05


def find_rank_causes(
    cluster: Cluster, judged: Sequence[Finding], reports: Mapping[int, Report]
) -> list[dict[str, object]]:
    """Find what keeps the run from being faster, as `describe_cause` writes causes: the rank that is waited for first
    where one is."""
    own = _own_causes(cluster, reports)
    first = _find_different(cluster, reports) if cluster.is_simulated else _find_awaited(cluster, judged)
    if first is None:
        return own
    causes = [first, *(cause for cause in own if cause["kind"] != "communication" or _is_counted(cause))]
    if cluster.is_simulated and first["kind"] == "rank_host":  # what all wait for may be less than what each does
        causes += _find_named_so(reports, str(first["where"]), own)
        causes.sort(key=lambda cause: -float(str(cause["share"])))
    return causes


def _is_counted(cause: Mapping[str, Any]) -> bool:
    """Return whether a cause of communication is told by what is sent, and not by how long it takes: that may be
    waiting for the rank."""
    evidence: Mapping[str, Any] = cause["evidence"]
    return evidence.get("say") in COUNTED


def _find_named_so(
    reports: Mapping[int, Report], where: str, own: Sequence[Mapping[str, Any]]
) -> list[dict[str, object]]:
    """Return the cause of the rank's own that `PLACE, rank N` tells of, where the others do not have it."""
    place, _, rank = where.rpartition(", rank ")
    causes = _read_fact(reports[int(rank)], "causes", [])
    places = {cause["where"] for cause in own}
    chosen = [cause for cause in causes if cause["where"] == place] if isinstance(causes, list) else []
    return [dict(cause) for cause in chosen if place not in places]


def _own_causes(cluster: Cluster, reports: Mapping[int, Report]) -> list[dict[str, Any]]:
    """Return the causes of the rank that waits least: what keeps it keeps all."""
    ranks = [rank for rank in cluster.ranks if rank in reports]
    if not ranks:
        return []
    rank = min(ranks, key=lambda number: cluster.mean_part_ms(number, "communication"))
    causes = _read_fact(reports[rank], "causes", [])
    return [dict(cause) for cause in causes] if isinstance(causes, list) else []


def _read_fact(report: Report, name: str, nothing: object) -> object:
    """Return what the report's part about causes says of itself."""
    return next((part.facts.get(name, nothing) for part in report.parts if part.verb == "causes"), nothing)


def _find_different(cluster: Cluster, reports: Mapping[int, Report]) -> dict[str, object] | None:
    """Return the cause that lies in one simulated rank and not in the others. Their kernels take turns on one CPU, so
    that times tell nothing of them: a rank whose kernels work on more, or whose host has a cause that no other has."""
    facts = {rank: _read_fact(reports[rank], "work", {}) for rank in cluster.ranks if rank in reports}
    work = {rank: counted for rank, counted in facts.items() if isinstance(counted, dict) and counted}
    if len(work) < MIN_RANKS:
        return None
    totals = {rank: sum(counted.values()) for rank, counted in work.items()}
    rank = max(totals, key=totals.__getitem__)
    others = [work[other] for other in work if other != rank]
    times = totals[rank] / median(sum(counted.values()) for counted in others)
    if times >= COMPUTES_MORE:
        more = {line: amount - median(other.get(line, 0.0) for other in others) for line, amount in work[rank].items()}
        where = _find_own_line(reports, rank, sum(more.values())) or max(more, key=more.__getitem__)
        own_ms = cluster.mean_part_ms(rank, "own")
        gain_ms = max(0.0, own_ms - median(cluster.mean_part_ms(other, "own") for other in work if other != rank))
        args: dict[str, Scalar] = {"rank": rank, "times": round(times, 1), "gain_ms": round(gain_ms, 3)}
        return _describe(
            cluster,
            "rank_computing",
            f"{where}, rank {rank}",
            Sentence("ranks.works_more", where=where, **args),
            gain_ms,
        )
    return _find_own_cause(cluster, reports, list(work))


def _find_own_line(reports: Mapping[int, Report], rank: int, more: float) -> str:
    """Return the innermost line that one rank alone comes to and that does most of what it does more; empty where all
    come to the same."""
    below: dict[int, Any] = {other: _read_fact(reports[other], "work_below", {}) for other in reports}
    mine = below[rank] if isinstance(below[rank], dict) else {}
    others = [lines for other, lines in below.items() if other != rank and isinstance(lines, dict)]
    alone = {
        line: amount
        for line, amount in mine.items()
        if 2 * amount >= more and all(lines.get(line, 0.0) <= NEARLY_NONE * amount for lines in others)
    }
    return min(alone, key=alone.__getitem__, default="")


def _find_own_cause(cluster: Cluster, reports: Mapping[int, Report], ranks: Sequence[int]) -> dict[str, object] | None:
    """Return the dearest cause that one rank's host has and no other, at its line."""
    by_rank: dict[int, dict[str, dict[str, Any]]] = {}
    for rank in ranks:
        causes = _read_fact(reports[rank], "causes", [])
        by_rank[rank] = (
            {cause["kind"]: cause for cause in causes if cause["kind"] in OF_HOST} if isinstance(causes, list) else {}
        )
    alone = [
        (float(cause["spent_ns"]), rank, str(cause["where"]))
        for rank, causes in by_rank.items()
        for kind, cause in causes.items()
        if all(kind not in by_rank[other] for other in ranks if other != rank)
    ]
    if not alone:
        return None
    spent_ns, rank, where = max(alone)
    gain_ms = spent_ns / 1e6
    args: dict[str, Scalar] = {"rank": rank, "gain_ms": round(gain_ms, 3)}
    return _describe(
        cluster, "rank_host", f"{where}, rank {rank}", Sentence("ranks.host_alone", where=where, **args), gain_ms
    )


def _find_awaited(cluster: Cluster, judged: Sequence[Finding]) -> dict[str, object] | None:
    """Return the cause that lies in one rank, or stage, and not in the others; None where they are alike."""
    by_rule = {finding.rule: finding for finding in judged if "gain_ms" in finding.args and finding.weight > 0}
    stages, slow = by_rule.get("PRF354"), by_rule.get("PRF353")
    if stages and stages.key == "PRF354.uneven":
        where = Sentence("ranks.cause_stage", stage=stages.args["stage"], ranks=stages.args["ranks"])
        return _describe_finding(cluster, "rank_computing", where, stages)
    if slow is None or slow.key != "PRF353.slow":
        return None
    rank = int(str(slow.args["rank"]))
    where = Sentence("ranks.rank", number=rank)
    others = [cluster.mean_part_ms(other, "computing") for other in cluster.find_peers(rank)]
    usual = sorted(others)[len(others) // 2]
    computing = cluster.mean_part_ms(rank, "computing")
    late = float(str(slow.args["own_ms"])) - float(str(slow.args["others_ms"]))
    more = computing > COMPUTES_MORE * usual and computing - usual >= PART * late
    larger_than = [
        are_given_more(cluster.ranks[rank].shapes, cluster.ranks[other].shapes) for other in cluster.find_peers(rank)
    ]
    kind = (
        "shapes_differ"
        if more and 2 * sum(larger_than) > len(larger_than)
        else "rank_computing"
        if more
        else "rank_host"
    )
    return _describe_finding(cluster, kind, where, slow)


def _describe_finding(cluster: Cluster, kind: str, where: Sentence, finding: Finding) -> dict[str, object]:
    evidence = Sentence(finding.key, **finding.args)
    return _describe(cluster, kind, where.text("en"), evidence, float(str(finding.args["gain_ms"])))


def _describe(cluster: Cluster, kind: str, where: str, evidence: Sentence, gain_ms: float) -> dict[str, object]:
    gain_ms = min(gain_ms, cluster.step_ms)  # kernels of simulated ranks take turns: theirs add up to more than a step
    gain_ns = gain_ms * 1e6
    return {
        "kind": kind,
        "where": where,
        "spent_ns": gain_ns,
        "share": gain_ms / cluster.step_ms,
        "confidence": "sure",
        "predicted_saving_ns": [0.0, gain_ns],
        "evidence": evidence,
    }
