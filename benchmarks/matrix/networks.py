"""Three small networks with what trips a comparison: normalised batches and residuals, attention with a causal mask,
a recurrence of shared weights. `build(name, seed)` gives a model and a function that runs forward and backward."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norm_one, self.norm_two = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu(self.norm_one(self.one(x)))
        return F.relu(self.norm_two(self.two(inner)) + x)


class Cnn(nn.Module):
    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.Sequential(*(Residual(width) for _ in range(3)))
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.blocks(F.relu(self.stem(x))), 2)
        return self.head(torch.mean(x, (2, 3)))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_one, self.norm_two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm_one(x)).split(width, 2))  # fmt: skip
        scores = torch.matmul(q, k.transpose(2, 3)) / (width // self.heads) ** 0.5
        weights = F.softmax(scores.masked_fill(mask, -1e4), dim=-1)
        x = x + self.out(torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm_two(x))))


class Gpt(nn.Module):
    def __init__(self, words: int = 64, width: int = 32, length: int = 16) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(length, width) * 0.1)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(3))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)
        self.register_buffer("mask", torch.ones(length, length, dtype=torch.bool).triu(1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.words(x) + self.places
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.norm(x))


class Lstm(nn.Module):
    """Cells written out, since a library's recurrence is one opaque call; softmax attention over the states."""

    def __init__(self, words: int = 64, width: int = 24) -> None:
        super().__init__()
        self.words, self.width = nn.Embedding(words, width), width
        self.given, self.kept = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width, bias=False)
        self.score, self.norm, self.head = nn.Linear(width, width), nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        seen = self.words(x)
        hidden = cell = torch.zeros(x.shape[0], self.width, dtype=seen.dtype)
        states = []
        for step in range(x.shape[1]):
            i, f, g, o = (self.given(seen[:, step]) + self.kept(hidden)).chunk(4, 1)
            cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
            hidden = torch.sigmoid(o) * torch.tanh(cell)
            states.append(hidden)
        every = torch.stack(states, 1)
        weights = F.softmax(torch.matmul(self.score(every), every.transpose(1, 2)), dim=-1)
        return self.head(self.norm(torch.matmul(weights, every).mean(1)))


Build = Callable[[int], "tuple[nn.Module, Callable[[nn.Module], Tensor]]"]


def build(name: str, seed: int) -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    """The model with the weights of this seed, and its loss on the batch of this seed."""
    torch.manual_seed(seed)
    if name == "cnn":
        return Cnn(), _loss(torch.randn(6, 3, 12, 12), torch.randint(0, 10, (6,)))
    words = torch.randint(0, 64, (4, 16 if name == "gpt" else 6))
    if name == "gpt":
        return Gpt(), _loss(words, words.roll(-1, 1).reshape(-1))
    return Lstm(), _loss(words, torch.randint(0, 10, (4,)))


def _loss(batch: Tensor, wanted: Tensor) -> Callable[[nn.Module], Tensor]:
    def loss(model: nn.Module) -> Tensor:
        kind: Any = next(model.parameters()).dtype
        out = model(batch.to(kind) if batch.is_floating_point() else batch)
        return F.cross_entropy(out.reshape(-1, out.shape[-1]), wanted)

    return loss


NAMES = ("cnn", "gpt", "lstm")
