"""Segmentation of roads in two ranks."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class ConvBN(nn.Sequential):
    def __init__(self, i, o, k=3):
        super().__init__(nn.Conv2d(i, o, k, padding=k // 2, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class RoadNet(nn.Module):
    def __init__(self, width=8, classes=2):
        super().__init__()
        self.enc = nn.ModuleList([ConvBN(3, width), ConvBN(width, 2 * width), ConvBN(2 * width, 4 * width)])
        self.mid = nn.Sequential(ConvBN(4 * width, 4 * width), ConvBN(4 * width, 4 * width))
        self.dec = nn.ModuleList([ConvBN(8 * width, 2 * width), ConvBN(4 * width, width), ConvBN(2 * width, width)])
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for layer in self.enc:
            x = layer(x)
            skips.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.mid(x)
        for layer in self.dec:
            x = nn.functional.interpolate(x, scale_factor=2)
            x = layer(torch.cat([x, skips.pop()], 1))
        return self.out(x)


def build(rank, device):
    torch.manual_seed(0)
    model = RoadNet()
    return DistributedDataParallel(model.to(device), device_ids=[rank])


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    model = build(rank, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    torch.manual_seed(rank)
    pictures = torch.randn(4, 32, 3, 32, 32, device=device)
    roads = torch.randint(0, 2, (4, 32, 32, 32), device=device)
    for step in range(48):
        loss = nn.functional.cross_entropy(model(pictures[step % 4]), roads[step % 4])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print("loss", loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
