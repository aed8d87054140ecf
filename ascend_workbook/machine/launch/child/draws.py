"""Random numbers that do not depend on the device: drawn on the host, or dropout left out.

A device's generator gives other numbers from one seed than another device's, so that dropout parts two runs that are
right. Here every draw of torch, on whatever device, takes one number from the CPU's generator as the key of a Philox
stream (numpy's, integers alone), makes its values of that stream on the host and moves them. The CPU's generator is
the only state: seeding, saving and restoring it, forking, activation checkpointing and data loaders work as ever.
Uniform and normal numbers are made of exact arithmetic, the same on x86 and Arm.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._VF
import torch.jit._builtins as jit_builtins
import torch.nn.functional as F

from . import normal
from .replacing import replaces

#: Frames of this file stand between the program's line and torch's; who asks whose line it is passes over them.
PASSES_THROUGH = True
HOST = "host"
#: Bits of a uniform number of each type, as torch's own kernels draw them.
BITS = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
#: Samplers of torch's that run on the CPU as they are, from a generator seeded with the key.
AS_THEY_ARE = ("poisson", "binomial", "_standard_gamma", "_sample_dirichlet")
#: Kernels of torch_npu that draw within, by the argument that says so.
WITHIN = {"npu_fusion_attention": "keep_prob", "npu_fusion_attention_v2": "keep_prob"}
#: Of SELU: what alpha dropout puts in the place of what it drops.
ALPHA = 1.7580993408473766

_raw, _base = torch._C._VariableFunctions, torch.Tensor.__base__
_note: Callable[..., None] = lambda code, **args: None  # noqa: E731


def install_draws(draws: str, rm_dropout: bool, note: Callable[..., None]) -> None:
    """Replace torch's draws as asked; `note` takes a remark for the log."""
    global _note
    _note = note
    if draws == HOST:
        note("host_draws")
        _install_functions()
        _install_methods()
        _install_generator()
    if draws == HOST or rm_dropout:
        _install_layers(_Kept if rm_dropout else _Dropped)
    if rm_dropout:
        note("dropout_removed")


# The numbers


def _draw_words(count: int, generator: torch.Generator | None) -> Any:
    """Return so many unsigned 64-bit integers of the stream whose key the generator gives."""
    import numpy

    return numpy.random.Philox(key=_draw_key(generator)).random_raw(count)


def _draw_key(generator: torch.Generator | None) -> int:
    number = _raw.empty((), dtype=torch.int64, device="cpu")
    _base.random_(number, generator=generator)
    return int(_base.item(number))


def _to_tensor(values: Any, like: torch.Tensor) -> torch.Tensor:
    """Return an array of the host as a tensor like another: its shape, type and device."""
    host = _base.to(_base.reshape(torch.as_tensor(values), like.shape), like.dtype)
    return _base.to(host, like.device)


def _uniform(
    like: torch.Tensor, generator: torch.Generator | None, low: float = 0.0, high: float = 1.0
) -> torch.Tensor:
    """Return numbers in [low, high)."""
    dtype = like.dtype if like.dtype in BITS else torch.float32
    bits = BITS[dtype]
    values = (_draw_words(_base.numel(like), generator) >> (64 - bits)) * 2.0**-bits
    return _to_tensor(values * (high - low) + low, like)


def _normal(like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    if like.is_complex():
        real = torch.view_as_real(like)
        return torch.view_as_complex(_raw.mul(_normal(real, generator), 0.5**0.5))
    return _to_tensor(normal.from_words(_draw_words(_base.numel(like), generator)), like)


def _chances(like: torch.Tensor, generator: torch.Generator | None, chance: object) -> torch.Tensor:
    """Return 1 with the chance given, one number for all or a tensor, else 0."""
    values = (_draw_words(_base.numel(like), generator) >> 11) * 2.0**-53
    if isinstance(chance, torch.Tensor):
        host = _base.to(_base.detach(chance), "cpu", torch.float64)
        chance = _base.reshape(_raw.broadcast_to(host, like.shape), (-1,)).numpy()
    return _to_tensor(values < chance, like)


def _integers(like: torch.Tensor, generator: torch.Generator | None, low: int, high: int) -> torch.Tensor:
    """Return integers in [low, high)."""
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    import numpy

    words = _draw_words(_base.numel(like), generator)
    span = high - low
    drawn = (words % numpy.uint64(span) if span < 2**64 else words).astype(numpy.int64) + low
    return _to_tensor(drawn, like)


def _whole_range(dtype: torch.dtype) -> tuple[int, int]:
    if dtype in BITS:
        return 0, 2 ** BITS[dtype] + 1
    return (0, 2) if dtype == torch.bool else (0, torch.iinfo(dtype).max)


# Functions and methods


def _replace(owner: object, name: str, function: Callable[..., object]) -> None:
    """Put a function of ours where torch has one; tensors without values are torch's."""
    builtin = jit_builtins._find_builtin(getattr(owner, name)) if owner is torch else None

    @replaces(owner, name)
    def draw_on_host(original: Callable[..., object], *args: Any, **kwargs: Any) -> object:
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        if str(kwargs.get("device")) == "meta" or any(_has_no_values(tensor) for tensor in tensors):
            return original(*args, **kwargs)
        with torch.no_grad() if owner is not F else contextlib.nullcontext():
            return function(original, *args, **kwargs)

    if builtin is not None:
        jit_builtins._register_builtin(getattr(owner, name), builtin)  # so that torch.jit.script still knows it


def _has_no_values(tensor: torch.Tensor) -> bool:
    if tensor.device.type == "meta" or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return True
    return type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter


def _install_functions() -> None:
    def by_size(draw: Callable[..., torch.Tensor]) -> Callable[..., object]:
        """torch.rand and randn: sizes first, the form among the keywords."""

        def make(
            original: object, *size: Any, generator: torch.Generator | None = None, out: Any = None, **form: Any
        ) -> object:
            size = form.pop("size", size)
            size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
            grad, names = form.pop("requires_grad", False), form.pop("names", None)
            like = torch.empty(tuple(size), **form) if out is None else out.resize_(tuple(size))
            _base.copy_(like, draw(like, generator))
            like = like.refine_names(*names) if names else like
            return like.requires_grad_() if grad else like

        return make

    def by_example(draw: Callable[..., torch.Tensor]) -> Callable[..., object]:
        def make(original: object, example: torch.Tensor, *bounds: int, generator: Any = None, **form: Any) -> object:
            bounds = (*bounds, *(form.pop(name) for name in ("low", "high") if name in form))
            grad = form.pop("requires_grad", False)
            like = torch.empty_like(example, **form)
            _base.copy_(like, draw(like, generator, *bounds))
            return like.requires_grad_() if grad else like

        return make

    def integers(like: torch.Tensor, generator: Any, *bounds: int) -> torch.Tensor:
        low, high = (0, *bounds) if len(bounds) == 1 else bounds
        return _integers(like, generator, int(low), int(high))

    def randint(original: object, *args: Any, generator: Any = None, out: Any = None, **form: Any) -> object:
        size = form.pop("size", None)
        *bounds, size = args if size is None else (*args, size)
        bounds += [form.pop(name) for name in ("low", "high") if name in form]
        grad = form.pop("requires_grad", False)
        form = {**form, "dtype": form.get("dtype") or torch.int64}
        like = torch.empty(tuple(size), **form) if out is None else out.resize_(tuple(size))
        _base.copy_(like, integers(like, generator, *bounds))
        return like.requires_grad_() if grad else like

    def randperm(original: object, n: int, *, generator: Any = None, out: Any = None, **form: Any) -> object:
        import numpy

        form.pop("requires_grad", None)
        like = (
            torch.empty((n,), **{**form, "dtype": form.get("dtype") or torch.int64}) if out is None else out.resize_(n)
        )
        return _base.copy_(like, _to_tensor(numpy.argsort(_draw_words(n, generator), kind="stable"), like))

    def draw_normal(original: object, mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None,
                    out: Any = None, **form: Any) -> object:  # fmt: skip
        tensors = [value for value in (mean, std) if isinstance(value, torch.Tensor)]
        if tensors:
            shape = torch.broadcast_shapes(*(tensor.shape for tensor in tensors))
            like = torch.empty(shape, dtype=tensors[0].dtype, device=tensors[0].device)
        else:
            like = torch.empty(tuple(size), **{key: value for key, value in form.items() if key != "requires_grad"})
        drawn = _raw.add(_raw.mul(_normal(like, generator), std), mean)
        return drawn if out is None else out.copy_(drawn)

    def bernoulli(original: object, chances: torch.Tensor, p: float | None = None, *, generator: Any = None,
                  out: Any = None) -> object:  # fmt: skip
        drawn = _chances(chances, generator, chances if p is None else p)
        return drawn if out is None else out.copy_(drawn)

    def multinomial(original: object, weights: torch.Tensor, num_samples: int, replacement: bool = False, *,
                    generator: Any = None, out: Any = None) -> object:  # fmt: skip
        host = _base.to(_base.detach(weights), "cpu", torch.float64)
        if bool((host < 0).any()) or not bool(torch.isfinite(host).all()) or not bool((host.sum(-1) > 0).all()):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if replacement:
            place = _uniform(host.new_empty((*host.shape[:-1], num_samples)), generator)
            total = host.cumsum(-1)
            drawn = torch.searchsorted(total, place * total[..., -1:], right=True).clamp_(max=host.shape[-1] - 1)
        else:  # the largest of weight / exponential number
            waits = torch.as_tensor(normal.exponential_from_words(_draw_words(host.numel(), generator)))
            drawn = (host / waits.reshape(host.shape)).topk(num_samples, -1).indices
        drawn = _base.to(drawn, weights.device)
        return drawn if out is None else out.resize_(drawn.shape).copy_(drawn)

    def run_on_host(original: Callable[..., Any], *args: Any, generator: Any = None, **kwargs: Any) -> object:
        keyed = torch._C.Generator("cpu").manual_seed(_draw_key(generator))
        device = next(value.device for value in args if isinstance(value, torch.Tensor))
        host = [_base.to(value, "cpu") if isinstance(value, torch.Tensor) else value for value in args]
        return _base.to(original(*host, **kwargs, generator=keyed), device)

    _replace(torch, "rand", by_size(_uniform))
    _replace(torch, "randn", by_size(_normal))
    _replace(torch, "rand_like", by_example(_uniform))
    _replace(torch, "randn_like", by_example(_normal))
    _replace(torch, "randint_like", by_example(integers))
    _replace(torch, "randint", randint)
    _replace(torch, "randperm", randperm)
    _replace(torch, "normal", draw_normal)
    for owner in (torch, torch.Tensor):
        _replace(owner, "bernoulli", bernoulli)
        _replace(owner, "multinomial", multinomial)
    for name in AS_THEY_ARE:
        if hasattr(torch, name):
            _replace(torch, name, run_on_host)


def _install_methods() -> None:
    def in_place(name: str) -> Callable[[Callable[..., torch.Tensor]], None]:
        def put(draw: Callable[..., torch.Tensor]) -> None:
            def fill(
                original: object, tensor: torch.Tensor, *args: Any, generator: Any = None, **kwargs: Any
            ) -> object:
                return _base.copy_(tensor, draw(tensor, generator, *args, **kwargs))

            _replace(torch.Tensor, name, fill)

        return put

    @in_place("normal_")
    def normal_(tensor: torch.Tensor, generator: Any, mean: float = 0.0, std: float = 1.0) -> torch.Tensor:
        return _raw.add(_raw.mul(_normal(tensor, generator), std), mean)

    @in_place("uniform_")
    def uniform_(tensor: torch.Tensor, generator: Any, *bounds: float, **named: float) -> torch.Tensor:
        low, high = [*bounds, *(named[name] for name in ("from", "to") if name in named), *(0.0, 1.0)[len(bounds) :]][
            :2
        ]
        return _uniform(tensor, generator, named.get("from", low), named.get("to", high))

    @in_place("bernoulli_")
    def bernoulli_(tensor: torch.Tensor, generator: Any, p: object = 0.5) -> torch.Tensor:
        return _chances(tensor, generator, p)

    @in_place("random_")
    def random_(tensor: torch.Tensor, generator: Any, *bounds: int, **named: int) -> torch.Tensor:
        bounds = (*bounds, *(named[name] for name in ("from", "to") if name in named))
        low, high = _whole_range(tensor.dtype) if not bounds else (0, *bounds) if len(bounds) == 1 else bounds
        return _integers(tensor, generator, low, _whole_range(tensor.dtype)[1] if high is None else high)

    @in_place("exponential_")
    def exponential_(tensor: torch.Tensor, generator: Any, lambd: float = 1.0) -> torch.Tensor:
        return _to_tensor(normal.exponential_from_words(_draw_words(_base.numel(tensor), generator)) / lambd, tensor)

    @in_place("log_normal_")
    def log_normal_(tensor: torch.Tensor, generator: Any, mean: float = 1.0, std: float = 2.0) -> torch.Tensor:
        return _raw.exp(_raw.add(_raw.mul(_normal(tensor, generator), std), mean))

    @in_place("cauchy_")
    def cauchy_(tensor: torch.Tensor, generator: Any, median: float = 0.0, sigma: float = 1.0) -> torch.Tensor:
        angle = _raw.mul(_raw.sub(_uniform(tensor, generator), 0.5), math.pi)
        return _raw.add(_raw.mul(_raw.tan(angle), sigma), median)

    @in_place("geometric_")
    def geometric_(tensor: torch.Tensor, generator: Any, p: float) -> torch.Tensor:
        waits = normal.exponential_from_words(_draw_words(_base.numel(tensor), generator))
        return _to_tensor(_raise_to_whole(waits / -math.log1p(-p)), tensor)


def _raise_to_whole(values: Any) -> Any:
    """Return the next whole numbers, 1 at the least."""
    import numpy

    return numpy.maximum(numpy.ceil(values), 1.0)


class _HostGenerator(type):
    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, torch._C.Generator)

    def __call__(cls, device: object = "cpu") -> torch.Generator:
        return torch._C.Generator("cpu")


class Generator(metaclass=_HostGenerator):
    """A generator of any device is one of the CPU: its numbers are drawn there."""


def _install_generator() -> None:
    torch.Generator = Generator
    library = sys.modules.get("torch_npu")
    for name, argument in WITHIN.items():
        if not hasattr(library, name):
            continue

        @replaces(library, name)
        def run_within(
            original: Callable[..., object], *args: object, name: str = name, argument: str = argument, **kwargs: Any
        ) -> object:
            if kwargs.get(argument, 1.0) < 1.0:
                _note("drew_on_device", name=f"torch_npu.{name}")
            return original(*args, **kwargs)


# Layers


class _Dropped:
    """Dropout with masks of the host."""

    @staticmethod
    def drop(
        tensor: torch.Tensor, p: float, shape: Sequence[int] | None = None, *, alpha: bool = False
    ) -> torch.Tensor:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        with torch.no_grad():
            like = torch.empty(
                tensor.shape if shape is None else tuple(shape), dtype=tensor.dtype, device=tensor.device
            )
            noise = _chances(like, None, 1.0 - p)
            if alpha:
                a = 0.0 if p == 1.0 else 1.0 / math.sqrt((ALPHA * ALPHA * p + 1.0) * (1.0 - p))
                added = _raw.add(_raw.mul(_raw.sub(noise, 1.0), ALPHA * a), ALPHA * a * p)
                noise = _raw.mul(noise, a)
            elif p < 1.0:
                noise = _raw.div(noise, 1.0 - p)
        product = _raw.mul(tensor, noise)
        return _raw.add(product, added) if alpha else product


class _Kept:
    """No dropout at all."""

    @staticmethod
    def drop(
        tensor: torch.Tensor, p: float, shape: Sequence[int] | None = None, *, alpha: bool = False
    ) -> torch.Tensor:
        return tensor


def _install_layers(kind: type[_Dropped] | type[_Kept]) -> None:
    def dropout(channels: bool, alpha: bool, in_place_always: bool) -> Callable[..., object]:
        def run(original: object, input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False,
                **kwargs: bool) -> object:  # fmt: skip
            if not kwargs.get("train", training) or p == 0.0 or input.numel() == 0:
                return input
            shape = (*input.shape[:2], *(1,) * (input.dim() - 2)) if channels else None
            dropped = kind.drop(input, p, shape, alpha=alpha)
            return _base.copy_(input, dropped) if (inplace or in_place_always) and dropped is not input else dropped

        return run

    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout"):
        _replace(F, name, dropout(name.startswith("feature"), "alpha" in name, False))
    for name, dimensions in (("dropout1d", 1), ("dropout2d", 2), ("dropout3d", 3)):
        _replace(F, name, _by_channel(dropout(True, False, False), dimensions))
    for name in ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"):
        for suffix in ("", "_"):
            function = dropout(name.startswith("feature"), "alpha" in name, suffix == "_")
            _replace_with_gradient(torch, name + suffix, function)

    def native_dropout(original: object, input: torch.Tensor, p: float, train: bool | None = True) -> object:
        dropped = kind.drop(input, p) if train is not False and p > 0.0 else input
        mask = torch.ones_like(input, dtype=torch.bool) if dropped is input else dropped != 0
        return dropped, mask

    _replace_with_gradient(torch, "native_dropout", native_dropout)

    def run_attention(original: Callable[..., Any], query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                      attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
                      scale: float | None = None, enable_gqa: bool = False) -> object:  # fmt: skip
        more = {"enable_gqa": True} if enable_gqa else {}
        if not dropout_p or kind is _Kept:
            return original(query, key, value, attn_mask, 0.0, is_causal, scale=scale, **more)
        _note("attention_in_parts")
        if enable_gqa:
            times = query.shape[-3] // key.shape[-3]
            key, value = (tensor.repeat_interleave(times, -3) for tensor in (key, value))
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        weights = _raw.mul(_raw.matmul(query, _base.transpose(key, -2, -1)), scale)
        if is_causal:
            attn_mask = torch.ones(weights.shape[-2:], dtype=torch.bool, device=query.device).tril()
        if attn_mask is not None:
            if attn_mask.dtype == torch.bool:
                attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, float("-inf"))
            weights = _raw.add(weights, attn_mask)
        weights = _base.to(_raw.softmax(weights, -1, dtype=torch.float32), value.dtype)
        return _raw.matmul(kind.drop(weights, dropout_p), value)

    _replace(F, "scaled_dot_product_attention", run_attention)
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        replaces(torch._VF, name)(_make_recurrent(kind))


def _by_channel(function: Callable[..., object], dimensions: int) -> Callable[..., object]:
    def run(original: object, input: torch.Tensor, *args: Any, **kwargs: Any) -> object:
        if input.dim() == dimensions + 1:  # one example without a batch
            return function(original, input.unsqueeze(0), *args, **kwargs).squeeze(0)  # type: ignore[attr-defined]
        return function(original, input, *args, **kwargs)

    return run


def _replace_with_gradient(owner: object, name: str, function: Callable[..., object]) -> None:
    builtin = jit_builtins._find_builtin(getattr(owner, name))
    replaces(owner, name)(lambda original, *args, **kwargs: function(original, *args, **kwargs))
    if builtin is not None:
        jit_builtins._register_builtin(getattr(owner, name), builtin)


def _make_recurrent(kind: type[_Dropped] | type[_Kept]) -> Callable[..., object]:
    """Make a recurrent network that runs layer by layer, with the dropout between them."""

    def run_recurrent(original: Callable[..., Any], *args: Any) -> object:
        packed = not isinstance(args[-4], float)
        first = 2 if packed else 1
        data, (hidden, weights, biased, layers, dropout, training, *rest) = args[:first], args[first:]
        if not dropout or not training or layers == 1 or kind is _Kept:
            return original(*data, hidden, weights, biased, layers, 0.0, training, *rest)
        per_layer, directions = len(weights) // layers, 2 if rest[0] else 1
        output, ends = data[0], []
        for layer in range(layers):
            rows = slice(layer * directions, (layer + 1) * directions)
            states = [state[rows] for state in hidden] if isinstance(hidden, (tuple, list)) else hidden[rows]
            own = list(weights[layer * per_layer : (layer + 1) * per_layer])
            output, *end = original(output, *data[1:], states, own, biased, 1, 0.0, training, *rest)
            ends.append(end)
            output = kind.drop(output, dropout) if layer < layers - 1 else output
        return (output, *(_raw.cat(list(parts)) for parts in zip(*ends)))

    return run_recurrent
