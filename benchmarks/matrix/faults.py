"""Fault kinds, each put into one call of one operator as a wrong kernel would: values change, the graph does not.

`sites(kind, calls)` are the calls a kind can strike; `tamper(kind, call, random)` is what happens there.
"""

from __future__ import annotations

import random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from . import others
from .recorder import Call, Tampering

COMPUTING = (
    "linear",
    "relu",
    "gelu",
    "softmax",
    "layer_norm",
    "batch_norm",
    "conv2d",
    "matmul",
    "sigmoid",
    "tanh",
    "silu",
    "group_norm",
    "scaled_dot_product_attention",
)
ROUNDING = tuple(name for name in COMPUTING if name != "relu")
SUMMING = ("linear", "conv2d", "matmul")
#: kind -> the APIs it can strike.
FORWARD: dict[str, tuple[str, ...]] = {
    "one operator in bf16": ROUNDING,
    "2^-10 relative": COMPUTING,
    "scaled by 1.02": COMPUTING,
    "wrong eps": ("layer_norm", "batch_norm"),
    "dropped mask": ("masked_fill",),
    "dropped bias": ("linear", "layer_norm", "conv2d"),
    "transposed weight": ("linear", "conv2d", "matmul"),
    "NaN in one element": COMPUTING,
    "wrong reduction dim": ("softmax", "layer_norm", "mean"),
    "stale buffer": COMPUTING,
    "off-by-one index": ("embedding", "max_pool2d", "__getitem__", "stack"),
    "eps argument": ("layer_norm", "batch_norm"),
    "gelu by tanh": ("gelu",),
    "label smoothing": ("cross_entropy",),
    "sum for mean": ("cross_entropy", "mse_loss", "mean"),
    "missing scale": ("div", "scaled_dot_product_attention"),
    "running statistics": ("batch_norm",),
    "unbiased variance": ("layer_norm", "batch_norm", "group_norm"),
    "wrong padding": ("conv2d",),
    "weight laid out otherwise": SUMMING,
    "part of the sum lost": SUMMING,
    "overflow to infinity": COMPUTING,
    "saturated": COMPUTING,
    "tail not computed": COMPUTING,
    "index wraps": ("embedding", "gather"),
    "sum begins late": ("cumsum",),
    "dropout unscaled": ("dropout",),
    "dropout p argument": ("dropout",),
    "kept as bf16": COMPUTING,
}
BACKWARD: dict[str, tuple[str, ...]] = {
    "backward 2^-10": COMPUTING,
    "backward scaled by 1.02": COMPUTING,
    "backward in bf16": ROUNDING,
    "backward NaN": COMPUTING,
    "backward stale": COMPUTING,
    "backward tail zero": COMPUTING,
    "backward infinity": COMPUTING,
    "backward negated": COMPUTING,
}
#: Below what bfloat16 itself rounds: no fault that anyone could see when one side is bfloat16.
SMALL = (
    "one operator in bf16",
    "2^-10 relative",
    "wrong eps",
    "eps argument",
    "backward 2^-10",
    "backward in bf16",
    "kept as bf16",
)
#: Where an argument stands when it is given by position.
PLACES = {
    "linear": {"bias": 2},
    "conv2d": {"bias": 2},
    "layer_norm": {"bias": 3, "eps": 4},
    "batch_norm": {"bias": 4, "training": 5, "eps": 7},
    "dropout": {"p": 1},
}
KINDS = (*FORWARD, *BACKWARD)


def sites(kind: str, calls: list[Call]) -> list[Call]:
    names = FORWARD.get(kind) or BACKWARD[kind]
    found = [call for call in calls if call.api in names and (call.shown or kind in FORWARD)]
    if kind == "transposed weight":
        found = [call for call in found if call.inputs[1].shape[-1] == call.inputs[1].shape[-2]]
    if kind == "missing scale":
        found = [call for call in found if call.api != "div" or isinstance(call.inputs[1], (int, float))]
    if kind == "dropout p argument":  # twice nothing is nothing
        found = [call for call in found if _argument(call, call.inputs, call.named, "p")]
    if kind == "wrong padding":
        found = [call for call in found if call.inputs[1].shape[-1] > 1]
    if kind == "weight laid out otherwise":
        found = [call for call in found if call.inputs[1].shape[:2].numel() > 1]
    if kind == "running statistics":
        found = [call for call in found if _argument(call, call.inputs, call.named, "training")]
    if kind == "dropped bias":
        biases = ((call, _argument(call, call.inputs, call.named, "bias")) for call in found)
        found = [call for call, bias in biases if bias is not None and bool(bias.abs().sum() > 0)]
    return found


def tamper(kind: str, call: Call, draw: random.Random) -> Tampering:
    if kind in BACKWARD:
        return Tampering(backward={call.name: lambda outgoing, incoming: _gradients(kind, outgoing)})
    if kind.endswith("argument"):
        name, times = ("eps", 0.1) if kind == "eps argument" else ("p", 2.0)
        return Tampering(arguments={call.name: lambda args, named: _scaled(call, args, named, name, times)})
    at = draw.random()
    return Tampering(forward={call.name: lambda func, args, named, out: _wrong(kind, call, func, args, named, out, at)})


def expected(kind: str, call: Call) -> str:
    return f"{call.name}.{'backward' if kind in BACKWARD else 'forward'}"


def _wrong(kind: str, call: Call, func: Any, args: Any, named: Any, out: Tensor, at: float) -> Tensor:
    simple = {"2^-10 relative": 1 + 2**-10, "scaled by 1.02": 1.02}
    if kind in simple:
        return out * simple[kind]
    if kind == "one operator in bf16":
        low = [_low(value) for value in args]
        return func(*low, **{key: _low(value) for key, value in named.items()}).to(out.dtype)
    if kind == "NaN in one element":
        out.reshape(-1)[int(at * out.numel())] = float("nan")
        return out
    if kind == "stale buffer":  # the last quarter was not written: it holds what lay there
        flat, size = out.reshape(-1), max(1, out.numel() // 4)
        flat[-size:] = flat[:size].clone().flip(0)
        return flat.view(out.shape)
    if kind == "dropped mask":
        return args[0]
    if kind in others.KINDS:
        return others.KINDS[kind](call, func, args, named, out)
    if kind == "off-by-one index":
        return _shifted(call, func, args, named, out)
    return _other(kind, call, func, list(args), dict(named), out)


def _other(kind: str, call: Call, func: Any, args: list[Any], named: dict[str, Any], out: Tensor) -> Tensor:
    """The call with another argument."""
    if kind == "transposed weight":
        args[1] = args[1].transpose(-1, -2)
    elif kind == "dropped bias":
        _put(call, args, named, "bias", torch.zeros_like(_argument(call, args, named, "bias")))
    elif kind == "wrong eps":
        args = [value.clone() if isinstance(value, Tensor) else value for value in args]  # running statistics
        _put(call, args, named, "eps", 1e-3)
    elif call.api == "mean":
        wide = args[0].mean((0, *range(2, args[0].dim())), keepdim=True) if args[0].dim() == 4 else args[0].mean(0)
        return wide.reshape(-1)[: out.shape[-1]].expand(out.shape) if wide.numel() >= out.shape[-1] else out * 0
    elif call.api == "softmax":
        return args[0].softmax(-2).to(out.dtype)
    else:  # layer_norm over the place before its own
        return F.layer_norm(args[0].transpose(-1, -2), (args[0].shape[-2],)).transpose(-1, -2).to(out.dtype)
    return func(*args, **named)


def _shifted(call: Call, func: Any, args: Any, named: Any, out: Tensor) -> Tensor:
    if call.api == "embedding":
        return func((args[0] + 1) % args[1].shape[0], *args[1:], **named)
    return out.roll(1, -1 if call.api != "stack" else 1)


def _scaled(call: Call, args: Any, named: Any, name: str, times: float) -> Any:
    """Another eps: the difference is below rounding in most layers, and visible as an argument only."""
    given, keywords = list(args), dict(named)
    _put(call, given, keywords, name, _argument(call, given, keywords, name) * times)
    return tuple(given), keywords


def _gradients(kind: str, outgoing: Any) -> Any:
    copies = (None if grad is None else grad.clone(memory_format=torch.contiguous_format) for grad in outgoing)
    return tuple(None if grad is None else _gradient(kind, grad) for grad in copies)


def _gradient(kind: str, grad: Tensor) -> Tensor:
    if kind == "backward NaN":
        grad.reshape(-1)[grad.numel() // 2] = float("nan")
        return grad
    if kind == "backward infinity":
        grad.reshape(-1)[grad.abs().argmax()] = float("inf")
        return grad
    if kind == "backward tail zero":
        grad.reshape(-1)[-max(1, grad.numel() // 8) :] = 0
        return grad
    if kind == "backward negated":
        return -grad
    if kind == "backward in bf16":
        return grad.bfloat16().to(grad.dtype)
    if kind == "backward stale":
        flat, size = grad.reshape(-1), max(1, grad.numel() // 4)
        flat[-size:] = flat[:size].clone().flip(0)
        return flat.view(grad.shape)
    return grad * (1.02 if kind == "backward scaled by 1.02" else 1 + 2**-10)


def _argument(call: Call, args: Any, named: dict[str, Any], name: str) -> Any:
    at = PLACES[call.api][name]
    return named.get(name) if name in named or at >= len(args) else args[at]


def _put(call: Call, args: list[Any], named: dict[str, Any], name: str, value: Any) -> None:
    at = PLACES[call.api][name]
    if name in named or at >= len(args):
        named[name] = value
    else:
        args[at] = value


def _low(value: Any) -> Any:
    return value.bfloat16() if isinstance(value, Tensor) and value.is_floating_point() else value
