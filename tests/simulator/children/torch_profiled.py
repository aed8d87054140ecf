"""Trains a tiny network under torch.profiler: FOLDER REPEATS. With RANK set, as one of two ranks."""

import os
import sys

import torch
import torch_npu  # noqa: F401
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

folder, repeats = sys.argv[1], int(sys.argv[2])
rank = os.environ.get("RANK")
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
if rank is None:
    net = net.npu()
else:
    torch.npu.set_device(int(rank))
    torch.distributed.init_process_group("hccl")
    net = nn.parallel.DistributedDataParallel(net.npu())
optimizer = torch.optim.SGD(net.parameters(), 0.1)
files = iter(range(repeats))
with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1],
    schedule=schedule(wait=1, warmup=1, active=2, repeat=repeats),
    on_trace_ready=lambda done: done.export_chrome_trace(f"{folder}/rank{rank or 0}.{next(files)}.pt.trace.json"),
    record_shapes=True,
    profile_memory=True,
    with_stack=True,
) as running:
    for step in range(4 * repeats + 1):
        loss = net(torch.full((32, 64), 0.01 * step).npu()).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        running.step()
print("loss", loss.item())
if rank is not None:
    torch.distributed.destroy_process_group()
