"""Small networks run operator by operator on the CPU, each call recorded in a dump."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import torch
import torch.nn.functional as F

from tests.precision.dumps import Dump

Change = Callable[[torch.Tensor], torch.Tensor]


def same(value: torch.Tensor) -> torch.Tensor:
    return value


def convolutions(
    root: Path,
    *,
    task: str = "tensor",
    seed: int = 0,
    faults: dict[str, Change] | None = None,
    noise: Change = same,
    step: int = 0,
    rank: str = "proc7",
    skip: str = "",
    dtype: torch.dtype = torch.float32,
    weights: Change = same,
) -> Path:
    """conv2d, batch_norm, relu, three times over, then the backward of it; a fault changes one named result.

    `noise` is applied to every result: it stands for another device. `skip` leaves out one entry.
    `weights` changes those of the convolutions: an update that went another way.
    """
    draw = torch.Generator().manual_seed(seed)  # of its own: noise must not change what comes after it
    faults = faults or {}
    dump, tape = Dump(root, step=step, rank=rank, task=task), []
    x = torch.randn(4, 6, 8, 8, generator=draw).to(dtype)
    for call in range(3):
        weight = weights(torch.randn(6, 6, 3, 3, generator=draw).to(dtype) * 0.2)
        x = _step(dump, tape, "conv2d", F.conv2d, [x, weight, None, 1, 1], (0, 1), call, faults, noise, skip)
        norm = [x, torch.zeros(6), torch.ones(6), torch.ones(6), torch.zeros(6), True, 0.1, 1e-5]
        x = _step(dump, tape, "batch_norm", F.batch_norm, norm, (0, 3, 4), call, faults, noise, skip)
        x = _step(dump, tape, "relu", F.relu, [x], (0,), call, faults, noise, skip)
    grad = torch.randn(x.shape, generator=draw).to(x.dtype)
    for name, call, node in reversed(tape):
        grads = node(grad)
        grads = grads if isinstance(grads, tuple) else (grads,)
        key = f"Functional.{name}.{call}.backward"
        change = faults.get(key, same)
        results = [noise(change(g)) if g is not None else None for g in grads]
        if key != skip:
            dump.backward(f"Functional.{name}", [grad], results, call=call)
        grad = results[0]
    return dump.save().parent.parent


def _step(
    dump: Dump,
    tape: list[Any],
    name: str,
    function: Any,
    arguments: list[Any],
    tracked: tuple[int, ...],
    call: int,
    faults: dict[str, Change],
    noise: Change,
    skip: str,
) -> torch.Tensor:
    given = [v.detach().clone() if isinstance(v, torch.Tensor) else v for v in arguments]
    leaves = [v.clone().requires_grad_().clone() if i in tracked else v for i, v in enumerate(given)]
    result = function(*leaves)
    tape.append((name, call, result.grad_fn))
    key = f"Functional.{name}.{call}.forward"
    recorded = noise(faults.get(key, same)(result.detach()))
    if key != skip:
        dump.forward(f"Functional.{name}", arguments, [recorded], call=call, line=20 + call, requires_grad=tracked)
    return recorded
