"""All ranks as one report: what was found, who waits for whom, who is slow, a row a rank; then each rank by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.profiling.ranks import rules
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.facts import RankFacts
from helpers.profiling.ranks.inventory import inventory
from helpers.profiling.ranks.runs import runs
from helpers.profiling.ranks.tables import STAGE, collectives, links, packets, rank_table
from helpers.profiling.readers.ranks import RankProfiles
from helpers.report import Report
from helpers.rules import judge, rules_of
from helpers.words import Scalar

if TYPE_CHECKING:
    from helpers.profiling.ranks.everywhere import Answer, RankAnswer

#: What the verdict chooses from, the cause before what it brings about
CAUSES = ("PRF354", "PRF353", "PRF352", "PRF356", "PRF357")
#: Which finding is shown beside which table
BESIDE = {"PRF352": collectives, "PRF356": links, "PRF357": packets}
#: From more ranks than these the reports of the ranks that stand out and of the first ones are kept
WHOLE = 8


def analyse_ranks(found: RankProfiles, answer: Answer, scheduler: str = "") -> Report:
    """A row a rank; the parts are the collectives, the links, and the reports of the ranks that could be read.

    A rank that cannot be read is a finding; raises WorkbookError only where none can.
    """
    from helpers.profiling.ranks.everywhere import RankAnswer, everywhere

    outcomes = everywhere(found.profiles, answer, scheduler)
    read = {rank: one for rank, one in outcomes.items() if isinstance(one, RankAnswer)}
    unread = {rank: one for rank, one in outcomes.items() if isinstance(one, WorkbookError)}
    if not read:
        raise next(iter(unread.values()))
    kept, *others = runs({rank: one.facts for rank, one in read.items()})
    cluster = Cluster.of({rank: read[rank].facts for rank in kept})
    told = list(inventory(found, cluster, unread, [rank for run in others for rank in run]))
    return _report(cluster, told, {rank: read[rank] for rank in kept}, len(found.profiles))


def of_one_rank(facts: RankFacts) -> tuple[Report, ...]:
    """What one rank's own profile tells of its waits and links, as an NPU's does from level 1 on; else empty."""
    if not facts.steps or not ((facts.calls.told_wait_ns >= 0).any() or facts.links):
        return ()
    cluster = Cluster.of({facts.rank: facts})
    judged = judge(cluster, rules_of(rules))
    return tuple(_tables(cluster, judged, facts.tier))


def _tables(cluster: Cluster, judged: list[Finding], tier: str) -> list[Report]:
    """The collectives, the links and the packets, where these were told of."""
    parts = [table(cluster, [one for one in judged if one.rule == code], tier) for code, table in BESIDE.items()]
    return [part for part in parts if part]


def _report(cluster: Cluster, told: list[Finding], read: Mapping[int, RankAnswer], ranks: int) -> Report:
    judged = judge(cluster, rules_of(rules))
    tier = _tier([one.facts for one in read.values()])
    own = {rank: replace(one.report, facts={**one.report.facts, "rank": rank}) for rank, one in read.items() if
           one.report}  # fmt: skip
    status = max([one.status for one in judged] + [one.status for one in own.values()], default=Status.OK)
    findings = [_headline(cluster, judged, ranks, status), *told, *judged]
    table, chart = rank_table(cluster)
    parts = [*_tables(cluster, judged, tier), *(own[rank] for rank in _shown(judged, list(own)))]
    return Report(STAGE, "ranks", tuple(findings), table, chart, facts=_facts(cluster), tier=tier, parts=tuple(parts))


def _headline(cluster: Cluster, judged: list[Finding], ranks: int, status: Status) -> Finding:
    savings = [one for one in judged if one.rule in CAUSES and one.status in (Status.NOTE, Status.WARN)]
    args: dict[str, Scalar] = {"read": len(cluster.ranks), "ranks": ranks}
    if savings:
        most = max(one.weight for one in savings)
        worth = min((one for one in savings if one.weight >= most / 2), key=lambda one: CAUSES.index(one.rule))
        args["what"] = {"say": worth.key, "args": worth.args}
        return Finding("PRF310", status, "PRF310.ranks_saving", args, weight=1000.0)
    computing = {rank: cluster.ms(rank, "computing") for rank in cluster.ranks}
    most, least = (choose(computing, key=computing.__getitem__) for choose in (max, min))
    args |= {"most": most, "least": least}
    args |= {"most_ms": round(computing[most], 3), "least_ms": round(computing[least], 3)}
    return Finding("PRF310", status, "PRF310.ranks", args, weight=1000.0)


def _shown(judged: list[Finding], ranks: list[int]) -> list[int]:
    """The ranks whose own reports are kept: all, or of many those that findings name and the first ones."""
    if len(ranks) <= WHOLE:
        return ranks
    named = [one.args.get(name) for one in judged if one.status is not Status.OK for name in ("rank", "waited_rank")]
    first = list(dict.fromkeys([*(rank for rank in ranks if rank in named), *ranks]))[:WHOLE]
    return sorted(first)


def _tier(facts: list[RankFacts]) -> str:
    tiers = {one.tier for one in facts}
    return next(iter(tiers)) if len(tiers) == 1 else ""


def _facts(cluster: Cluster) -> dict[str, object]:
    clocks = {str(rank): {"of": one.of, "ahead_ns": one.ahead_ns, "spread_ns": one.spread_ns, "shared": one.shared}
              for rank, one in cluster.clocks.items()}  # fmt: skip
    return {
        "ranks": list(cluster.ranks),
        "world_size": cluster.world_size,
        "stages": {str(rank): stage for rank, stage in cluster.stages.items()},
        "step_ms": cluster.step_ms,
        "steady_steps": {str(rank): [step.number for step in one.steps] for rank, one in cluster.ranks.items()},
        "looked": {str(rank): asdict(one) for rank, one in cluster.looked.items()},
        "clocks": clocks,
        "clocks_set_right": sorted(cluster.moved()),
        "matched_collectives": int(np.unique(cluster.matches.collective[cluster.matches.members > 1]).size),
    }
