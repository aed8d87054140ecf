"""Trains networks on the NPU, half of the steps from a graph, beside one trained without: a line of JSON each."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import torch
import torch_npu  # noqa: F401
from torch import nn
from torch.nn import functional as F

STEPS, BEFORE = 6, 3


class Attention(nn.Module):  # type: ignore[misc]
    """A block of a GPT, by the fused attention."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.qkv, self.norm, self.head = (
            nn.Embedding(17, 16),
            nn.Linear(16, 48),
            nn.LayerNorm(16),
            nn.Linear(16, 17),
        )

    def forward(self, ids: torch.Tensor) -> Any:
        x = self.norm(self.tokens(ids))
        query, key, value = (part.view(*ids.shape, 2, 8).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.head(x + mixed.transpose(1, 2).reshape(x.shape))[:, -1]


class Recurrent(nn.Module):  # type: ignore[misc]
    """A cell over a sequence."""

    def __init__(self, cell: type[nn.Module]) -> None:
        super().__init__()
        self.cell, self.head = cell(6, 8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> Any:
        state: Any = None
        for step in x.unbind(1):
            state = self.cell(step, state)
        return self.head(state[0] if isinstance(state, tuple) else state)


class Experts(nn.Module):  # type: ignore[misc]
    """Experts of which each example takes the best two, all computed."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(8, 4), nn.ModuleList(nn.Linear(8, 4) for _ in range(4))

    def forward(self, x: torch.Tensor) -> Any:
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        all_of_them = torch.stack([expert(x) for expert in self.experts], 1)
        return (weights.unsqueeze(-1) * all_of_them.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 4))).sum(1)


class Sampled(nn.Module):  # type: ignore[misc]
    """A bottleneck with noise."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(8, 8), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        mean, spread = self.into(x).chunk(2, -1)
        return self.out(mean + torch.randn_like(mean) * spread.exp())


class Frozen(nn.Module):  # type: ignore[misc]
    """A network of two, one of which has no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.fixed, self.head = nn.Linear(8, 8).requires_grad_(False), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> Any:
        with torch.no_grad():
            features = self.fixed(x)
        return self.head(features)


def make_numbers(*shape: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(5, *shape)


def make_ids() -> torch.Tensor:
    return torch.randint(0, 17, (5, 7))


NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)), make_numbers(8)),
    "batch_norm": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 4)),
        make_numbers(3, 6, 6),
    ),
    "pooling": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 4)),
        make_numbers(3, 9, 9),
    ),
    "group_norm": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.Flatten(), nn.Linear(16, 4)),
        make_numbers(2, 6),
    ),
    "transposed": (
        lambda: nn.Sequential(nn.ConvTranspose2d(2, 2, 2, stride=2), nn.Flatten(), nn.Linear(32, 4)),
        make_numbers(2, 2, 2),
    ),
    "attention": (Attention, make_ids),
    "lstm": (lambda: Recurrent(nn.LSTMCell), make_numbers(3, 6)),
    "gru": (lambda: Recurrent(nn.GRUCell), make_numbers(3, 6)),
    "experts": (Experts, make_numbers(8)),
    "dropout": (lambda: nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.4), nn.Linear(32, 4)), make_numbers(8)),
    "sampled": (Sampled, make_numbers(8)),
    "frozen": (Frozen, make_numbers(8)),
    "bags": (lambda: nn.Sequential(nn.Embedding(17, 8), nn.Flatten(), nn.Linear(56, 4)), make_ids),
}


def train(name: str, *, graph: bool, autocast: bool = False) -> tuple[list[float], list[torch.Tensor]]:
    """Return the losses and the weights after a few steps."""
    make, draw = NETWORKS[name]
    torch.manual_seed(7)
    model = make().npu()
    batches = [(draw(), torch.randint(0, 4, (5,))) for _ in range(STEPS)]
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], 1e-2, capturable=True)
    x, target = batches[0][0].npu(), batches[0][1].npu()
    losses = []

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("npu", torch.bfloat16, enabled=autocast, cache_enabled=False):
            loss = F.cross_entropy(model(x).float(), target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        return loss.detach()

    def load(number: int) -> None:
        x.copy_(batches[number][0])
        target.copy_(batches[number][1])

    torch.npu.manual_seed(3)
    stream = torch.npu.Stream()
    stream.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(stream):
        for number in range(BEFORE if graph else STEPS):
            load(number)
            losses.append(float(step()))
    torch.npu.current_stream().wait_stream(stream)
    if graph:
        captured = torch.npu.NPUGraph()
        weights = copy.deepcopy(model.state_dict())
        optimizer.zero_grad(set_to_none=True)
        with torch.npu.graph(captured):
            loss = step()
        assert all(torch.equal(value, weights[key]) for key, value in model.state_dict().items()), "capturing trained"
        assert bool(loss.isnan()), "a captured result holds a value before the graph ran"
        for number in range(BEFORE, STEPS):
            load(number)
            captured.replay()
            losses.append(float(loss))
    return losses, [value.cpu() for value in model.state_dict().values()]


def main() -> None:
    for name in NETWORKS:
        for autocast in (False, True) if name in ("mlp", "attention") else (False,):
            (plain, weights), (replayed, others) = (
                train(name, graph=each, autocast=autocast) for each in (False, True)
            )
            same = all(torch.equal(one, other) for one, other in zip(weights, others))
            print(
                json.dumps({"name": name, "autocast": autocast, "losses": [plain, replayed], "weights": same}),
                flush=True,
            )


if __name__ == "__main__":
    main()
