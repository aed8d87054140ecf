"""Layers of a transformer of any dimensions on one card, whose peers are not there: what would come from other cards is
reserved, what would go to them is cut.

Attention with as many keys as wanted or through a narrow vector (multi-head latent attention), a feed-forward network
or experts; fused RMSNorm, rotary embedding, SwiGLU and attention, as MindSpeed trains. A weight that has a `main_grad`
takes its gradient there (Megatron), another in `.grad`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable

import torch
import torch_npu
from torch import nn

BF16 = torch.bfloat16
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
    if not hasattr(w, "main_grad"):
        return nn.functional.linear(x if pre is None else pre(x), w)
    if pre is None or again:
        return Product.apply(x, w, pre, parts)
    return Product.apply(pre(x), w, None, parts)


class Grouped(torch.autograd.Function):  # type: ignore[misc]
    """One product for each expert, of the rows that were sent to it. No value is computed: only what is kept counts."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: nn.Parameter, pre: Pre | None) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.w, ctx.pre = w, pre
        return x.new_empty(x.shape[0], w.shape[1])

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        (x,), w = ctx.saved_tensors, ctx.w
        inner = x.detach().requires_grad_() if ctx.pre is not None else None
        with torch.enable_grad():
            again = x if inner is None else ctx.pre(inner)
        weights = w.new_empty(w.shape)
        main = getattr(w, "main_grad", None)
        if main is not None:
            main.add_(weights)
            del weights
        back = grad.new_empty(again.shape)
        if inner is not None:
            (back,) = torch.autograd.grad(again, inner, back)
        return back, weights if main is None else None, None


class Move(torch.autograd.Function):  # type: ignore[misc]
    """Rows put in another order, or exchanged with other cards: as many as said come, as many as went come back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, rows: int) -> torch.Tensor:
        ctx.rows = x.shape[0]
        return x.new_empty(rows, x.shape[1])

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return grad.new_empty(ctx.rows, grad.shape[1]), None


class Combine(torch.autograd.Function):  # type: ignore[misc]
    """The experts' results of each row, added with the router's weights; both are kept for each other's gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weights)
        return x.new_empty(weights.shape[0], x.shape[1])

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        x, weights = ctx.saved_tensors
        return torch.empty_like(x), torch.empty_like(weights)


class Norm(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, options: dict[str, Any]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, **options))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch_npu.npu_rms_norm(x, self.weight.to(x.dtype), 1e-6)[0]


def make_weight(*sizes: int, options: dict[str, Any]) -> nn.Parameter:
    return nn.Parameter(torch.empty(*sizes, **options))


class Network(nn.Module):  # type: ignore[misc]
    """A feed-forward network of which this card has `width` columns; one that every row passes."""

    def __init__(self, spec: SimpleNamespace, width: int, options: dict[str, Any]) -> None:
        super().__init__()
        self.spec = spec
        self.up = make_weight(width * (2 if spec.gated else 1), spec.hidden, options=options)
        self.down = make_weight(spec.hidden, width, options=options)

    def forward(self, x: torch.Tensor, norm: Norm) -> torch.Tensor:
        spec, again = self.spec, self.spec.recompute == "selective"
        gathered = spec.tensor if spec.sequence_parallel else 1
        wide = multiply(x, self.up, norm, (gathered, 1), again)
        return multiply(wide, self.down, activate_of(spec), (1, gathered), again)


def activate_of(spec: SimpleNamespace) -> Pre:
    return (lambda y: torch_npu.npu_swiglu(y, dim=-1)) if spec.gated else nn.functional.gelu


class Experts(nn.Module):  # type: ignore[misc]
    """A router, this card's experts, and the network beside them. Rows are spread evenly, by an all-to-all between the
    cards that share the experts, as Megatron's dispatcher does."""

    def __init__(self, spec: SimpleNamespace, options: dict[str, Any]) -> None:
        super().__init__()
        self.spec = spec
        self.own = spec.experts // spec.expert
        self.router = make_weight(spec.experts, spec.hidden, options=options)
        self.up = make_weight(self.own, spec.expert_width * (2 if spec.gated else 1), spec.hidden, options=options)
        self.down = make_weight(self.own, spec.hidden, spec.expert_width, options=options)
        self.up.of_experts = self.down.of_experts = True
        if spec.shared_width:
            self.shared = Network(spec, spec.shared_width // spec.tensor, options)

    def forward(self, x: torch.Tensor, norm: Norm) -> torch.Tensor:
        spec, again = self.spec, self.spec.recompute == "selective"
        logits = multiply(x, self.router, norm, (1, 1), again)
        shares, _ = torch.topk(torch.softmax(logits.float(), -1).flatten(0, -2), spec.chosen_experts, dim=-1)
        rows = norm(x).flatten(0, -2)
        sent = Move.apply(rows, rows.shape[0] * spec.chosen_experts)
        moves = (spec.expert > 1) + (spec.expert > 1 and self.own > 1)
        for _ in range(moves):
            sent = Move.apply(sent, sent.shape[0])
        del rows
        wide = Grouped.apply(sent, self.up, None)
        del sent
        activate = activate_of(spec)
        back = Grouped.apply(wide, self.down, activate) if again else Grouped.apply(activate(wide), self.down, None)
        del wide
        for _ in range(moves):
            back = Move.apply(back, back.shape[0])
        out = Combine.apply(back, shares).view(x.shape)
        return out + self.shared(x, norm) if spec.shared_width else out


class Attention(nn.Module):  # type: ignore[misc]
    """Attention of this card's heads; of keys and values as many as the configuration says."""

    def __init__(self, spec: SimpleNamespace, options: dict[str, Any]) -> None:
        super().__init__()
        self.spec, parts = spec, spec.tensor
        self.heads, self.pairs = spec.heads // parts, max(1, spec.kv_heads // parts)
        self.qkv = make_weight((self.heads + 2 * self.pairs) * spec.head_dim, spec.hidden, options=options)
        self.out = make_weight(spec.hidden, self.heads * spec.head_dim, options=options)
        if spec.biased_queries:
            self.bias = nn.Parameter(torch.zeros(self.qkv.shape[0], **options))
        if spec.normed_queries:
            self.q_norm, self.k_norm = Norm(spec.head_dim, options), Norm(spec.head_dim, options)

    def forward(self, x: torch.Tensor, norm: Norm, angles: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        spec, again = self.spec, self.spec.recompute == "selective"
        gathered = spec.tensor if spec.sequence_parallel else 1
        qkv = multiply(x, self.qkv, norm, (gathered, 1), again)
        if spec.biased_queries:
            qkv = qkv + self.bias
        length, batch, _ = qkv.shape
        widths = [self.heads * spec.head_dim, self.pairs * spec.head_dim, self.pairs * spec.head_dim]
        q, k, v = torch.split(qkv, widths, dim=2)
        del qkv
        q, k = (each.reshape(length, batch, -1, spec.head_dim) for each in (q, k))
        if spec.normed_queries:
            q, k = self.q_norm(q), self.k_norm(k)
        if spec.rotary:
            q, k = (torch_npu.npu_rotary_mul(each, angles, angles) for each in (q, k))
        q, k = q.reshape(length, batch, -1), k.reshape(length, batch, -1)
        a = attend(spec, q, k, v.contiguous(), self.heads, spec.head_dim, mask)
        return multiply(a, self.out, None, (1, gathered), again)


class LatentAttention(nn.Module):  # type: ignore[misc]
    """Attention whose queries and keys pass through a narrow vector, which every card has whole."""

    def __init__(self, spec: SimpleNamespace, options: dict[str, Any]) -> None:
        super().__init__()
        self.spec, self.latent = spec, SimpleNamespace(**spec.latent)
        latent, self.heads = self.latent, spec.heads // spec.tensor
        width = latent.plain_dim + latent.rotated_dim
        if latent.query_rank:
            self.q_down = make_weight(latent.query_rank, spec.hidden, options=options)
            self.q_norm = Norm(latent.query_rank, options)
        self.q_up = make_weight(self.heads * width, latent.query_rank or spec.hidden, options=options)
        self.k_down = make_weight(latent.key_rank + latent.rotated_dim, spec.hidden, options=options)
        self.k_norm = Norm(latent.key_rank, options)
        self.k_up = make_weight(self.heads * (latent.plain_dim + latent.value_dim), latent.key_rank, options=options)
        self.out = make_weight(spec.hidden, self.heads * latent.value_dim, options=options)

    def forward(self, x: torch.Tensor, norm: Norm, angles: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        spec, latent, again = self.spec, self.latent, self.spec.recompute == "selective"
        gathered = spec.tensor if spec.sequence_parallel else 1
        width = latent.plain_dim + latent.rotated_dim
        if latent.query_rank:
            narrow = multiply(x, self.q_down, norm, (1, 1), again)
            q = multiply(narrow, self.q_up, self.q_norm, (gathered, 1), False)
        else:
            q = multiply(x, self.q_up, norm, (gathered, 1), again)
        narrow = multiply(x, self.k_down, norm, (1, 1), again)
        narrow, turned = torch.split(narrow, [latent.key_rank, latent.rotated_dim], dim=-1)
        kv = multiply(narrow, self.k_up, self.k_norm, (gathered, 1), False)
        length, batch, _ = q.shape
        q = q.view(length, batch, self.heads, width)
        plain, rotated = torch.split(q, [latent.plain_dim, latent.rotated_dim], dim=-1)
        turned = (
            Move.apply(turned.flatten(0, 1), length * batch).view(length, batch, 1, -1)
            if gathered > 1
            else (turned.reshape(length, batch, 1, -1))
        )
        rotated, turned = (torch_npu.npu_rotary_mul(each.contiguous(), angles, angles) for each in (rotated, turned))
        q = torch.cat([plain, rotated], -1).view(length, batch, -1)
        plain, v = torch.split(kv.view(length, batch, self.heads, -1), [latent.plain_dim, latent.value_dim], dim=-1)
        k = torch.cat([plain, turned.expand(-1, -1, self.heads, -1)], -1).view(length, batch, -1)
        v = nn.functional.pad(v, [0, width - latent.value_dim]).view(length, batch, -1)  # the kernel takes equal widths
        a = attend(spec, q, k, v, self.heads, width, mask).view(length, batch, self.heads, width)
        a = a[..., : latent.value_dim].reshape(length, batch, -1)
        return multiply(a, self.out, None, (1, gathered), again)


def attend(
    spec: SimpleNamespace, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, heads: int, width: int, mask: torch.Tensor
) -> torch.Tensor:
    """Attend to this card's keys; where the sequence is split, the next card's stand beside them on their way round."""
    passing = [torch.empty_like(k), torch.empty_like(v)] if spec.context > 1 else []
    kind = {"atten_mask": mask, "scale": width**-0.5, "sparse_mode": 2}
    a: torch.Tensor = torch_npu.npu_fusion_attention(q, k, v, heads, "SBH", **kind)[0]
    passing.clear()
    return a


class Layer(nn.Module):  # type: ignore[misc]
    """One layer on one card: heads and inner width are this card's."""

    def __init__(self, spec: SimpleNamespace, experts: bool, options: dict[str, Any]) -> None:
        super().__init__()
        self.norm1, self.norm2 = Norm(spec.hidden, options), Norm(spec.hidden, options)
        self.attention = (LatentAttention if spec.latent else Attention)(spec, options)
        inner = spec.feed_forward // spec.tensor
        self.network = Experts(spec, options) if experts else Network(spec, inner, options)

    def forward(self, x: torch.Tensor, angles: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(x, self.norm1, angles, mask)
        return x + self.network(x, self.norm2)


def make_mask() -> torch.Tensor:
    return torch.triu(torch.ones(2048, 2048, device="npu", dtype=torch.bool), 1)


def make_angles(spec: SimpleNamespace, rows: int) -> torch.Tensor:
    width = spec.latent["rotated_dim"] if spec.latent else spec.head_dim
    return torch.empty(rows, 1, 1, width, device="npu", dtype=BF16)
