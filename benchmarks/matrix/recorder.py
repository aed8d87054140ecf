"""Records every API call of a forward and backward in msprobe's L1 layout, in this process and in milliseconds.

What is recorded follows mindstudio-probe 26.2: names `Functional|Tensor|Torch.<api>.<call>.<direction>`, the APIs of
its support_wrap_ops.yaml, inputs before the call, and of a backward the last autograd node only. The real msprobe
records the same models beside it (real.py), so that the layout is held to the original.
"""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

#: The part of msprobe's list that such networks call.
WRAPPED = {
    "Functional": (
        "linear",
        "relu",
        "gelu",
        "softmax",
        "layer_norm",
        "batch_norm",
        "embedding",
        "conv2d",
        "max_pool2d",
        "cross_entropy",
        "group_norm",
        "silu",
        "avg_pool2d",
        "interpolate",
        "dropout",
        "mse_loss",
        "scaled_dot_product_attention",
    ),
    "Torch": ("matmul", "mean", "sigmoid", "tanh", "stack", "cat", "exp", "sin", "cos", "sqrt", "cumsum", "gather"),
    "Tensor": ("add", "mul", "sub", "div", "masked_fill", "chunk", "split", "mean", "__getitem__", "reshape"),
}
HOMES = {"Functional": F, "Torch": torch, "Tensor": Tensor}
VIEWS = ("View", "Transpose", "Expand", "TBackward", "Reshape", "Clone", "Squeeze")
#: Nodes that belong to what is given, not to the call.
ENDS = ("AccumulateGrad", "_Through")
Change = Callable[[Any, tuple[Any, ...], "dict[str, Any]", Any], Any]


@dataclass
class Call:
    """One API call. `shown`: a wrong gradient of its heaviest node shows in some entry, its own or the one before."""

    head: str
    number: int
    shown: bool
    inputs: tuple[Any, ...]
    named: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.head}.{self.number}"

    @property
    def api(self) -> str:
        return self.head.rpartition(".")[2]


@dataclass
class Tampering:
    """What is done to the run: `forward` and `backward` by call name (the backward one on its heaviest node),
    `arguments` before a call by name; `reduced` for every call (a reduced format). `sizes`: what a change of values
    came to, relative L2, once it has been made."""

    forward: dict[str, Change] = field(default_factory=dict)
    backward: dict[str, Callable[[Any, Any], Any]] = field(default_factory=dict)
    arguments: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], Any]] = field(default_factory=dict)
    reduced: Callable[[str, Tensor], Tensor] | None = None
    sizes: list[float] = field(default_factory=list)


class Recorder(TorchFunctionMode):
    """`data` is dump.json's content after the run; `calls` the forward calls in their order."""

    def __init__(self, folder: Path | None, tampering: Tampering | None = None) -> None:
        super().__init__()
        self.files = folder / "dump_tensor_data" if folder else None
        if self.files:
            self.files.mkdir(parents=True)
        self.tampering = tampering or Tampering()
        self.count: Counter[str] = Counter()
        self.data: dict[str, Any] = {}
        self.calls: list[Call] = []
        self.known = _names()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        head = self.known.get(func)
        if head is None or not any(isinstance(item, Tensor) for item in _flat([args, kwargs])):
            return func(*args, **kwargs)
        call = f"{head}.{self.count[head]}"
        self.count[head] += 1
        if call in self.tampering.arguments:
            args, kwargs = self.tampering.arguments[call](args, kwargs)
        entry = self._given(f"{call}.forward", args, kwargs)
        out = self._run(call, func, args, kwargs)
        entry["output"] = [self._value(item, f"{call}.forward.output.{i}") for i, item in enumerate(_several(out))]
        self.data[f"{call}.forward"] = entry
        nodes = _own_nodes(out, args, kwargs)
        shown = bool(nodes) and (heavy(nodes) is nodes[0] or getattr(args[0], "requires_grad", False))
        self.calls.append(Call(head, int(call.rpartition(".")[2]), shown, args, kwargs))
        self._watch(call, nodes, out)
        return out

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        task = "tensor" if self.files else "statistics"
        content = {"task": task, "level": "L1", "framework": "pytorch", "dump_data_dir": str(self.files or "")}
        (folder / "dump.json").write_text(json.dumps({**content, "data": self.data}), encoding="utf-8")
        frames = ["File /home/user/train.py, line 1, in forward, \n x"]
        (folder / "stack.json").write_text(json.dumps({"0": [list(self.data), frames]}), encoding="utf-8")
        (folder / "construct.json").write_text("{}", encoding="utf-8")

    def _run(self, call: str, func: Any, args: Any, kwargs: Any) -> Any:
        given, named = args, kwargs
        coarse = self.tampering.reduced
        api = call.split(".")[1]
        if coarse is not None:
            given = tuple(_Through.apply(v, coarse(api, v)) if _real(v) else v for v in args)
        out = func(*given, **named)
        if coarse is not None and isinstance(out, Tensor) and out.grad_fn is not None:
            heavy = _own_nodes(out, given, named)[-1:] or [out.grad_fn]
            heavy[0].register_prehook(lambda grads: tuple(None if g is None else coarse(api, g) for g in grads))
        change = self.tampering.forward.get(call)
        if change is not None:
            with torch.no_grad():
                plain = tuple(v.detach() if isinstance(v, Tensor) else v for v in args)
                result = _several(out)[0]
                copy = result.detach().clone(memory_format=torch.contiguous_format)
                before = copy.clone()
                result.data.copy_(change(func, plain, kwargs, copy))
                self.tampering.sizes.append(apart([result], [before]))
        return out

    def _given(self, name: str, args: Any, kwargs: Any) -> dict[str, Any]:
        given = [self._value(item, f"{name}.input.{i}") for i, item in enumerate(args)]
        named = {key: self._value(item, f"{name}.input.{key}") for key, item in kwargs.items()}
        return {"input_args": given, "input_kwargs": named}

    def _watch(self, call: str, nodes: list[Any], out: Any) -> None:
        """The fault on the node that computes, then what msprobe would see: the last node, after its hooks."""
        if not nodes:
            return
        change = self.tampering.backward.get(call)
        if change is not None:
            heavy(nodes).register_hook(lambda outgoing, incoming: self._changed(change, outgoing, incoming))
        name = f"{call}.backward"

        def record(outgoing: Any, incoming: Any) -> None:
            sides = {"input": incoming, "output": outgoing}
            self.data[name] = {
                side: [self._value(item, f"{name}.{side}.{i}") for i, item in enumerate(values)]
                for side, values in sides.items()
            }

        nodes[0].register_hook(record)

    def _changed(self, change: Callable[[Any, Any], Any], outgoing: Any, incoming: Any) -> Any:
        wrong = change(outgoing, incoming)
        self.tampering.sizes.append(apart(wrong, outgoing))
        return wrong

    def _value(self, value: Any, name: str) -> Any:
        if value is None:
            return None
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return [self._value(item, f"{name}.{index}") for index, item in enumerate(value)]
        if isinstance(value, slice):
            return {"type": "slice", "value": [value.start, value.stop, value.step]}
        if not isinstance(value, Tensor):
            shown = value if isinstance(value, (int, float, bool)) else str(value)
            return {"type": type(value).__name__, "value": shown}
        plain = value.detach()
        entry = {
            "type": "torch.Tensor",
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "requires_grad": value.requires_grad,
        }
        wide = plain.double() if plain.numel() else torch.zeros(1).double()
        numbers = {"Max": wide.max(), "Min": wide.min(), "Mean": wide.mean(), "Norm": wide.norm()}
        entry.update({key: number.item() for key, number in numbers.items()})
        if self.files:
            entry["data_name"] = f"{name}.pt"
            torch.save(plain.clone(memory_format=torch.contiguous_format), self.files / entry["data_name"])
        return entry


class _Through(torch.autograd.Function):
    """The rounded value forward, the gradient as it is."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, rounded: Tensor) -> Tensor:  # type: ignore[override]
        return rounded.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return grad, None


def apart(changed: Any, before: Any) -> float:
    """The largest relative L2 change of several tensors; infinite where a value is no number any more."""
    sizes = [
        float((a.double() - b.double()).norm() / b.double().norm().clamp_min(1e-30))
        for a, b in zip(changed, before)
        if a is not None and b is not None
    ]
    return max((size if math.isfinite(size) else math.inf for size in sizes), default=0.0)


def heavy(nodes: list[Any]) -> Any:
    """Of an API's nodes the one that computes: the last that is no view."""
    working = [node for node in nodes if not any(word in node.name() for word in VIEWS)]
    return (working or nodes)[-1]


def _own_nodes(out: Any, args: Any, kwargs: Any) -> list[Any]:
    """The autograd nodes of this call from its output down to its inputs', first the one msprobe hooks."""
    start = next((item.grad_fn for item in _several(out) if isinstance(item, Tensor)), None)
    ends = {item.grad_fn for item in _flat([args, kwargs]) if isinstance(item, Tensor)}
    found: list[Any] = []
    queue = [start]
    while queue:
        node = queue.pop(0)
        if node is None or node in ends or node in found or any(word in node.name() for word in ENDS):
            continue
        found.append(node)
        queue += [parent for parent, _ in node.next_functions]
    return found


@functools.cache
def _names() -> dict[Any, str]:
    found = {}
    for kind, names in WRAPPED.items():
        for name in names:
            found.setdefault(getattr(HOMES[kind], name), f"{kind}.{name}")
    return found


def _several(out: Any) -> Any:
    return out if isinstance(out, (list, tuple)) else (out,)


def _real(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _flat(item)]
    return [value]
