"""Data-parallel training of a small convolution network; start with torchrun."""
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


def build():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Flatten(), nn.Linear(64 * 64, 256), nn.ReLU(), nn.Linear(256, 10),
    )


def save(model, optimizer, step, folder):
    state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, os.path.join(folder, "last.tmp"))
    os.replace(os.path.join(folder, "last.tmp"), os.path.join(folder, "last.pt"))


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(rank)
    model = DistributedDataParallel(build().cuda())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(256, 3, 32, 32).cuda(), torch.randint(0, 10, (256,)).cuda()
    folder = tempfile.mkdtemp()
    steps = 40
    for step in range(steps):
        at = step % 8 * 32
        loss = nn.functional.cross_entropy(model(x[at : at + 32]), y[at : at + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        save(model, optimizer, steps, folder)
    print(rank, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
