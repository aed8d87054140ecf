"""One card of a training in Megatron's style: bfloat16 weights, float32 gradients in one buffer, float32 weights and
moments of Adam sharded over the replicas; pieces of a pipeline stage in turn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import torch_npu
from replica_layers import BF16, Layer, Norm, make_angles, make_mask, make_weight, multiply, scatter
from replica_order import order_passes
from torch import nn
from torch.utils.checkpoint import checkpoint

OPTIONS = {"dtype": BF16, "device": "npu"}


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
        kinds = [False] * spec.dense_layers + [True] * spec.expert_layers
        each = -(-len(kinds) // spec.chunks)
        pieces = [kinds[at : at + each] for at in range(0, len(kinds), each)]
        pieces += [[]] * (spec.chunks - len(pieces))
        self.pieces = nn.ModuleList(nn.ModuleList(Layer(spec, kind, OPTIONS) for kind in piece) for piece in pieces)
        rows = spec.vocabulary // spec.tensor
        if spec.first:
            self.embed = nn.Embedding(rows, spec.hidden, **OPTIONS)
        if spec.last:
            self.norm = Norm(spec.hidden, OPTIONS)
            if not (spec.first and spec.tied):
                self.head = make_weight(rows, spec.hidden, options=OPTIONS)

    def forward(self, piece: int, x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        spec = self.spec
        gathered = spec.tensor if spec.sequence_parallel else 1
        if spec.first and piece == 0:
            x = scatter(self.embed(x).transpose(0, 1).contiguous(), gathered)
        for layer in self.pieces[piece]:
            full = spec.recompute == "full"
            x = checkpoint(layer, x, *others, use_reentrant=False) if full else layer(x, *others)
        if spec.last and piece == spec.chunks - 1:
            head = self.embed.weight if spec.first and spec.tied else self.head
            return Loss.apply(multiply(x, head, self.norm, (gathered, 1), False), x)
        return x


class Optimizer(torch.optim.Optimizer):  # type: ignore[misc]
    """Adam on this card's share of float32 weights, in place; experts have a buffer of their own."""

    def __init__(self, stage: nn.Module, spec: SimpleNamespace) -> None:
        parameters = list(stage.parameters())
        super().__init__(parameters, {})
        self.gradients: list[tuple[torch.Tensor, nn.Parameter]] = []
        for experts, share in ((False, spec.replicas), (True, spec.expert_replicas)):
            own = [each for each in parameters if getattr(each, "of_experts", False) is experts]
            if own:
                self._make_buffer(own, share if spec.zero else 1)

    def _make_buffer(self, parameters: list[nn.Parameter], share: int) -> None:
        size = sum(parameter.numel() for parameter in parameters)
        gradients = torch.zeros(size, device="npu")
        at = 0
        for parameter in parameters:
            parameter.main_grad = gradients[at : at + parameter.numel()].view(parameter.shape)
            parameter.register_post_accumulate_grad_hook(move_gradient)
            at += parameter.numel()
        own = -(-size // share)
        for name in ("master", "exp_avg", "exp_avg_sq"):
            self.state[parameters[0]][name] = torch.zeros(own, device="npu")
        self.gradients.append((gradients, parameters[0]))

    def step(self, closure: Any = None) -> None:
        for gradients, first in self.gradients:
            state = self.state[first]
            own = gradients[: state["master"].numel()]
            norm = torch.linalg.vector_norm(own)
            own.mul_(1.0 / (norm + 1e-6))
            out = (state["master"], state["exp_avg"], state["exp_avg_sq"])
            numbers = (0.9, 0.999, 1e-4, 0.1, 0.9, 0.95, 1e-8)
            torch_npu.npu_apply_adam_w(*numbers, own, None, False, False, out=out)
            gradients.zero_()


def move_gradient(parameter: nn.Parameter) -> None:
    """Add a gradient to its float32 buffer, and let it go."""
    if parameter.grad is not None:
        parameter.main_grad.add_(parameter.grad)
        parameter.grad = None


def train(spec: SimpleNamespace) -> None:
    """Run two steps: forward and backward passes in the order of the pipeline, then the update."""
    torch.npu.set_device(0)
    stage = Stage(spec)
    optimizer = Optimizer(stage, spec)
    rows = spec.sequence // spec.context
    own_rows = rows // (spec.tensor if spec.sequence_parallel else 1)
    mask, angles = make_mask(), make_angles(spec, rows)

    def run_forward(piece: int) -> tuple[torch.Tensor, torch.Tensor]:
        if spec.first and piece == 0:
            x = torch.randint(0, spec.vocabulary // spec.tensor, (spec.micro, rows)).to("npu")
        else:
            x = torch.empty(own_rows, spec.micro, spec.hidden, **OPTIONS, requires_grad=True)
        out = stage(piece, x, angles, mask)
        if out.dim():
            out.data = out.new_empty(1)  # it was sent: Megatron keeps its graph alone (deallocate_output_tensor)
        return x, out

    for _ in range(2):
        held: list[list[tuple[torch.Tensor, torch.Tensor]]] = [[] for _ in range(spec.chunks)]
        for forward, piece in order_passes(spec):
            if forward:
                held[piece].append(run_forward(piece))
            else:
                run_backward(spec, *held[piece].pop(0))
        optimizer.step()


def run_backward(spec: SimpleNamespace, x: torch.Tensor, out: torch.Tensor) -> None:
    """Run one piece's backward pass with the gradient that the next stage would send, of the shape that was sent."""
    if out.dim() == 0:  # the loss
        out.backward()
        return
    parts = spec.tensor if spec.sequence_parallel else 1
    gradient = torch.empty(spec.sequence // spec.context // parts, spec.micro, spec.hidden, **OPTIONS)
    engine = torch.autograd.Variable._execution_engine  # out.backward() would compare the shapes
    engine.run_backward((out,), (gradient,), False, False, (), allow_unreachable=True, accumulate_grad=True)
