"""Data-parallel regression with many heads, and metrics over all ranks."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

HEADS = 24


class ManyHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU())
        self.heads = nn.Linear(256, HEADS)

    def forward(self, x):
        return self.heads(self.body(x))


def average(values):
    told = {}
    for k, value in enumerate(values):
        value = value.detach().clone()
        dist.all_reduce(value)
        told[f"head{k}/mse"] = value.item() / dist.get_world_size()
    return told


def main():
    local = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(local)
    dist.init_process_group(backend="nccl")
    device = torch.device("cuda", local)
    torch.manual_seed(100 + dist.get_rank())
    model = DDP(ManyHeads().to(device), device_ids=[local])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(2048, 64, device=device), torch.randn(2048, HEADS, device=device)
    history = []
    for step in range(40):
        at = step % 8 * 256
        errors = (model(x[at : at + 256]) - y[at : at + 256]).square().mean(0)
        loss = errors.mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        history.append(average(errors))
    if dist.get_rank() == 0:
        print(history[-1])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
