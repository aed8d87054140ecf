"""Four small networks with what trips a comparison: normalised batches and residuals, attention with a causal mask,
a recurrence of shared weights, a diffusion step. `build(name, seed)` gives a model and a function that runs forward."""

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
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm_one(x)).split(width, 2)
        )
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


class Denoiser(nn.Module):
    """A U-Net's step: residual blocks with group norm and a time embedding, attention at half the size, a skip."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
        self.stem, self.end = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.fall, self.mid, self.rise = Timed(width, width), Timed(width, width), Timed(2 * width, width)
        self.norm, self.qkv, self.out = nn.GroupNorm(4, width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        rates = torch.exp(torch.arange(self.width // 2, device=x.device) * (-6.0 / self.width))
        angles = at[:, None].float() * rates
        time = self.time(torch.cat([torch.sin(angles), torch.cos(angles)], 1).to(x.dtype))
        high = self.fall(self.stem(x), time)
        low = self.mid(F.avg_pool2d(high, 2), time)
        low = low + self.attend(low)
        wide = F.interpolate(low, scale_factor=2.0, mode="nearest")
        return self.end(F.silu(self.rise(torch.cat([wide, high], 1), time)))

    def attend(self, x: Tensor) -> Tensor:
        batch, width, rows, columns = x.shape
        flat = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (part.view(batch, -1, 2, width // 2).transpose(1, 2) for part in self.qkv(flat).chunk(3, 2))
        seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, -1, width)
        return self.out(F.dropout(seen, 0.1)).transpose(1, 2).reshape(batch, width, rows, columns)


class Timed(nn.Module):
    def __init__(self, given: int, width: int) -> None:
        super().__init__()
        self.norm_one, self.norm_two = nn.GroupNorm(4, given), nn.GroupNorm(4, width)
        self.one, self.two = nn.Conv2d(given, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.time, self.skip = nn.Linear(width, width), nn.Conv2d(given, width, 1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        inner = self.one(F.silu(self.norm_one(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.two(F.silu(self.norm_two(inner))) + self.skip(x)


Build = Callable[[int], "tuple[nn.Module, Callable[[nn.Module], Tensor]]"]


def build(name: str, seed: int) -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    """The model with the weights of this seed, and its loss on the batch of this seed."""
    torch.manual_seed(seed)
    if name == "cnn":
        return Cnn(), _loss(torch.randn(6, 3, 12, 12), torch.randint(0, 10, (6,)))
    if name == "diffusion":
        return Denoiser(), _noised(torch.randn(4, 3, 8, 8), torch.randn(4, 3, 8, 8), torch.randint(0, 50, (4,)))
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


def _noised(clean: Tensor, noise: Tensor, at: Tensor) -> Callable[[nn.Module], Tensor]:
    """The loss of a denoiser: how well it tells the noise of step `at` from the picture."""

    def loss(model: nn.Module) -> Tensor:
        kind: Any = next(model.parameters()).dtype
        left = torch.exp(-torch.cumsum(torch.linspace(1e-3, 5e-2, 50), 0))
        kept = torch.gather(left, 0, at)[:, None, None, None]
        mixed = torch.sqrt(kept) * clean + torch.sqrt(1 - kept) * noise
        return F.mse_loss(model(mixed.to(kind), at), noise.to(kind))

    return loss


NAMES = ("cnn", "gpt", "lstm", "diffusion")
