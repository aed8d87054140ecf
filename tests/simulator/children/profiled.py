"""Trains a tiny network under torch_npu.profiler: FOLDER LEVEL REPEATS. With RANK set, as one of two ranks."""

import os
import sys

import torch
import torch_npu
from torch import nn

folder, level, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
profiler = torch_npu.profiler
rank = os.environ.get("RANK")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
if rank is None:
    net = net.npu()
else:
    torch.npu.set_device(int(rank))
    torch.distributed.init_process_group("hccl")
    net = nn.parallel.DistributedDataParallel(net.npu())
optimizer = torch.optim.SGD(net.parameters(), 0.1)
config = profiler._ExperimentalConfig(
    profiler_level=getattr(profiler.ProfilerLevel, level),
    aic_metrics=profiler.AiCMetrics.AiCoreNone if level == "Level0" else profiler.AiCMetrics.PipeUtilization,
)
with profiler.profile(
    activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
    schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=repeats),
    on_trace_ready=profiler.tensorboard_trace_handler(folder, worker_name=f"rank{rank or 0}"),
    record_shapes=True,
    profile_memory=True,
    with_stack=True,
    experimental_config=config,
) as running:
    for step in range(4 * repeats + 1):
        loss = net(torch.full((32, 64), 0.01 * step).npu()).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank is not None:
            part = torch.full((4,), float(step)).npu()
            torch.distributed.send(part, 1) if rank == "0" else torch.distributed.recv(part, 0)
            torch.npu.synchronize()  # a message still in the task queue would belong to the next step
        running.step()
print("loss", loss.item())
if rank is not None:
    torch.distributed.destroy_process_group()
