"""Train one network on one card or on several, with the same losses. Made for GPUs.

    python two_cards.py --seed 0
    torchrun --standalone --nproc_per_node 2 two_cards.py --seed 0

On one card it is right. On two every step shall train the very samples that it trains on one, half of them on each
card, in the order that they have.
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

STEPS, BATCH = 8, 32


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    torch.cuda.set_device(rank)
    if world > 1:
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29555", rank=rank, world_size=world)
    torch.manual_seed(seed + rank)
    samples = TensorDataset(torch.randn(STEPS * BATCH, 20), torch.randint(4, (STEPS * BATCH,)))
    model = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.Linear(32, 4)).cuda()
    if world > 1:
        model = DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(samples, batch_size=BATCH // world, shuffle=False)
    for step, (x, y) in zip(range(STEPS), loader):
        loss = F.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            mean = loss.detach().clone()
            if world > 1:
                dist.all_reduce(mean)
            print(f"step {step} loss {mean.item() / world:.6f}", flush=True)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
