"""A small training that runs on one process or divided over several, by the way that is named; faults are planted by
name. Only for tests and the corpus: `train.py WAY [FAULT]`."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

WAY, FAULT = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
MODEL = sys.argv[3] if len(sys.argv) > 3 else "mlp"
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 0
WORLD, RANK = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
STEPS, BATCH, WIDTH = 3, 8, 16


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tok = nn.Embedding(23, WIDTH)
        self.ln1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.ln2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.tok(x)
        n, t, c = h.shape
        q, k, v = (p.view(n, t, 2, c // 2).transpose(1, 2) for p in self.qkv(self.ln1(h)).chunk(3, -1))
        a = torch.softmax(q @ k.transpose(-1, -2) / 4.0, -1) @ v
        h = h + self.out(a.transpose(1, 2).reshape(n, t, c))
        h = h + self.down(F.gelu(self.up(self.ln2(h))))
        return self.head(h.mean(1))


def make_model() -> nn.Module:
    if MODEL == "gpt":
        return Gpt()
    if MODEL == "conv":
        layers = [
            nn.Conv2d(1, 6, 3, padding=1),
            nn.GroupNorm(2, 6),
            nn.ReLU(),
            nn.Conv2d(6, 8, 3, padding=1),
            nn.GELU(),
        ]
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, 4))
    return nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))


def make_batch(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.randint(0, 4, (BATCH,), generator=generator)
    if MODEL == "gpt":
        return torch.randint(0, 23, (BATCH, 6), generator=generator), y
    if MODEL == "conv":
        return torch.randn(BATCH, 1, 4, 4, generator=generator), y
    return torch.randn(BATCH, WIDTH, generator=generator), y


def share(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's samples: every WORLD-th, as DistributedSampler takes them, or a run of them."""
    rank = 0 if FAULT == "data_repeated" else RANK
    return tensor[rank::WORLD] if WAY == "ddp_strided" else tensor.chunk(WORLD)[rank]


def main() -> None:
    if WORLD > 1:
        dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    torch.manual_seed(SEED + (RANK if FAULT == "no_broadcast" else 0))
    model = make_model().cuda()
    if FAULT == "stale_weights" and RANK == 1:
        with torch.no_grad():
            next(model.parameters()).mul_(1.05)
    net = model
    if WORLD > 1 and WAY.startswith("ddp"):
        net = nn.parallel.DistributedDataParallel(model, init_sync=FAULT not in ("no_broadcast", "stale_weights"))
        if FAULT == "sum_for_mean":
            net.register_comm_hook(None, lambda _, bucket: _all_reduce(bucket, 1.0))
        elif FAULT == "bf16_reduce":
            net.register_comm_hook(None, lambda _, bucket: _all_reduce_bf16(bucket))
    elif WORLD > 1 and WAY == "fsdp2":
        from torch.distributed.fsdp import fully_shard

        for child in model.children():
            if any(True for _ in child.parameters()):
                fully_shard(child)
        net = fully_shard(model)
    elif WORLD > 1 and WAY == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel

        net = FullyShardedDataParallel(model)
    elif WORLD > 1 and WAY == "fsdp1orig":
        from torch.distributed.fsdp import FullyShardedDataParallel

        net = FullyShardedDataParallel(model, use_orig_params=True)
    if WORLD > 1 and WAY == "zero":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        net = nn.parallel.DistributedDataParallel(model)
        optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.AdamW, lr=1e-2)
    else:
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(SEED + 1)
    for step in range(STEPS):
        x, y = (share(tensor).cuda() for tensor in make_batch(generator))
        optimizer.zero_grad()
        out = net(x)
        if FAULT == "faulty_operator" and RANK == 1:
            out = out * 1.02
        loss = F.cross_entropy(out, y)
        if FAULT == "loss_scaled":
            loss = loss * WORLD
        loss.backward()
        if WORLD > 1 and WAY == "hand":
            reduce_gradients(model, step)
        if WAY != "fsdp1":
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        print("step", step, "loss", loss.item())


def reduce_gradients(model: nn.Module, step: int) -> None:
    named = list(model.named_parameters())
    if FAULT == "order" and RANK == 1:
        named[1], named[2] = named[2], named[1]
    for number, (_, parameter) in enumerate(named):
        if FAULT == "missing_reduce" and number == 2:
            continue
        if FAULT == "missing_on_rank" and number == len(named) - 1 and RANK == 1 and step == 1:
            continue
        if FAULT == "bf16_reduce":
            half = parameter.grad.bfloat16()
            dist.all_reduce(half)
            parameter.grad.copy_(half)
        else:
            dist.all_reduce(
                parameter.grad, op=dist.ReduceOp.MAX if FAULT == "max" and number == 1 else dist.ReduceOp.SUM
            )
        if FAULT != "sum_for_mean":
            parameter.grad /= WORLD


def _all_reduce(bucket: dist.GradBucket, factor: float) -> torch.futures.Future[torch.Tensor]:
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda future: future.value()[0] * factor)


def _all_reduce_bf16(bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    half = (bucket.buffer() / WORLD).bfloat16()
    work = dist.all_reduce(half, async_op=True)
    return work.get_future().then(lambda future: future.value()[0].float())


main()
