"""Trains in two processes that torch.multiprocessing spawns; loads data in spawned workers too."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset


def worker(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("nccl", rank=rank, world_size=world)
    device = rank % torch.cuda.device_count()
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[device])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.arange(32.0).reshape(8, 4) / 32)
    workers = 1 if rank == 0 else 0
    context = "spawn" if workers else None
    for (x,) in DataLoader(data, batch_size=2, num_workers=workers, multiprocessing_context=context):
        loss = model(x.cuda()).square().mean() * (rank + 1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(worker, args=(2, port), nprocs=2)
    print("joined")
