"""How long a step would take, as a range, if nothing waits: kernels, collectives, a pipeline's bubble, launches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.estimates.chips import Chip
from ascend_workbook.estimates.collectives import estimate_collective
from ascend_workbook.estimates.kernels import estimate_kernels
from ascend_workbook.estimates.launches import estimate_launches
from ascend_workbook.estimates.ranges import ZERO, Range, add_ranges
from ascend_workbook.planning.strategy.choice import FULL, NONE, Setting, Strategy
from ascend_workbook.planning.strategy.kernels import Part, build_head, build_layer, build_update
from ascend_workbook.planning.strategy.memory import STATES, Held, count_held, layers_of_stage
from ascend_workbook.planning.strategy.model import Model

SECOND = 1e6
#: Which part of the collectives of data parallelism hides behind the backward pass: all, half, none
EXPOSED = (0.0, 0.5, 1.0)
#: What single kernels of other shapes err beside the error that all candidates share
APART = 1.05
#: Which share of the forward pass `selective` repeats: norms and activation function; with Megatron the network too
REPEATED = {"mindspeed": 0.05, "megatron": 0.5}


@dataclass(frozen=True)
class Step:
    """Seconds of a step by kind, each a range, and what the host needs to launch it all."""

    compute: Range
    bubble: Range
    inner: Range
    outer: Range
    data: Range
    update: Range
    launches: Range

    @cached_property
    def total(self) -> Range:
        """Return the step: what the cards do one after another, and never less than its launches."""
        cards = add_ranges((self.compute.plus(self.bubble), self.inner, self.outer, self.data, self.update))
        ends = (max(getattr(cards, end), getattr(self.launches, end)) for end in ("low", "middle", "high"))
        return Range(*ends)

    @property
    def parts(self) -> dict[str, Range]:
        names = ("compute", "bubble", "inner", "outer", "data", "update")
        return {name: getattr(self, name) for name in names}

    @property
    def host_bound(self) -> str:
        """Return `yes`, `no` or `unsure`: whether launching takes longer than the cards need."""
        cards = self.compute.middle + self.update.middle
        if self.launches.low > cards:
            return "yes"
        return "unsure" if self.launches.high > cards else "no"

    @cached_property
    def outcomes(self) -> tuple[float, ...]:
        """Return the step at each corner of what may err: kernels, links in a node, links between nodes, launches.
        Of two strategies the same corner is the same world, so that what errs in both does not part them."""
        ends = ("low", "high")
        every = []
        for kernels, links, wires, host in product(ends, repeat=4):
            worked = sum(getattr(part, kernels) for part in (self.compute, self.bubble, self.update))
            moved = getattr(self.inner, links) + getattr(self.outer, wires) + getattr(self.data, wires)
            every.append(max(worked + moved, getattr(self.launches, host)))
        return tuple(every)


def compare_steps(step: Step, best: Step) -> Range:
    """Return how many times the best's step this one would take, over all corners that both share."""
    ratios = [mine / other for mine, other in zip(step.outcomes, best.outcomes)]
    if step is best:
        return Range.exactly(1.0)
    low, high = min(ratios) / APART, max(ratios) * APART
    middle = step.total.middle / best.total.middle
    return Range(low, min(max(middle, low), high), high)


def estimate_step(setting: Setting, strategy: Strategy, basis: Basis) -> Step:
    """Return how long one step would take."""
    model, chip = setting.model, setting.chip
    stages = [_time_stage(setting, strategy, stage, basis) for stage in {0, strategy.pipeline - 1}]
    slowest = max(stages, key=lambda stage: stage.kernels.middle + stage.collectives.middle)
    micro = strategy.micro_batches(setting)
    idle = (strategy.pipeline - 1) / strategy.chunks
    inner, outer = _split_links(strategy, setting, slowest, micro + idle)
    data = _time_replicas(setting, strategy, chip)
    held = count_held(model, strategy, 0)
    update = _time_update(strategy, held, chip, basis)
    return Step(
        compute=slowest.kernels.times(micro / SECOND),
        bubble=slowest.kernels.times(idle / SECOND),
        inner=inner,
        outer=outer,
        data=data,
        update=update.times(1 / SECOND),
        launches=estimate_launches(1, basis).times(slowest.launches * micro / SECOND),
    )


@dataclass(frozen=True)
class _Stage:
    """Of one micro batch on a stage: kernels and collectives in microseconds, launches."""

    kernels: Range
    collectives: Range
    sends: Range
    launches: int


def _time_stage(setting: Setting, strategy: Strategy, stage: int, basis: Basis) -> _Stage:
    model = setting.model
    kernels, collectives, launches = [], [], 0
    for experts, many in zip((False, True), layers_of_stage(model, strategy, stage)):
        if not many:
            continue
        layer = _build_layer(model, _shape_of(strategy), setting.sequence, experts)
        forward, backward = _time_part(layer, setting.chip, basis)
        repeated = _repeats(strategy)
        kernels.append(forward.times((1 + repeated) * many).plus(backward.times(many)))
        collectives.append(_time_layer_links(setting, strategy, experts=experts).times(many))
        launches += many * (layer.launches + round(repeated * len(layer.forward)))
    if stage == strategy.pipeline - 1:
        head = _build_head(model, _shape_of(strategy), setting.sequence)
        forward, backward = _time_part(head, setting.chip, basis)
        kernels.append(forward.plus(backward))
        launches += head.launches
    sends = _time_sends(setting, strategy)
    total = ZERO
    for part in kernels:
        total = total.plus(part)
    links = ZERO
    for part in collectives:
        links = links.plus(part)
    return _Stage(total, links, sends, launches)


def _shape_of(strategy: Strategy) -> Strategy:
    """Return the strategy with what alone decides the shapes of kernels."""
    return Strategy(
        tensor=strategy.tensor,
        context=strategy.context,
        expert=strategy.expert,
        expert_tensor=strategy.expert_tensor,
        micro=strategy.micro,
        sequence_parallel=strategy.sequence_parallel,
    )


@lru_cache(maxsize=2048)
def _build_layer(model: Model, shape: Strategy, sequence: int, experts: bool) -> Part:
    return build_layer(model, shape, sequence, experts=experts)


@lru_cache(maxsize=2048)
def _build_head(model: Model, shape: Strategy, sequence: int) -> Part:
    return build_head(model, shape, sequence)


@lru_cache(maxsize=4096)
def _time_part(part: Part, chip: Chip, basis: Basis) -> tuple[Range, Range]:
    forward, backward = (estimate_kernels(kernels, chip, basis).range for kernels in (part.forward, part.backward))
    return forward, backward


def _repeats(strategy: Strategy) -> float:
    """Return which share of the forward pass runs once more."""
    if strategy.recompute == NONE:
        return 0.0
    return 1.0 if strategy.recompute == FULL else REPEATED.get(strategy.framework, 0.0)


def _time_layer_links(setting: Setting, strategy: Strategy, *, experts: bool) -> Range:
    """Return the collectives of one layer and micro batch, forward and backward, in microseconds."""
    model, chip = setting.model, setting.chip
    tokens = setting.sequence * strategy.micro / strategy.context
    size = 2.0 * tokens * model.hidden
    again = 1.5 if strategy.recompute == FULL else 1.0
    links = []
    if strategy.tensor > 1:
        links.append(estimate_collective("allreduce", size, strategy.tensor, 1, chip).times(4 * again))
    if strategy.context > 1:
        turned = 2.0 * tokens * (model.key_width + model.value_width) / strategy.tensor * strategy.context
        nodes = _nodes(strategy.tensor * strategy.context, setting)
        links.append(estimate_collective("allgather", turned, strategy.context, nodes, chip).times(3 * again))
    if experts and strategy.expert > 1:
        routed = size * model.chosen_experts / (strategy.tensor if strategy.expert_tensor < strategy.tensor else 1)
        nodes = _nodes(strategy.tensor * strategy.context * strategy.expert // strategy.tensor, setting)
        links.append(estimate_collective("alltoall", routed, strategy.expert, nodes, chip).times(4 * again))
    if strategy.zero >= 3:
        layer = model.attention_parameters + model.norm_parameters
        layer += (model.expert_parameters + model.shared_parameters) if experts else model.dense_parameters
        nodes = _nodes(strategy.data, setting)
        gathered = estimate_collective("allgather", 2.0 * layer, strategy.data, nodes, chip).times(2)
        scattered = estimate_collective("reducescatter", 2.0 * layer, strategy.data, nodes, chip)
        links.append(_hide(gathered.plus(scattered)))
    return add_ranges(links) if links else ZERO


def _nodes(cards: int, setting: Setting) -> int:
    """Return over how many nodes a group of so many neighbouring cards lies."""
    return max(1, -(-cards // setting.node_cards))


def _hide(time: Range) -> Range:
    """Return what of a collective stays beside computation that it can hide behind."""
    low, middle, high = EXPOSED
    return Range(time.low * low, time.middle * middle, time.high * high)


def _time_sends(setting: Setting, strategy: Strategy) -> Range:
    """Return what a micro batch sends from stage to stage, forward and backward, in microseconds."""
    if strategy.pipeline == 1:
        return ZERO
    size = 2.0 * setting.sequence * strategy.micro / strategy.context * setting.model.hidden / strategy.tensor
    return estimate_collective("send", size, 2, _stage_nodes(strategy, setting), setting.chip).times(
        2 * strategy.chunks
    )


def _stage_nodes(strategy: Strategy, setting: Setting) -> int:
    """Return 2 where neighbouring stages lie in different nodes: Megatron's order is TP, CP, EP, DP, PP."""
    return 2 if strategy.tensor * strategy.context * strategy.data * 2 > setting.node_cards else 1


def _split_links(strategy: Strategy, setting: Setting, stage: _Stage, rounds: float) -> tuple[Range, Range]:
    """Return the seconds of collectives within a node and between nodes."""
    links, sends = stage.collectives.times(rounds / SECOND), stage.sends.times(rounds / SECOND)
    far = _stage_nodes(strategy, setting) > 1
    sharded = strategy.zero >= 3 and setting.nodes > 1
    inner = (ZERO if sharded else links).plus(ZERO if far else sends)
    return inner, (links if sharded else ZERO).plus(sends if far else ZERO)


def _time_replicas(setting: Setting, strategy: Strategy, chip: Chip) -> Range:
    """Return the seconds that adding up gradients and spreading weights would take beyond what hides."""
    if strategy.replicas == 1 or strategy.zero >= 3:
        return ZERO
    weights, gradients, _ = STATES["megatron" if strategy.megatron else strategy.framework]
    held = max(
        (count_held(setting.model, strategy, stage) for stage in {0, strategy.pipeline - 1}), key=lambda h: h.all
    )
    nodes = _nodes(strategy.tensor * strategy.context * strategy.data, setting)
    size = held.dense + (held.expert if strategy.expert_replicas > 1 else 0.0)
    parts = [estimate_collective("reducescatter", gradients * size, strategy.replicas, nodes, chip)]
    parts.append(estimate_collective("allgather", weights * size, strategy.replicas, nodes, chip))
    return _hide(add_ranges(parts)).times(1 / SECOND)


def _time_update(strategy: Strategy, held: Held, chip: Chip, basis: Basis) -> Range:
    shared = held.dense / strategy.replicas + held.expert / strategy.expert_replicas if strategy.zero else held.all
    return estimate_kernels(build_update(int(held.all), max(1, int(shared))), chip, basis).range
