"""What the cases share: a digest of all that a step leaves, and the second random stream of a machine with a GPU.

Three ways to run a case, by the environment variable TOLD: as it is; or "told", on the CPU with what the stand-in names
as different put in by hand (the GPU's own stream; what CUDA's autocast does), independently of the stand-in.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random

import numpy
import torch
from torch import nn

TOLD = os.environ.get("TOLD") == "1"
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
#: The GPU's stream, where it is told by hand.
_stream = torch.Generator()


def seed(number: int) -> None:
    random.seed(number)
    numpy.random.seed(number)
    torch.manual_seed(number)
    _stream.manual_seed(number)


@contextlib.contextmanager
def on_gpu():
    """Around what a GPU machine computes on the GPU: there its draws come from the GPU's stream."""
    if not TOLD:
        yield
        return
    before = torch.default_generator.get_state()
    torch.default_generator.set_state(_stream.get_state())
    try:
        yield
    finally:
        _stream.set_state(torch.default_generator.get_state())
        torch.default_generator.set_state(before)


def stream() -> torch.Generator:
    """The GPU's stream as told by hand."""
    return _stream


def digest(*things: object) -> str:
    """Of the bytes of tensors, arrays, numbers and texts, nested in any way."""
    total = hashlib.sha256()

    def add(thing: object) -> None:
        if isinstance(thing, torch.Tensor):
            plain = thing.detach().to_dense() if thing.is_sparse else thing.detach()
            total.update(f"{plain.dtype}{tuple(plain.shape)}".encode())
            if plain.numel():
                total.update(plain.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        elif isinstance(thing, dict):
            for key in thing:
                add(key)
                add(thing[key])
        elif isinstance(thing, (list, tuple)):
            for item in thing:
                add(item)
        else:
            total.update(repr(thing).encode())

    add(things)
    return total.hexdigest()[:16]


_steps = 0


def tell(loss: object = 0.0, *models: nn.Module, more: object = None) -> None:
    """Print a line: digests of the loss, gradients, weights with buffers, random streams, and what else is given."""
    global _steps
    parameters = [parameter for model in models for parameter in model.parameters()]
    parts = {
        "loss": digest(loss),
        "grads": digest([parameter.grad for parameter in parameters]),
        "weights": digest([model.state_dict() for model in models]),
        "more": digest(more),
        "cpu": digest(torch.get_rng_state()),
        "python": digest(random.getstate()),
        "numpy": digest(numpy.random.get_state()),
        "gpu": digest(_stream.get_state() if TOLD else torch.cuda.get_rng_state() if CUDA else None),
    }
    print(f"STEP {_steps}", *(f"{name}={value}" for name, value in parts.items()), flush=True)
    _steps += 1


def train(model, *, forward=None, optimizer=None, steps=3, shape=(8, 16), scaler=None, after=None):
    """A plain loop: the batches come from the CPU's stream, the forward and backward run on the GPU."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        batch = torch.randn(*shape).to(DEVICE, non_blocking=True)
        with on_gpu():
            loss = (forward or model)(batch).float().pow(2).mean()
            optimizer.zero_grad(set_to_none=True)
            if scaler is None:
                loss.backward()
                optimizer.step()
            else:
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
        tell(loss, model, more=after and after())


def mlp(dropout: float = 0.0, width: int = 16) -> nn.Sequential:
    layers = [nn.Linear(16, width), nn.GELU(), nn.Dropout(dropout), nn.LayerNorm(width), nn.Linear(width, 16)]
    return nn.Sequential(*layers)
