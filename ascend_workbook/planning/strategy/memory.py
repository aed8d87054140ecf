"""How many bytes a strategy needs on the fullest card, by formula: what PyTorch holds, and what lies beside it.

Megatron's counting: bfloat16 weights 2, float32 gradients 4 and 12 of Adam a parameter, the last over the replicas with
a distributed optimizer (https://github.com/NVIDIA/Megatron-LM, megatron/training/theoretical_memory_usage.py); ZeRO's
is 2 + 2 + 12 (https://arxiv.org/abs/1910.02054). Activations are counted term by term as in
https://arxiv.org/abs/2205.05198, with a fused attention, which keeps no scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from ascend_workbook.estimates.ranges import Range
from ascend_workbook.planning.card import outside_bytes, seen_bytes
from ascend_workbook.planning.strategy.choice import DEEPSPEED, FSDP, FULL, NONE, SELECTIVE, Setting, Strategy
from ascend_workbook.planning.strategy.model import Model

#: Bytes of a parameter: weights, gradients, optimizer
STATES = {"megatron": (2.0, 4.0, 12.0), DEEPSPEED: (2.0, 2.0, 12.0), FSDP: (4.0, 4.0, 8.0)}
#: Bytes of one element of the logits at the peak: with Megatron's cross entropy the bfloat16 logits and a float32 copy
#: that is worked on in place; a plain cross entropy keeps its float32 result and two gradients beside the logits
LOGITS = {"megatron": 6.0, DEEPSPEED: 14.0, FSDP: 14.0}
#: Bytes that the fused attention keeps of each token and head: the largest score and the sum, eight float32 each
STATISTICS = 64.0
#: How far the formula errs, as factors: what real traces gave, and published configurations that run (tests/planning)
ERRS_LOW, ERRS_HIGH = 0.90, 1.12
#: How far two of one model err beside each other: of the working half's rehearsed pairs seven in ten lie within, and
#: eight in ten within 1.053 (tools/strategies)
COMPARED = 1.04
#: The order in which the parts are shown
PARTS = ("weights", "gradients", "optimizer", "activations", "logits", "gathered", "working")


@dataclass(frozen=True)
class Memory:
    """Bytes on the fullest card: `parts` within PyTorch, `outside` beside it, `total` both. `stage` is its pipeline
    stage."""

    parts: dict[str, float]
    outside: Range
    stage: int

    @cached_property
    def inside(self) -> float:
        """Return the peak of PyTorch's allocator."""
        return sum(self.parts.values())

    @cached_property
    def total(self) -> Range:
        inside = Range(ERRS_LOW * self.inside, self.inside, ERRS_HIGH * self.inside)
        return inside.plus(self.outside)

    def judge(self, memory_bytes: float) -> str:
        """Return `fits`, `unsure` or `not`, on a card of this memory."""
        return judge_total(self.total, memory_bytes)


def compare_memories(memory: Memory, beside: Memory) -> Range:
    """Return what one needs within PyTorch over what the other does, beside the workspace that both have. Both are of
    one model: what the formula gets wrong of it is wrong of both, so the range is narrower than either's."""
    needs = [each.inside - min(WORKSPACE, each.parts["working"]) for each in (memory, beside)]
    ratio = needs[0] / needs[1]
    return Range(ratio / COMPARED, ratio, ratio * COMPARED)


def judge_total(total: Range, memory_bytes: float) -> str:
    """Return `fits`, `unsure` or `not`, for what a process would take of a card of this memory."""
    usable = seen_bytes(memory_bytes)
    if total.high <= usable:
        return "fits"
    return "unsure" if total.low <= usable else "not"


def estimate_memory(setting: Setting, strategy: Strategy) -> Memory:
    """Return the memory of the fullest pipeline stage."""
    stages = list_stages(strategy)
    return max((estimate_stage(setting, strategy, stage) for stage in stages), key=lambda memory: memory.inside)


def list_stages(strategy: Strategy) -> list[int]:
    """Return the stages of which one is the fullest: the first two and the last; all where layers are dealt out."""
    last = strategy.pipeline - 1
    return list(range(last + 1)) if strategy.stage_layers else sorted({0, min(1, last), last})


def estimate_stage(setting: Setting, strategy: Strategy, stage: int) -> Memory:
    """Return the memory of one pipeline stage at the largest of its moments."""
    fullest = max(_list_moments(setting, strategy, stage), key=lambda parts: sum(parts.values()))
    return Memory({name: fullest.get(name, 0.0) for name in PARTS}, estimate_outside(strategy), stage)


def _list_moments(setting: Setting, strategy: Strategy, stage: int) -> Iterator[dict[str, float]]:
    """Yield the parts at each moment that may be the fullest: the backward pass at the logits, where there are any, and
    at the last layer; its end; the update; of DeepSpeed the beginning, when the weights are copied into one buffer."""
    model, last = setting.model, stage == strategy.pipeline - 1
    states = _count_states(model, strategy, stage, strategy.micro_batches(setting))
    tokens = setting.sequence * strategy.micro / strategy.context
    layer = {**states, **_count_backward(setting, strategy, stage)}
    head = _count_head(model, strategy, tokens) if last else 0.0
    loss = {**layer, "activations": layer["activations"] - _count_once(setting, strategy, stage), "logits": head}
    if last:
        yield loss
    if not last or strategy.recompute == FULL:
        yield layer
    if strategy.framework == FSDP and strategy.zero >= 2:  # the root's weights, gradients, and these in float32
        alone = _count_own_weights(model, strategy)
        yield {**states, "weights": alone, "gathered": 10.0 * _count_root(model)}
        summed = 4.0 * _count_root(model)
        if strategy.zero >= 3 and head < summed:  # does not fit where the logits lay
            yield {**loss, "gathered": loss["gathered"] + summed}
    yield _count_update(model, strategy, stage, states)
    if strategy.framework == DEEPSPEED and strategy.zero in (1, 2):
        held = count_held(model, strategy, stage).all
        yield {"weights": 2.0 * held, "optimizer": 4.0 * held / strategy.replicas, "working": 2.0 * held}


def estimate_outside(strategy: Strategy) -> Range:
    """Return what the process takes of the card beside PyTorch: context, CANN, a pair of buffers for each group."""
    degrees = (strategy.tensor, strategy.pipeline, strategy.context, strategy.expert, strategy.data)
    low, high = outside_bytes(sum(degree > 1 for degree in degrees))
    return Range(low, (low + high) / 2, high)


@dataclass(frozen=True)
class Held:
    """Parameters of one card: of dense layers, and of experts, which are sharded over other cards."""

    dense: float
    expert: float

    @property
    def all(self) -> float:
        return self.dense + self.expert


def count_held(model: Model, strategy: Strategy, stage: int) -> Held:
    """Return the parameters that a card of the stage holds before any sharding over replicas."""
    dense_layers, expert_layers = layers_of_stage(model, strategy, stage)
    tensor, shards = strategy.tensor, strategy.expert * strategy.expert_tensor
    layer = model.attention_parameters / tensor + model.norm_parameters
    dense = (dense_layers + expert_layers) * layer + dense_layers * model.dense_parameters / tensor
    dense += expert_layers * (
        model.hidden * model.experts + model.matrices * model.hidden * model.shared_width / tensor
    )
    first, last = stage == 0, stage == strategy.pipeline - 1
    copies = int(first) + int(last and not (model.tied and first))
    dense += copies * model.embedding_parameters / tensor
    return Held(dense, expert_layers * model.expert_parameters / shards)


def layers_of_stage(model: Model, strategy: Strategy, stage: int) -> tuple[int, int]:
    """Return how many layers without and with experts a stage has; of layers that do not divide the most."""
    if strategy.stage_layers:
        begin = sum(strategy.stage_layers[:stage])
        return _split_layers(model, range(begin, begin + strategy.stage_layers[stage]))
    pieces = strategy.pipeline * strategy.chunks
    each = ceil(model.layers / pieces)
    layers = [
        layer
        for chunk in range(strategy.chunks)
        for layer in range((chunk * strategy.pipeline + stage) * each, (chunk * strategy.pipeline + stage + 1) * each)
    ]
    return _split_layers(model, layers)


def _split_layers(model: Model, layers: Sequence[int]) -> tuple[int, int]:
    """Return how many of these layers are without experts and with them."""
    if not model.experts:
        return len(layers), 0
    dense = sum(layer < model.dense_layers for layer in layers)
    return dense, len(layers) - dense


def _count_states(model: Model, strategy: Strategy, stage: int, micro_batches: int = 2) -> dict[str, float]:
    """Return the bytes of weights, gradients and optimizer. Of one micro batch a step, DeepSpeed's first stage keeps
    the shard's gradients alone, as the second does."""
    held = count_held(model, strategy, stage)
    weights, gradients, optimizer = STATES["megatron" if strategy.megatron else strategy.framework]
    shared = held.dense / strategy.replicas + held.expert / strategy.expert_replicas
    gradients -= strategy.savings.gradient_bytes
    optimizer -= strategy.savings.optimizer_bytes
    whole = strategy.zero < 2 and not (strategy.framework == DEEPSPEED and strategy.zero and micro_batches == 1)
    states = {
        "weights": weights * (shared if strategy.zero >= 3 else held.all),
        "gradients": gradients * (held.all if whole else shared),
        "optimizer": optimizer * (shared if strategy.zero >= 1 else held.all),
    }
    if strategy.framework == DEEPSPEED and strategy.zero:  # the shard's gradients in float32 stay, of 3 a group's
        states["optimizer"] += 4.0 * (min(shared, SUB_GROUP) if strategy.zero >= 3 else shared)
    if strategy.framework == FSDP and strategy.zero == 2:
        states["weights"] = weights * shared + 2.0 * held.all  # float32 in shards, bfloat16 whole
    if strategy.framework == FSDP and strategy.zero == 0:
        states["weights"] += 2.0 * held.all  # autocast's copies
        states["gradients"] *= 2 if strategy.replicas > 1 else 1  # and DistributedDataParallel's buckets
    return states


def _count_own_weights(model: Model, strategy: Strategy) -> float:
    """Return FSDP's float32 weights of one card, without what is gathered or cast for a pass."""
    return STATES[FSDP][0] * count_held(model, strategy, 0).all / (strategy.replicas if strategy.zero else 1)


def _count_root(model: Model) -> float:
    """Return the parameters of FSDP's root unit and of what stands beside the layers: embedding and head."""
    return float(model.embedding_parameters * (1 if model.tied else 2))


def saved_terms(model: Model, strategy: Strategy) -> Iterator[tuple[str, float]]:
    """Yield what a layer without experts keeps of one token for its backward pass, in bytes: name, bytes on a card."""
    tensor = strategy.tensor
    rows = 2.0 * model.hidden / (tensor if strategy.sequence_parallel else 1)
    autocast = strategy.framework == FSDP and not strategy.zero
    yield "inputs", 2 * rows * (2 if autocast else 1)  # of both norms; under autocast they are float32
    yield "normed", 2 * rows  # of the matrices behind them
    yield "attention", 2.0 * (model.query_width + model.key_width + model.value_width) / tensor
    yield "output", 2.0 * model.output_width / tensor + STATISTICS * model.heads / tensor
    if model.rotary:  # npu_rotary_mul keeps what it turns beside what it gives
        yield "turned", 2.0 * (model.query_width + model.key_width) / tensor
    if model.normed_queries:
        yield "queries", 2.0 * (model.query_width + model.key_width) / tensor
    if model.latent is not None:
        yield "latent", 2.0 * 2 * (model.latent.query_rank + model.latent.key_rank + model.latent.rotated_dim)
    inner = model.matrices - 1
    yield "gate", 2.0 * inner * model.feed_forward / tensor
    yield "activated", 2.0 * model.feed_forward / tensor


def expert_terms(model: Model, strategy: Strategy) -> Iterator[tuple[str, float]]:
    """Yield what a layer of experts keeps in place of `gate` and `activated`; tokens are spread evenly."""
    inner = model.matrices - 1
    routed = model.chosen_experts / (strategy.tensor if strategy.expert_tensor < strategy.tensor else 1)
    split = strategy.expert_tensor
    yield "routed", routed * 2.0 * 2 * model.hidden
    yield "gate", routed * 2.0 * inner * model.expert_width / split + 2.0 * inner * model.shared_width / strategy.tensor
    yield "activated", routed * 2.0 * model.expert_width / split + 2.0 * model.shared_width / strategy.tensor
    yield "router", 8.0 * model.experts / (strategy.tensor if strategy.sequence_parallel else 1)


#: What each way of recomputing does not keep; of `full` one input stays
DROPPED = {"mindspeed": ("activated", "normed"), "megatron": ("gate", "activated", "normed")}


def layer_bytes(model: Model, strategy: Strategy, *, experts: bool, recompute: str) -> float:
    """Return what one layer keeps of a token, on a card."""
    if recompute == FULL:
        return 2.0 * model.hidden / (strategy.tensor if strategy.sequence_parallel else 1)
    terms = dict(saved_terms(model, strategy))
    if experts:
        terms.update(expert_terms(model, strategy))
    dropped = strategy.savings.terms or DROPPED.get(strategy.framework, ())
    dropped = dropped if recompute == SELECTIVE else ()
    return sum(size for name, size in terms.items() if name not in dropped)


def _count_backward(setting: Setting, strategy: Strategy, stage: int) -> dict[str, float]:
    """Return what lies beside the states when the backward pass of the first micro batch begins."""
    model = setting.model
    tokens = setting.sequence * strategy.micro / strategy.context
    dense_layers, expert_layers = layers_of_stage(model, strategy, stage)
    alive = count_alive(strategy, stage, strategy.micro_batches(setting))
    stored = sum(
        many
        * _keep_layers(model, strategy, experts=kind, share=_recomputed_share(strategy, dense_layers + expert_layers))
        for kind, many in _kinds(dense_layers, expert_layers)
    )
    return {
        "activations": alive * tokens * stored + _count_once(setting, strategy, stage),
        "gathered": _count_gathered(model, strategy, tokens),
        "working": _count_working(model, strategy, tokens),
    }


def _count_once(setting: Setting, strategy: Strategy, stage: int) -> float:
    """Return what the layer keeps that is computed again: the largest kind of the stage."""
    if strategy.recompute != FULL:
        return 0.0
    kinds = [kind for kind, many in _kinds(*layers_of_stage(setting.model, strategy, stage)) if many]
    layers = [layer_bytes(setting.model, strategy, experts=kind, recompute=NONE) for kind in kinds]
    return setting.sequence * strategy.micro / strategy.context * max(layers, default=0.0)


def _count_head(model: Model, strategy: Strategy, tokens: float) -> float:
    """Return the logits and what the loss makes of them, or what is left of them when the head's gradient is there,
    where that goes into no buffer that is counted already."""
    element = LOGITS["megatron" if strategy.megatron else strategy.framework]
    logits = element * tokens * model.vocabulary / strategy.tensor
    return logits + (0.0 if strategy.megatron else 2.0 * model.embedding_parameters)


def _recomputed_share(strategy: Strategy, layers: int) -> float:
    """Return which share of a stage's layers is recomputed whole."""
    if strategy.recompute != FULL:
        return 0.0
    some = strategy.savings.layers * strategy.chunks
    return min(1.0, some / max(layers, 1)) if some else 1.0


def _keep_layers(model: Model, strategy: Strategy, *, experts: bool, share: float) -> float:
    """Return what a layer keeps of a token where this share of the layers is recomputed whole."""
    rest = NONE if strategy.recompute == FULL else strategy.recompute
    whole = layer_bytes(model, strategy, experts=experts, recompute=FULL)
    return share * whole + (1 - share) * layer_bytes(model, strategy, experts=experts, recompute=rest)


def _kinds(dense_layers: int, expert_layers: int) -> tuple[tuple[bool, int], ...]:
    return (False, dense_layers), (True, expert_layers)


def count_alive(strategy: Strategy, stage: int, micro_batches: int) -> float:
    """Return how many micro batches' activations a stage holds at once: one forward, one backward; with chunks each
    counts for its share of the layers."""
    stages, chunks = strategy.pipeline, strategy.chunks
    if chunks == 1:
        return float(min(stages - stage, micro_batches))
    return min((stages - stage - 1) * 2 + (chunks - 1) * stages + 1, micro_batches * chunks) / chunks


def _count_gathered(model: Model, strategy: Strategy, tokens: float) -> float:
    """Return what is put together of shards for a while: rows of a sequence, or layers' weights and gradients."""
    rows = 2 * 2.0 * tokens * model.hidden if strategy.tensor > 1 and strategy.sequence_parallel else 0.0
    if strategy.framework == DEEPSPEED:
        return rows + _count_buckets(model, strategy)
    if strategy.framework != FSDP or strategy.zero < 2:
        return rows
    largest = max(model.dense_parameters, model.expert_parameters + model.shared_parameters)
    layer, root = float(model.attention_parameters + largest), _count_root(model)
    gathering = 2.0 * max(root, layer)  # in the memory of a stream of its own
    return rows + gathering + (2 * 2.0 * layer + 2.0 * root if strategy.zero >= 3 else 0.0)


#: Elements of DeepSpeed's buckets, of the weights that stage 3 holds whole at once and of those it updates at once:
#: reduce_bucket_size, stage3_max_live_parameters, sub_group_size (https://www.deepspeed.ai/docs/config-json/)
BUCKET, LIVE, SUB_GROUP = 5e8, 1e9, 1e9


def _count_buckets(model: Model, strategy: Strategy) -> float:
    """Return DeepSpeed's buckets of gradients, of which overlapping has two, and the weights that are whole."""
    buckets = 2 * 2.0 * min(BUCKET, model.parameters) if strategy.zero else 0.0
    return buckets + (2.0 * min(LIVE, model.parameters) if strategy.zero >= 3 else 0.0)


def _count_working(model: Model, strategy: Strategy, tokens: float) -> float:
    """Return what one layer's backward pass holds for a moment: gradients of its widest results, a workspace."""
    widest = 2.0 * model.feed_forward * (model.matrices - 1) / strategy.tensor
    attention = 4.0 * (model.query_width + model.key_width + model.value_width) / strategy.tensor
    return tokens * (max(widest, attention) + 2 * 2.0 * model.hidden) + WORKSPACE


#: Of the fused attention's backward pass and matrix products
WORKSPACE = 0.35e9


def _count_update(model: Model, strategy: Strategy, stage: int, states: dict[str, float]) -> dict[str, float]:
    """Return what the update holds: beside the states, in float32 and as long as the card's share, a list of torch's
    foreach AdamW, and of DeepSpeed without sharding the gradients; Megatron's makes none."""
    if strategy.megatron:
        return states
    held = count_held(model, strategy, stage)
    share = held.all / strategy.replicas if strategy.zero >= 1 else held.all
    if strategy.framework == FSDP:  # what was cast or gathered is gone
        return {**states, "weights": _count_own_weights(model, strategy), "working": 4.0 * share}
    if not strategy.zero:
        return {**states, "working": 8.0 * share}
    share = min(share, SUB_GROUP) if strategy.zero >= 3 else share
    return {**states, "gradients": 0.0, "working": 4.0 * share}  # of gradients the float32 ones are there
