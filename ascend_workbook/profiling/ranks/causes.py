"""Why the ranks' steps are not shorter: one that is waited for, because of its computing, its host or its shapes; then
what each rank's own causes are, of the rank that waits least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.shapes import are_given_more

#: A rank computes more than the others from so many times on, and where that is at least this part of what it is late
COMPUTES_MORE, PART = 1.25, 1 / 3


def find_rank_causes(
    cluster: Cluster, judged: Sequence[Finding], reports: Mapping[int, Report]
) -> list[dict[str, object]]:
    """Find what keeps the run from being faster, as `describe_cause` writes causes: the rank that is waited for first
    where one is."""
    own = _own_causes(cluster, reports)
    first = _find_awaited(cluster, judged)
    if first is None:
        return own
    return [first, *(cause for cause in own if cause["kind"] != "communication")]


def _own_causes(cluster: Cluster, reports: Mapping[int, Report]) -> list[dict[str, Any]]:
    """Return the causes of the rank that waits least: what keeps it keeps all."""
    ranks = [rank for rank in cluster.ranks if rank in reports]
    if not ranks:
        return []
    rank = min(ranks, key=lambda number: cluster.mean_part_ms(number, "communication"))
    causes: object = next((part.facts["causes"] for part in reports[rank].parts if part.verb == "causes"), [])
    return [dict(cause) for cause in causes] if isinstance(causes, list) else []


def _find_awaited(cluster: Cluster, judged: Sequence[Finding]) -> dict[str, object] | None:
    """Return the cause that lies in one rank, or stage, and not in the others; None where they are alike."""
    by_rule = {finding.rule: finding for finding in judged if "gain_ms" in finding.args and finding.weight > 0}
    stages, slow = by_rule.get("PRF354"), by_rule.get("PRF353")
    if stages and stages.key == "PRF354.uneven":
        where = Sentence("ranks.cause_stage", stage=stages.args["stage"], ranks=stages.args["ranks"])
        return _describe(cluster, "rank_computing", where, stages)
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
    return _describe(cluster, kind, where, slow)


def _describe(cluster: Cluster, kind: str, where: Sentence, finding: Finding) -> dict[str, object]:
    gain_ns = float(str(finding.args["gain_ms"])) * 1e6
    evidence = Sentence(finding.key, **finding.args)
    return {
        "kind": kind,
        "where": where.text("en"),
        "spent_ns": gain_ns,
        "share": gain_ns / 1e6 / cluster.step_ms,
        "confidence": "sure",
        "predicted_saving_ns": [0.0, gain_ns],
        "evidence": evidence,
    }
