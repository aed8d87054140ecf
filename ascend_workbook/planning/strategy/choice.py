"""A strategy: how a training is spread over cards, and what it spares memory with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_workbook.estimates.chips import Chip
from ascend_workbook.planning.strategy.model import Model

MINDSPEED, MEGATRON, DEEPSPEED, FSDP = FRAMEWORKS = ("mindspeed", "megatron", "deepspeed", "fsdp")
NONE, SELECTIVE, FULL = RECOMPUTES = ("none", "selective", "full")
GIB = 2**30


@dataclass(frozen=True)
class Setting:
    """What is given: the model, the cards, and a step's batch (`batch` sequences of `sequence` tokens)."""

    model: Model
    cards: int
    nodes: int
    chip: Chip
    memory_bytes: float
    batch: int
    sequence: int
    framework: str = MINDSPEED

    @property
    def node_cards(self) -> int:
        return self.cards // self.nodes

    @property
    def tokens(self) -> int:
        """Return the tokens of one step."""
        return self.batch * self.sequence


@dataclass(frozen=True)
class Strategy:
    """Degrees of parallelism, and the savings. `chunks` are the pieces of a pipeline stage (VPP), `zero` is the
    stage of ZeRO (3: FSDP's full sharding), `micro` the sequences of one micro batch, `expert_tensor` the tensor
    parallelism of experts. What a launch script may have beside: no sequence parallelism, an optimizer whose float32
    weights share their upper half with the bfloat16 ones (`shared_halves`), one that lies on the host (`swapped`)."""

    tensor: int = 1
    pipeline: int = 1
    chunks: int = 1
    context: int = 1
    expert: int = 1
    data: int = 1
    zero: int = 0
    recompute: str = NONE
    micro: int = 1
    framework: str = MINDSPEED
    expert_tensor: int = 1
    sequence_parallel: bool = True
    shared_halves: bool = False
    swapped: bool = False
    recomputed_layers: int = 0

    @property
    def cards(self) -> int:
        return self.tensor * self.pipeline * self.context * self.data

    @property
    def degrees(self) -> tuple[int, ...]:
        """Return what makes it another strategy and not another shade of one."""
        return self.tensor, self.pipeline, self.context, self.expert

    @property
    def megatron(self) -> bool:
        """Say whether it is of the family of Megatron, whose stages are equal and whose gradients are float32."""
        return self.framework in (MINDSPEED, MEGATRON)

    @property
    def replicas(self) -> int:
        """Return over how many cards the optimizer of a dense layer may be sharded."""
        return self.data * self.context

    @property
    def expert_replicas(self) -> int:
        return max(1, self.tensor * self.context * self.data // (self.expert * self.expert_tensor))

    @property
    def text(self) -> str:
        """Return it as engineers write it: `TP4 PP2 DP2 ZeRO-1 micro 1 recompute full`."""
        degrees = {"TP": self.tensor, "PP": self.pipeline, "VPP": self.chunks, "CP": self.context, "EP": self.expert}
        words = [f"{name}{degree}" for name, degree in degrees.items() if degree > 1]
        sharding = {DEEPSPEED: f"ZeRO-{self.zero}", FSDP: f"FSDP-{self.zero}"}.get(self.framework, f"ZeRO-{self.zero}")
        words += [f"DP{self.data}", *([sharding] if self.zero else []), f"MBS{self.micro}"]
        return " ".join(words + ([f"recompute-{self.recompute}"] if self.recompute != NONE else []))

    def micro_batches(self, setting: Setting) -> int:
        """Return the micro batches of a step on each replica."""
        return max(1, setting.batch // (self.data * self.micro))


def strategy_of_arguments(arguments: Mapping[str, str], cards: int) -> tuple[Strategy, int] | None:
    """Return the strategy of a launch script in Megatron's arguments and the cards that it says; None without any."""
    if "tensor-model-parallel-size" not in arguments and "pipeline-model-parallel-size" not in arguments:
        return None
    numbers = _Numbers(arguments)
    nodes = numbers.read("NNODES", numbers.read("nnodes", 1))
    node_cards = numbers.read("NPUS_PER_NODE", numbers.read("GPUS_PER_NODE", numbers.read("nproc_per_node", 0)))
    cards = nodes * node_cards or cards
    tensor, pipeline, context = (numbers.read(f"{name}-parallel-size", 1) for name in _DEGREES)
    layers = numbers.read("num-layers", 1)
    per_chunk = numbers.read("num-layers-per-virtual-pipeline-stage", 0)
    chunks = max(1, layers // (pipeline * per_chunk)) if per_chunk and pipeline > 1 else 1
    expert_tensor = numbers.read("expert-tensor-parallel-size", 1 if "moe-tp-extend-ep" in arguments else tensor)
    expert = numbers.read("expert-model-parallel-size", 1)
    if "moe-tp-extend-ep" in arguments:
        expert *= tensor
    strategy = Strategy(
        tensor=tensor,
        pipeline=pipeline,
        chunks=chunks,
        context=context,
        expert=expert,
        data=max(1, cards // (tensor * pipeline * context)),
        zero=1 if "use-distributed-optimizer" in arguments else 0,
        recompute=arguments.get("recompute-granularity") or NONE,
        micro=numbers.read("micro-batch-size", 1),
        expert_tensor=expert_tensor,
        sequence_parallel="sequence-parallel" in arguments,
        shared_halves="reuse-fp32-param" in arguments,
        swapped="swap-optimizer" in arguments,
        recomputed_layers=numbers.read("recompute-num-layers", 0)
        if arguments.get("recompute-method") == "block"
        else 0,
    )
    return strategy, cards


_DEGREES = ("tensor-model", "pipeline-model", "context")


@dataclass(frozen=True)
class _Numbers:
    arguments: Mapping[str, str]

    def read(self, name: str, default: int) -> int:
        text = self.arguments.get(name) or self.arguments.get(name.replace("_", "-"), "")
        return int(text) if text.isdigit() and int(text) > 0 else default
