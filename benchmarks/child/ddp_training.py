"""A training on two devices as it is written for NVIDIA GPUs: DistributedDataParallel over nccl, started by torchrun.

Each rank holds half of the data and prints its loss of each step; the mean over the ranks is the loss of the whole.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def data(rank: int, samples: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs (samples, 64) and classes (samples,) of one rank, the same wherever they are made."""
    generator = torch.Generator().manual_seed(100 + rank)
    inputs = torch.randn(samples, 64, generator=generator)
    return inputs, inputs[:, :10].argmax(1)


def network(width: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--samples", type=int, default=64, help="of each rank")
    args = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model = DistributedDataParallel(network(args.width).cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, classes = (each.cuda() for each in data(rank, args.samples))
    for step in range(args.steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), classes)
        loss.backward()
        optimizer.step()
        print(f"rank {rank} step {step} loss {loss.item():.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
