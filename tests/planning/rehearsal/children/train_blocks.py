"""A stack of blocks: one card, or several with DistributedDataParallel; the optimizer may be made before it."""

import os
import sys

import torch
import torch_npu  # noqa: F401
from torch import nn

world, local = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_RANK", "0"))
torch.npu.set_device(local)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(1024), nn.Linear(1024, 4096), nn.Linear(4096, 1024)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(12))
        self.head = nn.Linear(1024, 10)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


model = Stack().npu()
if "early" in sys.argv:
    optimizer = torch.optim.AdamW(model.parameters())
if world > 1:
    torch.distributed.init_process_group("hccl")
    model = nn.parallel.DistributedDataParallel(model, device_ids=[local])
if "early" not in sys.argv:
    optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    x, y = torch.randn(2048, 1024).npu(), torch.randint(0, 10, (2048,)).npu()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    loss.item()
