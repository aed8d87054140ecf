"""Which pipeline stage a rank computes: by the run's own groups, else by who sends to whom."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_workbook.profiling.ranks.calls import is_pairwise
from ascend_workbook.profiling.ranks.facts import RankFacts

PIPELINE = ("pp", "pipeline_parallel", "pipeline")


def stages_of(ranks: Mapping[int, RankFacts]) -> dict[int, int]:
    """Return the pipeline stage of each rank, counted from 0; empty where nothing tells of a pipeline.

    Groups called pp list their ranks from the first stage to the last. Without them the ranks that send to each other
    make a pipeline, in order of rank, as Megatron and torch.distributed.pipelining number them.
    """
    by_groups = {rank: place for rank, facts in ranks.items() for place in _stage_numbers(rank, facts)}
    stage_of_rank = by_groups or _stages_by_sending(ranks)
    return stage_of_rank if stage_of_rank.keys() == ranks.keys() and len(set(stage_of_rank.values())) > 1 else {}


def _stage_numbers(rank: int, facts: RankFacts) -> list[int]:
    return [
        group.members.index(rank)
        for group in facts.groups
        if group.name.lower() in PIPELINE and rank in group.members and len(group.members) > 1
    ]


def _stages_by_sending(ranks: Mapping[int, RankFacts]) -> dict[int, int]:
    together: dict[int, set[int]] = {rank: {rank} for rank in ranks}
    groups: dict[str, set[int]] = {}
    for rank, facts in ranks.items():
        for group, kind in set(zip(facts.calls.group, facts.calls.kind)):
            if group and is_pairwise(kind):
                groups.setdefault(group, set()).add(rank)
    for members in groups.values():
        joined = set().union(*(together[rank] for rank in members))
        for rank in joined:
            together[rank] = joined
    lengths = {len(joined) for joined in together.values()}
    return {rank: sorted(joined).index(rank) for rank, joined in together.items()} if len(lengths) == 1 else {}
