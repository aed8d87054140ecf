"""Trains the networks of graphs.py compiled, beside the same ones that are not: a line of JSON each. MODE [NAMES...]"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import torch
import torchair
from graphs import NETWORKS, make_numbers
from torch import nn
from torch.nn import functional as F

MODES = {
    "max-autotune": "max-autotune",
    "dynamic": "max-autotune",
    "reduce-overhead": "reduce-overhead",
    "no-reinplace": "reduce-overhead",
}


class WrittenOut(nn.Module):  # type: ignore[misc]
    """Attention by its formula."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.head = nn.Linear(8, 24), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> Any:
        query, key, value = self.qkv(x).chunk(3, -1)
        weights = (query @ key.transpose(-1, -2) / 8**0.5).softmax(-1)
        return self.head((weights @ value).mean(1))


class Gated(nn.Module):  # type: ignore[misc]
    """A gated layer between root mean square norms, as of a Llama."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.up, self.gate = nn.Parameter(torch.ones(8)), nn.Linear(8, 16), nn.Linear(8, 16)
        self.down, self.head = nn.Linear(16, 8), nn.Linear(8, 4)

    def normed(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale

    def forward(self, x: torch.Tensor) -> Any:
        inner = self.normed(x)
        return self.head(self.normed(x + self.down(F.silu(self.gate(inner)) * self.up(inner))))


NETWORKS.update(
    {
        "written_out": (WrittenOut, make_numbers(6, 8)),
        "gated": (Gated, make_numbers(8)),
        "layer_norm": (
            lambda: nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 4)),
            make_numbers(8),
        ),
    }
)


def backend_of(mode: str) -> Any:
    if mode not in MODES:
        return mode
    config = torchair.CompilerConfig()
    config.mode = MODES[mode]
    if mode == "no-reinplace":
        config.debug.aclgraph.disable_reinplace_inplaceable_ops_pass = True
    return torchair.get_npu_backend(compiler_config=config)


def train(name: str, mode: str = "") -> tuple[list[float], list[torch.Tensor]]:
    """Return the losses and the weights after a few steps. In `dynamic` batches differ in size."""
    make, draw = NETWORKS[name]
    torch.manual_seed(7)
    model = make().npu()
    sizes = (5, 3, 4) if "dynamic" in sys.argv[1] else (5, 5, 5)
    batches = [(draw()[:size].npu(), torch.randint(0, 4, (5,))[:size].npu()) for size in sizes]
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], 0.1)
    run: nn.Module = torch.compile(model, backend=backend_of(mode), dynamic=mode == "dynamic") if mode else model
    torch.npu.manual_seed(3)
    losses = []
    for x, target in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(run(x), target)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses, [value.cpu() for value in model.state_dict().values()]


def main(mode: str, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    counts = {"replays": 0, "engine": 0}
    replay, compiled = torch.npu.NPUGraph.replay, torchair.core._torchair.TorchNpuGraphBase.compile

    def count_replay(self: Any) -> Any:
        counts["replays"] += 1
        return replay(self)

    def count_compiled(self: Any) -> Any:
        counts["engine"] += 1
        return compiled(self)

    torch.npu.NPUGraph.replay = count_replay
    torchair.core._torchair.TorchNpuGraphBase.compile = count_compiled
    for name in names or NETWORKS:
        counts.update(replays=0, engine=0)
        torch._dynamo.reset()
        said = {"name": name, "error": ""}
        plain, weights = train(name)
        try:
            losses, others = train(name, mode)
        except (RuntimeError, AssertionError, torch._dynamo.exc.TorchDynamoException) as error:
            print(json.dumps({**said, "error": f"{type(error).__name__}: {error}"[:3000]}), flush=True)
            continue
        apart = max(float((one.float() - other.float()).abs().max()) for one, other in zip(weights, others))
        print(json.dumps({**said, "losses": [plain, losses], "weights": apart, **counts}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
