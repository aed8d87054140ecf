"""Stages that are timed one by one."""

import time

import torch
from torch import nn


class Timer:
    def __init__(self):
        self.times = {}

    def mark(self, name):
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.times.setdefault(name, []).append(time.perf_counter())


def main():
    torch.manual_seed(13)
    stages = nn.ModuleList(nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256)) for _ in range(6)).cuda()
    optimizer = torch.optim.SGD(stages.parameters(), lr=0.01)
    x = torch.randn(512, 256).cuda()
    timer = Timer()
    for step in range(60):
        y = x
        for number, stage in enumerate(stages):
            y = y + stage(y)
            timer.mark(f"stage {number}")
        loss = (y - x).square().mean()
        timer.mark("loss")
        optimizer.zero_grad()
        loss.backward()
        timer.mark("backward")
        optimizer.step()
    print(loss.item(), sorted(timer.times))


main()
