"""A strategy: how a training is spread over cards, and what it spares memory with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_workbook.estimates.chips import Chip
from ascend_workbook.planning.strategy.model import Model

MINDSPEED, MEGATRON, DEEPSPEED, FSDP = FRAMEWORKS = ("mindspeed", "megatron", "deepspeed", "fsdp")
NONE, SELECTIVE, FULL = RECOMPUTES = ("none", "selective", "full")


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
class Savings:
    """What a launch script may spare memory with beside its degrees: bytes of a parameter that gradients and optimizer
    do without, the terms that a layer does not keep (memory.py), the layers of a stage that are recomputed whole (0:
    all), and arguments that no formula here knows."""

    gradient_bytes: float = 0.0
    optimizer_bytes: float = 0.0
    terms: tuple[str, ...] = ()
    layers: int = 0
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Strategy:
    """Degrees of parallelism, and how memory is spared. `chunks` are the pieces of a pipeline stage (VPP), `zero` is
    the stage of ZeRO (3: FSDP's full sharding), `micro` the sequences of one micro batch, `expert_tensor` the tensor
    parallelism of experts, `stage_layers` the layers of each stage where a launch script deals them out unequally."""

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
    savings: Savings = Savings()
    stage_layers: tuple[int, ...] = ()

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
    split = "moe-tp-extend-ep" in arguments
    expert = numbers.read("expert-model-parallel-size", 1) * (tensor if split else 1)
    strategy = Strategy(
        tensor=tensor,
        pipeline=pipeline,
        chunks=chunks,
        context=context,
        expert=expert,
        data=max(1, cards // (tensor * pipeline * context)),
        zero=1 if "use-distributed-optimizer" in arguments else 0,
        recompute=_read_recompute(arguments),
        micro=numbers.read("micro-batch-size", 1),
        expert_tensor=numbers.read("expert-tensor-parallel-size", 1 if split else tensor),
        sequence_parallel="sequence-parallel" in arguments,
        savings=_read_savings(arguments, numbers),
        stage_layers=_read_stage_layers(arguments, pipeline),
    )
    return strategy, cards


#: Arguments of MindSpeed, and how many bytes of a parameter gradients and optimizer do without by them:
#: https://gitcode.com/Ascend/MindSpeed-LLM/blob/master/docs/en/pytorch/features/mcore/o2.md and
#: https://gitcode.com/Ascend/MindSpeed/blob/master/docs/zh/features/reuse-fp32-param.md
SPARED_GRADIENTS = {"o2-gradient": 2.0}
SPARED_OPTIMIZER = {"o2-optimizer": 4.0, "reuse-fp32-param": 2.0, "swap-optimizer": 12.0}
#: Parts that are recomputed, and the terms of a layer that need not be kept then
RECOMPUTED_TERMS = {
    "recompute-activation-function": ("activated",),
    "recompute-norm": ("normed",),
    "moe_act": ("activated",),
    "layernorm": ("normed",),
    "mlp": ("gate", "activated"),
    "moe": ("routed", "gate", "activated", "router"),
}
#: Arguments that spare memory by no formula here
UNKNOWN_SAVINGS = (
    "swap-attention",
    "moe-zero-memory",
    "cpu-offloading",
    "optimizer-cpu-offload",
    "adaptive-memory-optimization",
)


def _read_stage_layers(arguments: Mapping[str, str], pipeline: int) -> tuple[int, ...]:
    """Return MindSpeed-LLM's `--num-layer-list`; nothing where it does not name every stage."""
    parts = arguments.get("num-layer-list", "").split(",")
    return tuple(map(int, parts)) if len(parts) == pipeline and all(part.isdigit() for part in parts) else ()


def _read_recompute(arguments: Mapping[str, str]) -> str:
    """Return how a launch script recomputes; `selective` alone means scores, which a fused attention never keeps."""
    if arguments.get("recompute-granularity") == FULL:
        return FULL
    return SELECTIVE if _read_terms(arguments) else NONE


def _read_terms(arguments: Mapping[str, str]) -> tuple[str, ...]:
    names = [name for name in arguments if name in RECOMPUTED_TERMS]
    names += arguments.get("recompute-modules", "").split()
    return tuple(dict.fromkeys(term for name in names for term in RECOMPUTED_TERMS.get(name, ())))


def _read_savings(arguments: Mapping[str, str], numbers: _Numbers) -> Savings:
    optimizer = sum(spared for name, spared in SPARED_OPTIMIZER.items() if name in arguments)
    return Savings(
        gradient_bytes=sum(spared for name, spared in SPARED_GRADIENTS.items() if name in arguments),
        optimizer_bytes=min(optimizer, 12.0),
        terms=_read_terms(arguments),
        layers=numbers.read("recompute-num-layers", 0) if arguments.get("recompute-method") == "block" else 0,
        unknown=tuple(name for name in UNKNOWN_SAVINGS if name in arguments),
    )


_DEGREES = ("tensor-model", "pipeline-model", "context")


@dataclass(frozen=True)
class _Numbers:
    arguments: Mapping[str, str]

    def read(self, name: str, default: int) -> int:
        text = self.arguments.get(name) or self.arguments.get(name.replace("_", "-"), "")
        return int(text) if text.isdigit() and int(text) > 0 else default
