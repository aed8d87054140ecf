"""Train a network of a few operators for the course: convolution, normalisation, attention by softmax. Made for a GPU.

    python course_net.py
    torchrun --nproc_per_node 2 course_net.py
"""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = torch.tanh(self.conv2(torch.tanh(self.conv1(x))))
        tokens = self.norm(x.flatten(2).transpose(1, 2))
        weights = F.softmax(tokens @ tokens.transpose(1, 2) / 3, dim=-1)
        return self.head((weights @ tokens).mean(dim=1))


def main():
    rank, world = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    torch.cuda.set_device(rank)
    if world > 1:
        dist.init_process_group("nccl")
    torch.manual_seed(0)
    model = Net().cuda()
    if world > 1:
        model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    draw = torch.Generator().manual_seed(1 + rank)
    for step in range(12):
        x = torch.randn(8, 1, 6, 6, generator=draw).cuda()
        y = torch.randint(5, (8,), generator=draw).cuda()
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step {step} loss {loss.item():.6f}", flush=True)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
