"""DDP over hccl: losses and the parameters at the end are those of one process that sees all data."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 4, 8


def train(network: Any, data: Any, target: Any) -> tuple[list[float], list[Any]]:
    update, losses = torch.optim.SGD(network.parameters(), 0.1), []
    for _ in range(STEPS):
        update.zero_grad()
        loss = nn.functional.mse_loss(network(data), target)
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses, [parameter.detach().cpu() for parameter in network.parameters()]


def make_network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))


def main() -> int:
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    torch.manual_seed(1)
    data, target = torch.randn(BATCH * size, 4), torch.randn(BATCH * size, 2)
    own = slice(rank * BATCH, (rank + 1) * BATCH)
    network = DistributedDataParallel(make_network().npu(), device_ids=[int(os.environ["LOCAL_RANK"])])
    losses, ends = train(network, data[own].npu(), target[own].npu())
    whole, wanted = train(make_network(), data, target)
    mean = torch.tensor(losses).npu()
    dist.all_reduce(mean)
    mean = mean.cpu() / size
    assert torch.allclose(mean, torch.tensor(whole), rtol=1e-4), (mean, whole)
    for mine, want in zip(ends, wanted):
        assert torch.allclose(mine, want, rtol=1e-4, atol=1e-6), (mine - want).abs().max()
    parts = [torch.zeros(2).npu() for _ in range(size)]
    dist.all_gather(parts, torch.full((2,), float(rank)).npu())
    assert [int(part[0]) for part in parts] == list(range(size))
    dist.barrier()
    dist.destroy_process_group()
    print(f"rank {rank} of {size} good: losses {[round(loss, 6) for loss in mean.tolist()]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
