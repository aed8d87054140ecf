"""More ways in which a kernel goes wrong, each a function of the call that gives what it would have returned."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from .recorder import Call

Change = Callable[[Call, Any, "tuple[Any, ...]", "dict[str, Any]", Tensor], Tensor]


def _gelu(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    return F.gelu(args[0], approximate="tanh")


def _smoothed(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    result: Tensor = func(*args, **{**named, "label_smoothing": 0.05})
    return result


def _summed(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    """The sum where the mean was asked for, or a mean over one element less where that would be absurd."""
    return out * (args[0].numel() / (args[0].numel() - 1) if call.api == "mean" else args[0].shape[0])


def _unscaled(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    if call.api == "div":
        result: Tensor = args[0]
        return result
    return F.scaled_dot_product_attention(*args[:3], scale=1.0)


def _running(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    """Normalised by what was gathered so far and not by the batch. The buffers stay what they are."""
    given = [value.clone() if isinstance(value, Tensor) else value for value in args]
    keywords = {key: value.clone() if isinstance(value, Tensor) else value for key, value in named.items()}
    if "training" in keywords or len(given) < 6:
        keywords["training"] = False
    else:
        given[5] = False
    result: Tensor = func(*given, **keywords)
    return result


def _unbiased(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    """The variance divided by n - 1: every normalised value is smaller by sqrt((n - 1) / n)."""
    shape = args[0].shape
    count = {"layer_norm": shape[-1], "group_norm": shape.numel() // shape[0] // 4}.get(
        call.api, shape.numel() // (shape[1] if len(shape) > 1 else 1)
    )
    shift = func(
        torch.zeros_like(args[0]),
        *(v.clone() if isinstance(v, Tensor) else v for v in args[1:]),
        **{k: v.clone() if isinstance(v, Tensor) else v for k, v in named.items()},
    )
    return shift + (out - shift) * ((count - 1) / count) ** 0.5


def _padded(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    """The border repeated where zeros belong."""
    edge = args[1].shape[-1] // 2
    return F.conv2d(F.pad(args[0], (edge,) * 4, mode="replicate"), args[1], args[2])


def _laid(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    """The second factor read column by column."""
    result: Tensor = func(
        args[0],
        args[1].transpose(-1, -2).reshape(args[1].shape)
        if args[1].shape[-1] > 1
        else args[1].transpose(0, 1).reshape(args[1].shape),
        *args[2:],
        **named,
    )
    return result


def _lost(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    """The last eighth of what is summed is left out."""
    given = args[0].clone()
    along = 1 if call.api == "conv2d" else -1
    size = given.shape[along]
    given.narrow(along, size - max(1, size // 8), max(1, size // 8)).zero_()
    result: Tensor = func(given, *args[1:], **named)
    return result


def _infinite(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    out.reshape(-1)[out.abs().argmax()] = float("inf")
    return out


def _saturated(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    limit = float(out.abs().max()) * 0.7
    return out.clamp(-limit, limit)


def _cut(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    out.reshape(-1)[-max(1, out.numel() // 16) :] = 0
    return out


def _wrapped(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    """The index keeps five bits."""
    if call.api == "gather":
        return torch.gather(args[0], args[1], args[2] % 32)
    return F.embedding(args[0] % 32, args[1])


def _late(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    return out - args[0]


def _plain(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    return out * 0.9


def _stored(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    return out.bfloat16().to(out.dtype)


KINDS: dict[str, Change] = {
    "gelu by tanh": _gelu,
    "label smoothing": _smoothed,
    "sum for mean": _summed,
    "missing scale": _unscaled,
    "running statistics": _running,
    "unbiased variance": _unbiased,
    "wrong padding": _padded,
    "weight laid out otherwise": _laid,
    "part of the sum lost": _lost,
    "overflow to infinity": _infinite,
    "saturated": _saturated,
    "tail not computed": _cut,
    "index wraps": _wrapped,
    "sum begins late": _late,
    "dropout unscaled": _plain,
    "kept as bf16": _stored,
}
