"""Networks of the trainings that were written for the draw of 20261501, before the judge saw one: a mixer, dilated
convolutions, attention on a graph, embeddings that meet each other, a selective scan, soft codes, a conformer,
a U-Net of two levels."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn


class Mixer(nn.Module):
    """Patches are mixed by place, then by channel; computed again in backward where the training asks for it."""

    def __init__(self, width: int = 16, places: int = 16, layers: int = 2) -> None:
        super().__init__()
        self.cut = nn.Conv2d(1, width, 2, 2)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.across = nn.ModuleList(
            nn.Sequential(nn.Linear(places, 24), nn.GELU(), nn.Dropout(0.1), nn.Linear(24, places))
            for _ in range(layers)
        )
        self.along = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width)) for _ in range(layers)
        )
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, 5)
        self.checkpointing, self.keeps = False, True

    def mix(self, x: torch.Tensor, layer: int) -> torch.Tensor:
        x = x + self.across[layer](self.norms[2 * layer](x).transpose(1, 2)).transpose(1, 2)
        return x + self.along[layer](self.norms[2 * layer + 1](x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.cut(x).flatten(2).transpose(1, 2)
        for layer in range(len(self.across)):
            if self.checkpointing:
                x = torch.utils.checkpoint.checkpoint(
                    self.mix, x, layer, use_reentrant=False, preserve_rng_state=self.keeps
                )
            else:
                x = self.mix(x, layer)
        return self.head(self.last(x).mean(1))


class WaveNet(nn.Module):
    """Causal convolutions that look further back in each layer, gated, with skips that are summed."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.embed = nn.Embedding(23, width)
        self.filters = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2**n) for n in range(3))
        self.mixes = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(3))
        self.head = nn.Linear(width, 23)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x).transpose(1, 2)
        skips = torch.zeros_like(x)
        for number, (convolution, mix) in enumerate(zip(self.filters, self.mixes)):
            value, gate = convolution(F.pad(x, (2**number, 0))).chunk(2, 1)
            value = mix(torch.tanh(value) * torch.sigmoid(gate))
            skips, x = skips + value, x + value
        return self.head(F.relu(skips).transpose(1, 2))


class GraphAttention(nn.Module):
    """Sixteen nodes on a ring that attend to their neighbours, four of them across."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.enter, self.again = nn.Linear(12, width), nn.Linear(width, width)
        self.left, self.right = nn.Parameter(0.3 * torch.randn(2, width)), nn.Parameter(0.3 * torch.randn(2, width))
        self.drop, self.head = nn.Dropout(0.1), nn.Linear(width, 5)
        near = torch.eye(16) + torch.eye(16).roll(1, 0) + torch.eye(16).roll(-1, 0)
        near[0, 8] = near[8, 0] = near[4, 12] = near[12, 4] = 1.0
        self.register_buffer("near", near > 0, persistent=False)

    def attend(self, x: torch.Tensor, layer: int) -> torch.Tensor:
        scores = F.leaky_relu((x @ self.left[layer])[:, None] + (x @ self.right[layer])[None, :], 0.2)
        weights = scores.masked_fill(~self.near, -1e9).softmax(-1)
        return self.drop(weights) @ x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.elu(self.attend(self.enter(x), 0))
        return self.head(x + self.attend(self.again(x), 1))


class Recommender(nn.Module):
    """Numbers through a tower and four categories by their embeddings, then the products of all pairs."""

    def __init__(self, width: int = 10) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(23, width) for _ in range(4))
        self.below = nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, width))
        self.above = nn.Sequential(nn.Linear(width + 10, 24), nn.ReLU(), nn.Linear(24, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        dense = self.below(x.to(self.tables[0].weight.dtype) / 23)
        vectors = torch.stack([dense, *(table(x[:, at]) for at, table in enumerate(self.tables))], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        rows, columns = torch.tril_indices(5, 5, -1, device=x.device)
        return self.above(torch.cat([dense, products[:, rows, columns]], 1))


class Scan(nn.Module):
    """A state that each word lets decay by its own share: a selective scan, step by step."""

    def __init__(self, width: int = 16, states: int = 4) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(23, width), nn.LayerNorm(width)
        self.enter, self.steps = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.write, self.read = nn.Linear(width, states), nn.Linear(width, states)
        self.decay = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(width, 1))
        self.out, self.last, self.head = nn.Linear(width, width), nn.LayerNorm(width), nn.Linear(width, 23)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        value, gate = self.enter(self.norm(x)).chunk(2, -1)
        step, write, read = F.softplus(self.steps(value)), self.write(value), self.read(value)
        state = torch.zeros(x.shape[0], value.shape[-1], write.shape[-1], device=x.device)
        outputs = []
        for at in range(x.shape[1]):
            kept = torch.exp(-step[:, at, :, None].float() * self.decay.exp())
            state = kept * state + (step[:, at] * value[:, at])[..., None] * write[:, at, None, :]
            outputs.append((state * read[:, at, None, :]).sum(-1))
        mixed = torch.stack(outputs, 1) * F.silu(gate)
        return self.head(self.last(x + self.out(mixed)))


class Codes(nn.Module):
    """What an encoder gives is replaced by a soft choice among codes, by distance, and decoded."""

    def __init__(self, width: int = 10, codes: int = 12) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, width, 3, 2, 1), nn.SiLU(), nn.Conv2d(width, width, 3, 2, 1))
        self.codes = nn.Parameter(torch.randn(codes, width))
        self.decoder = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.SiLU())
        self.head = nn.Linear(width, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        encoded = self.encoder(x).flatten(2).transpose(1, 2)
        apart = (encoded[:, :, None, :] - self.codes).square().sum(-1)
        chosen = torch.softmax(-apart, -1) @ self.codes
        return self.head(self.decoder(chosen.transpose(1, 2).unflatten(2, (2, 2))).mean((2, 3)))


class Conformer(nn.Module):
    """Half a feed-forward layer, attention, a gated depthwise convolution with BatchNorm, the other half."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(23, width), nn.Parameter(0.1 * torch.randn(8, width))
        self.halves = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 24), nn.SiLU(), nn.Dropout(0.1), nn.Linear(24, width))
            for _ in "ab"
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.deep = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 3, padding=1, groups=width)
        self.batch, self.narrow = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)
        self.head = nn.Linear(width, 23)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x) + self.place
        x = x + 0.5 * self.halves[0](x)
        query, key, value = self.qkv(self.norms[0](x)).chunk(3, -1)
        x = x + self.out((query @ key.transpose(1, 2) / 4.0).softmax(-1) @ value)
        convolved = F.glu(self.widen(self.norms[1](x).transpose(1, 2)), 1)
        x = x + self.narrow(F.silu(self.batch(self.deep(convolved)))).transpose(1, 2)
        return self.head(self.norms[2](x + 0.5 * self.halves[1](x)))


class Levels(nn.Module):
    """Two levels down and up, GroupNorm everywhere, what was seen on the way down beside what comes up."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        sizes = (1, width, 2 * width)
        self.down = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in zip(sizes, sizes[1:]))
        self.norms = nn.ModuleList(nn.GroupNorm(4, size) for size in (*sizes[1:], 2 * width, width))
        self.middle = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.up = nn.Conv2d(3 * width + width, width, 3, padding=1)
        self.head = nn.Linear(width, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        high = F.silu(self.norms[0](self.down[0](x)))
        low = F.silu(self.norms[1](self.down[1](F.avg_pool2d(high, 2))))
        deep = F.silu(self.norms[2](self.middle(F.avg_pool2d(low, 2))))
        deep = F.interpolate(deep, scale_factor=4.0, mode="nearest")
        low = F.interpolate(low, scale_factor=2.0, mode="nearest")
        joined = torch.cat([high, (low + deep)[:, : 2 * high.shape[1]], high], 1)
        return self.head(F.silu(self.norms[3](self.up(joined))).mean((2, 3)))


NETWORKS: dict[str, type[nn.Module]] = {
    "mixer": Mixer,
    "wavenet": WaveNet,
    "graph": GraphAttention,
    "recommender": Recommender,
    "scan": Scan,
    "codes": Codes,
    "conformer": Conformer,
    "levels": Levels,
}
#: What their batches are: pictures, nodes of a graph, categories; words else.
PICTURES, NODES, CATEGORIES = ("mixer", "codes", "levels"), ("graph",), ("recommender",)
