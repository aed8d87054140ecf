"""Trains the networks of graphs.py compiled, beside the same ones that are not: a line of JSON each. MODE [NAMES...]"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import torch
import torch_npu  # noqa: F401
import torchair
from torch import nn
from torch.nn import functional as F

from graphs import NETWORKS

STEPS = 3
MODES = {"max-autotune": "max-autotune", "reduce-overhead": "reduce-overhead", "dynamic": "max-autotune"}


def backend_of(mode: str) -> Any:
    if mode not in MODES:
        return mode
    config = torchair.CompilerConfig()
    config.mode = MODES[mode]
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
        except Exception as error:
            print(json.dumps({**said, "error": f"{type(error).__name__}: {error}"[:3000]}), flush=True)
            continue
        apart = max(float((one.float() - other.float()).abs().max()) for one, other in zip(weights, others))
        print(json.dumps({**said, "losses": [plain, losses], "weights": apart, **counts}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
