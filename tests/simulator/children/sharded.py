"""A sharded model trained for five steps: `sharded.py gloo|hccl 1|2` (FSDP or fully_shard); prints each loss."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

BACKEND, GENERATION = sys.argv[1:]
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = torch.device("npu", RANK) if BACKEND == "hccl" else torch.device("cpu")


def sharded() -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4)).to(DEVICE)
    if GENERATION == "1":
        return FullyShardedDataParallel(net, device_id=DEVICE)
    mesh = init_device_mesh(DEVICE.type, (SIZE,))
    fully_shard(net[3], mesh=mesh)
    return fully_shard(net, mesh=mesh)


if DEVICE.type == "npu":
    torch.npu.set_device(DEVICE)
dist.init_process_group(BACKEND)
model = sharded()
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
torch.manual_seed(RANK)
for step in range(5):
    x, y = torch.randn(8, 16).to(DEVICE), torch.randint(0, 4, (8,)).to(DEVICE)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sys.stdout.write(f"loss {RANK} {step} {loss.item()!r}\n")
    sys.stdout.flush()
dist.barrier()
dist.destroy_process_group()
