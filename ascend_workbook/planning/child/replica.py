"""One card of a training in Megatron's style, of any model and strategy: what a plan rehearses to learn its memory.

    python replica.py SPEC.json PEAK.json

SPEC has a model's dimensions (hidden, layers of this stage, heads, kv_heads, head_dim, feed_forward, vocabulary, gated,
normed_queries, biased_queries), the strategy (tensor, context, replicas, sequence_parallel, recompute, micro, zero,
chunks) and where the card stands (first, last, alive: how many pieces of forward passes are held at once,
micro_batches, sequence). PEAK gets the bytes allocated and reserved. Other cards are not there: what would be gathered
from them is reserved, what would be summed over them is cut.

As MindSpeed trains: bfloat16 weights, float32 gradients in one buffer, float32 weights and moments of Adam sharded over
the replicas, fused RMSNorm, rotary embedding, SwiGLU and attention. Runs in a process of its own by path."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any, Callable

import torch
import torch_npu
from torch import nn
from torch.utils.checkpoint import checkpoint

BF16, DEVICE = torch.bfloat16, "npu"
Pre = Callable[..., torch.Tensor]


def gather(x: torch.Tensor, parts: int) -> torch.Tensor:
    """Reserve what an all-gather along the rows would give."""
    return x if parts == 1 else x.new_empty((x.shape[0] * parts, *x.shape[1:]))


def scatter(x: torch.Tensor, parts: int) -> torch.Tensor:
    """Keep this card's rows of what a reduce-scatter would give."""
    return x if parts == 1 else x[: x.shape[0] // parts].clone()


class Product(torch.autograd.Function):  # type: ignore[misc]
    """`pre(x) @ w.T` with rows gathered before it or scattered after it; `pre` is computed again in the backward pass.

    The weight's gradient goes to its float32 buffer at once, as Megatron's hook does."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: nn.Parameter, pre: Pre | None, parts: tuple[int, int]) -> torch.Tensor:
        before, after = parts
        ctx.save_for_backward(x)
        ctx.w, ctx.pre, ctx.parts = w, pre, parts  # the parameter itself: its buffer is an attribute
        return scatter(gather(x if pre is None else pre(x), before) @ w.t(), after)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        before, after = ctx.parts
        (x,), w = ctx.saved_tensors, ctx.w
        grad = gather(grad, after)
        inner = x.detach().requires_grad_() if ctx.pre is not None else None
        with torch.enable_grad():
            again = x if inner is None else ctx.pre(inner)
        total = gather(again.detach(), before)
        w.main_grad.add_(grad.flatten(0, -2).t() @ total.flatten(0, -2))
        del total
        back = scatter(grad @ w, before)
        if inner is not None:
            (back,) = torch.autograd.grad(again, inner, back)
        return back, None, None, None


def multiply(x: torch.Tensor, w: nn.Parameter, pre: Pre | None, parts: tuple[int, int], again: bool) -> torch.Tensor:
    """Multiply what `pre` makes of x, kept for the backward pass or computed `again` in it."""
    if pre is None or again:
        return Product.apply(x, w, pre, parts)
    return Product.apply(pre(x), w, None, parts)


class Norm(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, dtype=BF16, device=DEVICE))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch_npu.npu_rms_norm(x, self.weight, 1e-6)[0]


def make_weight(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(rows, columns, dtype=BF16, device=DEVICE))


class Layer(nn.Module):  # type: ignore[misc]
    """One layer on one card: heads and inner width are this card's."""

    def __init__(self, spec: SimpleNamespace) -> None:
        super().__init__()
        self.spec, parts = spec, spec.tensor
        self.heads, self.pairs = spec.heads // parts, max(1, spec.kv_heads // parts)
        self.inner = spec.feed_forward // parts
        self.norm1, self.norm2 = Norm(spec.hidden), Norm(spec.hidden)
        self.qkv = make_weight((self.heads + 2 * self.pairs) * spec.head_dim, spec.hidden)
        self.out = make_weight(spec.hidden, self.heads * spec.head_dim)
        self.up = make_weight(self.inner * (2 if spec.gated else 1), spec.hidden)
        self.down = make_weight(spec.hidden, self.inner)
        if spec.biased_queries:
            self.bias = nn.Parameter(torch.zeros(self.qkv.shape[0], dtype=BF16, device=DEVICE))
        if spec.normed_queries:
            self.q_norm, self.k_norm = Norm(spec.head_dim), Norm(spec.head_dim)

    def attend(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        spec, again = self.spec, self.spec.recompute == "selective"
        gathered = spec.tensor if spec.sequence_parallel else 1
        qkv = multiply(x, self.qkv, self.norm1, (gathered, 1), again)
        if spec.biased_queries:
            qkv = qkv + self.bias
        length, batch, _ = qkv.shape
        widths = [self.heads * spec.head_dim, self.pairs * spec.head_dim, self.pairs * spec.head_dim]
        q, k, v = torch.split(qkv, widths, dim=2)
        q, k = (each.reshape(length, batch, -1, spec.head_dim) for each in (q, k))
        if spec.normed_queries:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = torch_npu.npu_rotary_mul(q, cos, sin), torch_npu.npu_rotary_mul(k, cos, sin)
        q, k = q.reshape(length, batch, -1), k.reshape(length, batch, -1)
        scale = spec.head_dim**-0.5
        kind = {"atten_mask": mask, "scale": scale, "sparse_mode": 2}
        a = torch_npu.npu_fusion_attention(q, k, v.contiguous(), self.heads, "SBH", **kind)[0]
        return multiply(a, self.out, None, (1, gathered), again)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        spec, again = self.spec, self.spec.recompute == "selective"
        gathered = spec.tensor if spec.sequence_parallel else 1
        x = x + self.attend(x, cos, sin, mask)
        wide = multiply(x, self.up, self.norm2, (gathered, 1), again)
        activate: Pre = (lambda y: torch_npu.npu_swiglu(y, dim=-1)) if spec.gated else nn.functional.gelu
        return x + multiply(wide, self.down, activate, (1, gathered), again)


class Loss(torch.autograd.Function):  # type: ignore[misc]
    """Cross entropy over a split vocabulary, worked on in place in float32 as Megatron does."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        scores = logits.float()
        scores.sub_(scores.amax(-1, keepdim=True)).exp_()
        sums = scores.sum(-1, keepdim=True)
        scores.div_(sums)
        ctx.save_for_backward(scores, targets)
        return sums.log().mean()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        scores, _ = ctx.saved_tensors
        return scores.mul_(grad).to(BF16), None


class Stage(nn.Module):  # type: ignore[misc]
    """The layers of one card in `chunks` pieces; the first stage has the embedding, the last the head."""

    def __init__(self, spec: SimpleNamespace) -> None:
        super().__init__()
        self.spec = spec
        each = spec.layers // spec.chunks
        self.pieces = nn.ModuleList(nn.ModuleList(Layer(spec) for _ in range(each)) for _ in range(spec.chunks))
        rows = spec.vocabulary // spec.tensor
        if spec.first:
            self.embed = nn.Embedding(rows, spec.hidden, dtype=BF16, device=DEVICE)
        if spec.last:
            self.norm, self.head = Norm(spec.hidden), make_weight(rows, spec.hidden)

    def forward(self, piece: int, x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        spec = self.spec
        gathered = spec.tensor if spec.sequence_parallel else 1
        if spec.first and piece == 0:
            x = scatter(self.embed(x).transpose(0, 1).contiguous(), gathered)
        for layer in self.pieces[piece]:
            full = spec.recompute == "full"
            x = checkpoint(layer, x, *others, use_reentrant=False) if full else layer(x, *others)
        if spec.last and piece == spec.chunks - 1:
            logits = multiply(x, self.head, self.norm, (gathered, 1), False)
            return Loss.apply(logits, x)
        return x


class Optimizer(torch.optim.Optimizer):  # type: ignore[misc]
    """Adam on this card's share of float32 weights, in place."""

    def __init__(self, stage: nn.Module, spec: SimpleNamespace) -> None:
        parameters = list(stage.parameters())
        super().__init__(parameters, {})
        share = spec.replicas if spec.zero else 1
        size = sum(parameter.numel() for parameter in parameters)
        self.gradients = torch.zeros(size, device=DEVICE)
        at = 0
        for parameter in parameters:
            parameter.main_grad = self.gradients[at : at + parameter.numel()].view(parameter.shape)
            parameter.register_post_accumulate_grad_hook(move_gradient)
            at += parameter.numel()
        own = -(-size // share)
        for name in ("master", "exp_avg", "exp_avg_sq"):
            self.state[parameters[0]][name] = torch.zeros(own, device=DEVICE)

    def step(self, closure: Any = None) -> None:
        first = self.param_groups[0]["params"][0]
        state = self.state[first]
        own = self.gradients[: state["master"].numel()]
        norm = torch.linalg.vector_norm(own)
        own.mul_(1.0 / (norm + 1e-6))
        out = (state["master"], state["exp_avg"], state["exp_avg_sq"])
        numbers = (0.9, 0.999, 1e-4, 0.1, 0.9, 0.95, 1e-8)
        torch_npu.npu_apply_adam_w(*numbers, own, None, False, False, out=out)
        self.gradients.zero_()


def move_gradient(parameter: nn.Parameter) -> None:
    """Add a gradient to its float32 buffer, and let it go."""
    if parameter.grad is not None:
        parameter.main_grad.add_(parameter.grad)
        parameter.grad = None


def train(spec: SimpleNamespace) -> None:
    """Run two steps: as many forward passes as the stage holds at once, then one backward and one forward in turn."""
    torch.npu.set_device(0)
    stage = Stage(spec)
    optimizer = Optimizer(stage, spec)
    rows = spec.sequence // spec.context
    own_rows = rows // (spec.tensor if spec.sequence_parallel else 1)
    mask = torch.triu(torch.ones(2048, 2048, device=DEVICE, dtype=torch.bool), 1)
    angles = torch.empty(rows, 1, 1, spec.head_dim, device=DEVICE, dtype=BF16)

    def run_forward(number: int) -> tuple[torch.Tensor, torch.Tensor]:
        piece = number % spec.chunks
        if spec.first and piece == 0:
            x = torch.randint(0, spec.vocabulary // spec.tensor, (spec.micro, rows)).to(DEVICE)
        else:
            x = torch.empty(own_rows, spec.micro, spec.hidden, device=DEVICE, dtype=BF16, requires_grad=True)
        return x, stage(piece, x, angles, angles, mask)

    for _ in range(2):
        held: list[tuple[torch.Tensor, torch.Tensor]] = []
        total = min(spec.micro_batches * spec.chunks, spec.alive + 2)
        for number in range(total):
            if len(held) == spec.alive:
                run_backward(*held.pop(0))
            held.append(run_forward(number))
        while held:
            run_backward(*held.pop(0))
        optimizer.step()


def run_backward(x: torch.Tensor, out: torch.Tensor) -> None:
    """Run one piece's backward pass with the gradient that the next stage would send."""
    out.backward(None if out.dim() == 0 else torch.empty_like(out))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123
        train(SimpleNamespace(**json.load(file)))
    stats = torch.npu.memory_stats()
    peak = {name: stats[f"{name}_bytes.all.peak"] for name in ("allocated", "reserved")}
    with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(peak, file)
