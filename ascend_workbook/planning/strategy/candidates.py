"""Every strategy that could be, and why most of them fall away before anything is calculated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

from ascend_workbook.planning.strategy.choice import (
    DEEPSPEED,
    FSDP,
    MEGATRON,
    MINDSPEED,
    RECOMPUTES,
    SELECTIVE,
    Setting,
    Strategy,
)

LIMITS = Path(__file__).with_name("limits.json")
#: A pipeline may have as many stages as this many nodes' cards would need, and not more: each adds to the bubble
MOST_STAGES = 32
MICROS = (1, 2, 4, 8)
#: Stages of ZeRO that a framework's arguments can say; of FSDP, 2 keeps weights whole and 3 shards them too
STAGES = {MINDSPEED: (0, 1), MEGATRON: (0, 1), DEEPSPEED: (0, 1, 2, 3), FSDP: (0, 2, 3)}
#: Limits that hang on how cards are split alone, asked first; and the others
OUTER = (
    "framework",
    "tensor_node",
    "tensor_heads",
    "tensor_width",
    "pipeline_layers",
    "pipeline_small",
    "context_sequence",
)
INNER = ("framework", "chunks_layers", "expert_divides", "batch_divides", "micro_batches", "zero_replicas")


@dataclass(frozen=True)
class Space:
    """The candidates that are left, and how many each limit took."""

    candidates: tuple[Strategy, ...]
    refused: dict[str, int]

    @property
    def looked_at(self) -> int:
        return len(self.candidates) + sum(self.refused.values())


@cache
def limit_sources() -> dict[str, str]:
    """Return the limits in the order that they are shown, each with its page."""
    rows = json.loads(LIMITS.read_text(encoding="utf-8"))["limits"]
    return {row["name"]: row["source"] for row in rows}


def find_candidates(setting: Setting) -> Space:
    """Return every strategy whose degrees' product is the number of cards and that no limit takes."""
    refused: Counter[str] = Counter()
    candidates = []
    inner = list(_walk_inner(setting))
    for outer in _walk_outer(setting):
        limit = find_limit(setting, outer, OUTER)
        if limit:  # it takes all of these degrees at once
            refused[limit] += len(inner)
            continue
        for chunks, expert, zero, recompute, micro in inner:
            strategy = replace(outer, chunks=chunks, expert=expert, zero=zero, recompute=recompute, micro=micro)
            limit = find_limit(setting, strategy, INNER)
            if limit:
                refused[limit] += 1
            else:
                candidates.append(strategy)
    return Space(tuple(candidates), dict(refused))


def _walk_outer(setting: Setting) -> Iterator[Strategy]:
    """Yield every split of the cards over tensor, pipeline, context and data parallelism."""
    for tensor, pipeline, context in product(_divisors(setting.cards), repeat=3):
        split = tensor * pipeline * context
        if setting.cards % split == 0:
            data = setting.cards // split
            yield Strategy(tensor, pipeline, 1, context, data=data, framework=setting.framework)


def _walk_inner(setting: Setting) -> Iterator[tuple[int, int, int, str, int]]:
    """Yield what varies beside: pieces of a stage, expert parallelism, ZeRO, recomputing, micro batch."""
    experts = [degree for degree in _divisors(setting.model.experts) if degree <= setting.cards] or [1]
    recomputes = [kind for kind in RECOMPUTES if kind != SELECTIVE or setting.framework in (MINDSPEED, MEGATRON)]
    return iter(product((1, 2, 4), experts, STAGES[setting.framework], recomputes, MICROS))


def _divisors(number: int) -> list[int]:
    return [value for value in range(1, number + 1) if number % value == 0]


def find_limit(setting: Setting, strategy: Strategy, names: Iterable[str]) -> str:
    """Return the first limit of these that takes the strategy, or an empty text."""
    return next((name for name in names if CHECKS[name](setting, strategy)), "")


def _breaks_framework(setting: Setting, strategy: Strategy) -> bool:
    """Say whether the framework has no argument for it: degrees of DeepSpeed and FSDP are data alone."""
    return not strategy.megatron and (strategy.data != strategy.cards or strategy.expert > 1)


def _breaks_tensor_node(setting: Setting, strategy: Strategy) -> bool:
    return strategy.tensor > min(setting.node_cards, setting.chip.node_cards)


def _breaks_tensor_heads(setting: Setting, strategy: Strategy) -> bool:
    heads, kv_heads = setting.model.heads, setting.model.kv_heads
    return bool(heads % strategy.tensor) or bool(kv_heads % strategy.tensor and strategy.tensor % kv_heads)


def _breaks_tensor_width(setting: Setting, strategy: Strategy) -> bool:
    model = setting.model
    return bool(model.hidden % strategy.tensor or model.feed_forward % strategy.tensor)


def _breaks_pipeline_layers(setting: Setting, strategy: Strategy) -> bool:
    return bool(setting.model.layers % strategy.pipeline)


def _breaks_chunks_layers(setting: Setting, strategy: Strategy) -> bool:
    if strategy.chunks == 1:
        return False
    return strategy.pipeline == 1 or bool(setting.model.layers % (strategy.pipeline * strategy.chunks))


def _breaks_pipeline_small(setting: Setting, strategy: Strategy) -> bool:
    return strategy.pipeline > min(MOST_STAGES, setting.model.layers)


def _breaks_expert(setting: Setting, strategy: Strategy) -> bool:
    if strategy.expert == 1:
        return False
    return bool((strategy.tensor * strategy.context * strategy.data) % strategy.expert)


def _breaks_context(setting: Setting, strategy: Strategy) -> bool:
    if strategy.context == 1:
        return False
    return bool(setting.sequence % (2 * strategy.context)) or setting.sequence // strategy.context < SHORTEST


#: Tokens of a sequence on one card below which splitting it gains nothing
SHORTEST = 2048


def _breaks_batch(setting: Setting, strategy: Strategy) -> bool:
    return bool(setting.batch % (strategy.data * strategy.micro))


def _breaks_micro_batches(setting: Setting, strategy: Strategy) -> bool:
    if strategy.pipeline == 1:
        return False
    micro = strategy.micro_batches(setting)
    return micro < strategy.pipeline or (strategy.chunks > 1 and bool(micro % strategy.pipeline))


def _breaks_replicas(setting: Setting, strategy: Strategy) -> bool:
    return strategy.zero > 0 and strategy.replicas == 1


CHECKS = {
    "framework": _breaks_framework,
    "tensor_node": _breaks_tensor_node,
    "tensor_heads": _breaks_tensor_heads,
    "tensor_width": _breaks_tensor_width,
    "pipeline_layers": _breaks_pipeline_layers,
    "chunks_layers": _breaks_chunks_layers,
    "pipeline_small": _breaks_pipeline_small,
    "expert_divides": _breaks_expert,
    "context_sequence": _breaks_context,
    "batch_divides": _breaks_batch,
    "micro_batches": _breaks_micro_batches,
    "zero_replicas": _breaks_replicas,
}
