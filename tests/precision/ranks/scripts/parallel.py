"""A small model divided by hand or by torch: tensor parallel, experts; one process runs it whole. Only for
tests and the corpus: `parallel.py WAY [FAULT]`."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

WAY, FAULT = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 0
WORLD, RANK = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
STEPS, BATCH, LENGTH, WIDTH, EXPERTS = 3, 8, 4, 16, 4


class CopyIn(torch.autograd.Function):
    """Megatron's f: forward as it is, backward summed over the ranks."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        if WORLD > 1 and FAULT != "missing_backward_reduce":
            grad = grad.contiguous()
            dist.all_reduce(grad)
        return grad


class ReduceOut(torch.autograd.Function):
    """Megatron's g: forward summed over the ranks, backward as it is."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        if WORLD > 1 and FAULT != "missing_row_reduce":
            x = x.contiguous().clone()
            if FAULT == "bf16_reduce":
                half = x.bfloat16()
                dist.all_reduce(half)
                return half.float()
            dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        return grad


class GatherOut(torch.autograd.Function):
    """Forward laid side by side along the last dimension, backward this rank's part."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        if WORLD == 1:
            return x
        parts = [torch.empty_like(x) for _ in range(WORLD)]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts[::-1] if FAULT == "gather_order" else parts, -1)

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        return grad.chunk(WORLD, -1)[RANK].contiguous()


def cut(tensor: torch.Tensor, dim: int) -> nn.Parameter:
    square = tensor.dim() == 2 and tensor.shape[0] == tensor.shape[1]
    place = WORLD - 1 - RANK if FAULT == "shards_swapped" and square else RANK
    return nn.Parameter(tensor.detach().chunk(WORLD, dim)[place].clone())


class Block(nn.Module):
    """LayerNorm, a layer divided by columns, one divided by rows."""

    def __init__(self) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.gate = nn.Linear(WIDTH, WIDTH)

    def divide(self) -> None:
        self.up.weight, self.up.bias = cut(self.up.weight, 0), cut(self.up.bias, 0)
        self.down.weight = cut(self.down.weight, 1)
        self.gate.weight, self.gate.bias = cut(self.gate.weight, 0), cut(self.gate.bias, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.ln(x)
        u = F.gelu(F.linear(CopyIn.apply(h), self.up.weight, self.up.bias))
        d = ReduceOut.apply(F.linear(u, self.down.weight)) + self.down.bias
        if FAULT == "faulty_operator" and RANK == 1:
            d = d * 1.01
        g = GatherOut.apply(torch.sigmoid(F.linear(CopyIn.apply(h), self.gate.weight, self.gate.bias)))
        return x + d * g


class Experts(nn.Module):
    """Tokens go to one expert each, by a router; experts are divided among the ranks."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS))

    def divide(self) -> None:
        own = EXPERTS // WORLD
        self.experts = nn.ModuleList(list(self.experts)[RANK * own : (RANK + 1) * own])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, c = x.shape
        flat = x.reshape(-1, c)
        weights = torch.softmax(self.router(flat), -1)
        best, which = weights.max(-1)
        out = torch.zeros_like(flat)
        own = len(self.experts)
        for number, expert in enumerate(self.experts):
            number += RANK * own
            if FAULT == "misrouted" and RANK == 1:
                number = (number + 1 - RANK * own) % own + RANK * own
            chosen = which == number
            out = out + expert(CopyIn.apply(flat)) * chosen[:, None]
        return (ReduceOut.apply(out) * best[:, None]).view(n, t, c)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inp = nn.Linear(WIDTH, WIDTH)
        self.blocks = nn.ModuleList(Experts() if WAY == "ep" else Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.inp(x)
        for block in self.blocks:
            h = h + block(h) if WAY == "ep" else block(h)
        return self.head(h.mean(1))


class Plain(nn.Module):
    """For torch's own tensor parallel."""

    def __init__(self) -> None:
        super().__init__()
        self.inp = nn.Linear(WIDTH, WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.inp(x)
        h = h + self.down(F.gelu(self.up(h)))
        return self.head(self.norm(h).mean(1))


def main() -> None:
    if WORLD > 1:
        dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    torch.manual_seed(SEED)
    model = Plain() if WAY == "dtensor" else Model()
    if WORLD > 1 and WAY in ("tp", "ep"):
        for block in model.blocks:
            block.divide()
    if FAULT == "stale_weights" and RANK == 1:
        with torch.no_grad():
            list(model.parameters())[2].mul_(1.05)
    model = model.cuda()
    if WORLD > 1 and WAY == "dtensor":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        mesh = init_device_mesh("cuda" if next(model.parameters()).is_cuda else "cpu", (WORLD,))
        parallelize_module(model, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(SEED + 1)
    for step in range(STEPS):
        x = torch.randn(BATCH, LENGTH, WIDTH, generator=generator).cuda()
        y = torch.randint(0, 5, (BATCH,), generator=generator).cuda()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print("step", step, "loss", float(loss))


main()
