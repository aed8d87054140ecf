"""The training steps that ../simulator.py times, each on a device of choice."""

from __future__ import annotations

import time
from typing import Callable

import torch
from torch import nn
from torch.nn import functional

TakeStep = Callable[[], float]


class Block(nn.Module):
    """One pre-norm transformer layer, `width` wide."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.attention(self.first(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.second(x))))


class Bottleneck(nn.Module):
    """A residual block of three convolutions, the last four times as wide (arXiv:1512.03385, figure 5)."""

    def __init__(self, entering: int, width: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(entering, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 4 * width, 1, bias=False),
            nn.BatchNorm2d(4 * width),
        )
        project = nn.Sequential(nn.Conv2d(entering, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))
        self.beside = nn.Identity() if stride == 1 and entering == 4 * width else project

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.path(x) + self.beside(x), inplace=True)


def resnet50(classes: int = 1000) -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    layers.append(nn.MaxPool2d(3, 2, 1))
    entering = 64
    for stage, depth in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for block in range(depth):
            layers.append(Bottleneck(entering, width, 2 if stage and not block else 1))
            entering = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(entering, classes))


def gpt_step(device: str, width: int, layers: int, tokens: tuple[int, int], vocabulary: int = 512) -> TakeStep:
    torch.manual_seed(0)
    blocks = (Block(width, 4) for _ in range(layers))
    net = nn.Sequential(nn.Embedding(vocabulary, width), *blocks, nn.Linear(width, vocabulary)).to(device)
    text = torch.randint(0, vocabulary, (tokens[0], tokens[1] + 1)).to(device)
    return training_step(net, torch.optim.AdamW(net.parameters(), lr=1e-3), text[:, :-1], text[:, 1:].flatten())


def resnet50_step(device: str) -> TakeStep:
    torch.manual_seed(0)
    net = resnet50().to(device)
    images, classes = torch.randn(8, 3, 64, 64).to(device), torch.randint(0, 1000, (8,)).to(device)
    return training_step(net, torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9), images, classes)


def training_step(net: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, target: torch.Tensor) -> TakeStep:
    """A call that trains one step, the loss read back, and returns its seconds."""

    def take() -> float:
        started = time.perf_counter()
        loss = functional.cross_entropy(net(x).flatten(0, -2), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        return time.perf_counter() - started

    return take


MODELS: dict[str, Callable[[str], TakeStep]] = {
    "gpt": lambda device: gpt_step(device, width=256, layers=4, tokens=(8, 64)),
    "resnet50": resnet50_step,
    "tiny_gpt": lambda device: gpt_step(device, width=64, layers=2, tokens=(8, 32)),
}
