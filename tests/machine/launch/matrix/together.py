"""Several processes over gloo, which nccl becomes; forked, so that torch is imported once."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from telling import CUDA, DEVICE, mlp, on_gpu, seed, tell
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

WORLD = 2


def _rank(rank, port, work, world=WORLD):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world))
    if CUDA:
        torch.cuda.set_device(rank)
    dist.init_process_group("nccl" if CUDA else "gloo", rank=rank, world_size=world)
    work(rank)
    dist.destroy_process_group()


def _spawn(work, world=WORLD):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.start_processes(_rank, args=(port, work, world), nprocs=world, start_method="fork")


def _train(rank, model, optimizer, steps=3):
    for _ in range(steps):
        batch = torch.randn(8, 16).to(DEVICE) + rank
        with on_gpu():
            loss = model(batch).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            tell(total, model)
        dist.barrier()


def _ddp(rank):
    seed(61)
    model = mlp(0.0).to(DEVICE)
    model = DDP(model, device_ids=[rank] if CUDA else None)
    _train(rank, model, torch.optim.AdamW(model.parameters(), lr=1e-2))


def ddp():
    _spawn(_ddp)


def _ddp_with_dropout(rank):
    seed(61 + rank)
    model = DDP(mlp(0.4).to(DEVICE), device_ids=[rank] if CUDA else None)
    _train(rank, model, torch.optim.SGD(model.parameters(), lr=0.1))


def ddp_with_dropout():
    _spawn(_ddp_with_dropout)


def _collectives(rank):
    seed(62 + rank)
    mine = torch.randn(4).to(DEVICE)
    gathered = [torch.empty_like(mine) for _ in range(WORLD)]
    dist.all_gather(gathered, mine)
    dist.broadcast(mine, 0)
    mean = torch.ones(3).to(DEVICE) * (rank + 1)
    dist.all_reduce(mean, op=dist.ReduceOp.AVG if CUDA else dist.ReduceOp.SUM)
    mean = mean if CUDA else mean / WORLD
    into = torch.empty(8).to(DEVICE)
    dist.all_gather_into_tensor(into, mine)
    objects = [None] * WORLD
    dist.all_gather_object(objects, {"rank": rank})
    if rank == 0:
        tell(0, more=[gathered, mine, mean, into, objects])


def collectives():
    _spawn(_collectives)


def _batch_norm(rank):
    seed(63)
    model = nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8), nn.Linear(8, 4)).to(DEVICE)
    model = DDP(model, device_ids=[rank] if CUDA else None)
    _train(rank, model, torch.optim.SGD(model.parameters(), lr=0.1))


def batch_norm():
    _spawn(_batch_norm)


def _sharded(rank):
    from torch.distributed.fsdp import fully_shard

    seed(64)
    model = mlp(0.0).to(DEVICE)
    mesh = dist.device_mesh.init_device_mesh(DEVICE.type, (WORLD,))
    for layer in model:
        if list(layer.parameters()):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = model(torch.randn(8, 16).to(DEVICE) + rank).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        whole = [parameter.full_tensor() for parameter in model.parameters()]
        if rank == 0:
            tell(loss, more=whole)


def sharded():
    _spawn(_sharded)
