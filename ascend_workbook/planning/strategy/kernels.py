"""The CANN kernels of one layer, of the head and of the update, as a decoder in bfloat16 runs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ascend_workbook.estimates.kernels import Kernel
from ascend_workbook.planning.strategy.choice import Strategy
from ascend_workbook.planning.strategy.model import Model

HALF, SINGLE, FLAG = "DT_BF16", "FLOAT", "BOOL"
MASK = (2048, 2048)
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """Kernels of the forward and of the backward pass."""

    forward: tuple[Kernel, ...]
    backward: tuple[Kernel, ...]

    @property
    def launches(self) -> int:
        return len(self.forward) + len(self.backward)


def multiply(rows: int, columns: int, depth: int, *, turned: bool = False) -> Kernel:
    """Return a matrix product in bfloat16; `turned`: the left operand lies as depth x rows."""
    left = (depth, rows) if turned else (rows, depth)
    return Kernel("MatMulV3", (left, (depth, columns)), (HALF, HALF), ((rows, columns),), (HALF,))


def multiply_experts(experts: int, rows: int, columns: int, depth: int) -> Kernel:
    """Return the products of tokens that are sorted by expert."""
    shapes = (rows, depth), (experts, depth, columns)
    return Kernel("GroupedMatmul", shapes, (HALF, HALF), ((rows, columns),), (HALF,))


def walk(kind: str, shape: Shape, reads: int = 1, item: str = HALF) -> Kernel:
    """Return a kernel that goes once over tensors of one shape."""
    return Kernel(kind, (shape,) * reads, (item,) * reads, (shape,), (item,))


def build_layer(model: Model, strategy: Strategy, sequence: int, *, experts: bool) -> Part:
    """Return the kernels of one layer for one micro batch on one card."""
    batch, tensor = strategy.micro, strategy.tensor
    length = max(1, sequence // strategy.context)
    tokens = length * batch
    query, key, value, output = (
        max(1, width // tensor) for width in (model.query_width, model.key_width, model.value_width, model.output_width)
    )
    sizes = [(tokens, query + key + value, model.hidden), (tokens, model.hidden, output)]
    attention = _build_attention(batch, length, sequence, query, key, value)
    rows = max(1, tokens // (tensor if strategy.sequence_parallel else 1))
    norms = [walk("RmsNorm", (rows, model.hidden))] * 2
    turned = [walk("RotaryPositionEmbedding", (tokens, width)) for width in (query, key)]
    added = [walk("Add", (rows, model.hidden), 2)] * 2
    network = _build_experts(model, strategy, tokens) if experts else _build_dense(model, tensor, tokens)
    forward = [multiply(*size) for size in sizes] + [attention.forward[0], *norms, *turned, *added]
    backward = [*_turn_products(sizes), attention.backward[0], *_turn_walks([*norms, *turned]), *added]
    return Part((*forward, *network.forward), (*backward, *network.backward))


def _build_attention(batch: int, length: int, sequence: int, query: int, key: int, value: int) -> Part:
    shapes: tuple[Shape, ...] = ((length, batch, query), (sequence, batch, key), (sequence, batch, value), MASK)
    types = (HALF, HALF, HALF, FLAG)
    forward = Kernel("FlashAttentionScore", shapes, types, (shapes[0],), (HALF,))
    backward = Kernel("FlashAttentionScoreGrad", shapes, types, shapes[:3], types[:3])
    return Part((forward,), (backward,))


def _turn_products(sizes: list[tuple[int, int, int]]) -> Iterator[Kernel]:
    """Yield the products of the backward pass: for the input, for the weights, and what adds these up in float32."""
    for rows, columns, depth in sizes:
        yield multiply(rows, depth, columns)
        yield multiply(columns, depth, rows, turned=True)
        shape = (columns, depth)
        yield Kernel("Add", (shape, shape), (SINGLE, HALF), (shape,), (SINGLE,))


def _turn_walks(kernels: list[Kernel]) -> Iterator[Kernel]:
    for kernel in kernels:
        shape, item = kernel.inputs[0], kernel.input_types[0]
        yield Kernel(f"{kernel.type}Grad", (shape, shape), (item, item), kernel.outputs, kernel.output_types)


def _build_dense(model: Model, tensor: int, tokens: int) -> Part:
    inner = model.matrices - 1
    width = max(1, model.feed_forward // tensor)
    sizes = [(tokens, inner * width, model.hidden), (tokens, model.hidden, width)]
    kind = "SwiGlu" if model.gated else "Gelu"
    whole, narrow = (tokens, inner * width), (tokens, width)
    forward = Kernel(kind, (whole,), (HALF,), (narrow,), (HALF,))
    backward = Kernel(f"{kind}Grad", (narrow, whole), (HALF, HALF), (whole,), (HALF,))
    return Part((*(multiply(*size) for size in sizes), forward), (*_turn_products(sizes), backward))


def _build_experts(model: Model, strategy: Strategy, tokens: int) -> Part:
    inner = model.matrices - 1
    local = max(1, model.experts // strategy.expert)
    split = strategy.tensor if strategy.expert_tensor < strategy.tensor else 1
    rows = max(1, tokens * model.chosen_experts // split)
    width = max(1, model.expert_width // strategy.expert_tensor)
    sizes = [(rows, inner * width, model.hidden), (rows, model.hidden, width)]
    products = [multiply_experts(local, *size) for size in sizes]
    turned = [multiply_experts(local, down, deep, wide) for down, wide, deep in sizes]
    weights = [multiply(wide * local, deep, max(1, down // local)) for down, wide, deep in sizes]
    sums = [walk("Add", (local * wide, deep), 2, SINGLE) for _, wide, deep in sizes]
    moved = [walk("MoeTokenPermute", (rows, model.hidden)), walk("MoeTokenUnpermute", (rows, model.hidden))]
    gate = Kernel("SwiGlu", ((rows, inner * width),), (HALF,), ((rows, width),), (HALF,))
    ungate = Kernel(
        "SwiGluGrad", ((rows, width), (rows, inner * width)), (HALF, HALF), ((rows, inner * width),), (HALF,)
    )
    router = multiply(tokens, model.experts, model.hidden)
    shared = _build_shared(model, strategy, tokens)
    forward = [router, *products, gate, *moved, *shared.forward]
    return Part(tuple(forward), (*turned, *weights, *sums, ungate, *_turn_walks(moved), *shared.backward))


def _build_shared(model: Model, strategy: Strategy, tokens: int) -> Part:
    if not model.shared_width:
        return Part((), ())
    inner, width = model.matrices - 1, max(1, model.shared_width // strategy.tensor)
    sizes = [(tokens, inner * width, model.hidden), (tokens, model.hidden, width)]
    return Part(tuple(multiply(*size) for size in sizes), tuple(_turn_products(sizes)))


def build_head(model: Model, strategy: Strategy, sequence: int) -> Part:
    """Return the kernels of the logits and of the loss for one micro batch."""
    tokens = max(1, sequence // strategy.context) * strategy.micro
    width = max(1, model.vocabulary // strategy.tensor)
    passes = [walk("Cast", (tokens, width), item=SINGLE)] * 3
    sizes = [(tokens, width, model.hidden)]
    return Part((multiply(*sizes[0]), *passes), (*_turn_products(sizes), *passes))


def build_update(parameters: int, shared: int) -> tuple[Kernel, ...]:
    """Return the kernels of an update: gradients cleared, their norm and scale, Adam over the share of this card."""
    update = Kernel("ApplyAdamWV2", ((shared,),) * 4, (SINGLE,) * 4, (), ())
    whole = (parameters,)
    return update, walk("Mul", whole, item=SINGLE), Kernel("ZerosLike", (whole,), (SINGLE,), (whole,), (SINGLE,))
