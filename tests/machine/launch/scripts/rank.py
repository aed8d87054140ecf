"""Two ranks over nccl, started by torchrun."""

import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.manual_seed(0)
assert len(torch.cuda.default_generators) == torch.cuda.device_count() == 2
model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
mean = torch.tensor([float(rank)], device="cuda")
dist.all_reduce(mean, op=dist.ReduceOp.AVG)
print(f"rank {rank} backend {dist.get_backend()} mean {mean.item()}", flush=True)
if rank == 0:
    given_away = torch.ones(1 << 22, device="cuda")
    sending = dist.isend(given_away, 1)
    given_away.data = torch.empty(1)
    written_over = torch.full((1 << 22,), 2.0)
    sending.wait()
else:
    time.sleep(0.5)
    received = torch.empty(1 << 22, device="cuda")
    dist.recv(received, 0)
    assert received.eq(1).all(), "what was given away behind isend was not sent"
for _ in range(6):
    loss = model(torch.full((2, 4), float(rank + 1), device=f"cuda:{rank}")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
