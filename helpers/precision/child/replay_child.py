"""Child process: `replay_child.py JOB ANSWER`. Runs recorded operators again in float64 on the CPU.

Started by path; imports torch and nothing of ours. Only API names on the job's list are ever looked up, so a
dump from elsewhere cannot call anything else.
Answers {"found": {name: [per output [target, baseline, rounding, reduced]]}, "skipped": {name: why}}.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import torch

#: Bytes of recorded tensors per operator and side; larger ones are judged by amplification.
LIMIT = 1 << 29
HOMES = {"Functional": torch.nn.functional, "Torch": torch, "Tensor": torch.Tensor}


class CannotReplay(Exception):
    """The record lacks something the operator needs; the reason is a word that the parent can say."""


class Side:
    """One run's dump: entries by name, tensors from its folder."""

    def __init__(self, folder: str, allowed: dict[str, list[str]]) -> None:
        self.files = Path(folder) / "dump_tensor_data"
        self.data = json.loads((Path(folder) / "dump.json").read_text(encoding="utf-8"))["data"]
        self.allowed = allowed

    def outputs(self, name: str) -> list[Any]:
        """The recorded outputs as a flat list; None stays None."""
        return [self._load(item) if item else None for item in _leaves(self.data[name]["output"])]

    def run(self, name: str, unit: float) -> list[Any]:
        """The outputs again in float64; inputs shaken by up to `unit`, relative."""
        head, call, direction = name.rsplit(".", 2)
        forward = f"{head}.{call}.forward"
        if forward not in self.data:
            raise CannotReplay("no_forward")
        shaking = torch.Generator().manual_seed(0)
        with torch.set_grad_enabled(direction == "backward"):
            result = self._forward(head, self.data[forward], unit, shaking, direction == "backward")
        if direction == "forward":
            return [item if isinstance(item, torch.Tensor) else None for item in _flat(result)]
        return self._backward(result, self.data[name], unit, shaking)

    def _forward(self, head: str, entry: Any, unit: float, shaking: torch.Generator, track: bool) -> Any:
        kind, _, api = head.partition(".")
        if api not in self.allowed.get(kind, ()):
            raise CannotReplay("not_listed")
        arguments = [self._value(item, unit, shaking, track) for item in entry["input_args"]]
        named = {key: self._value(item, unit, shaking, track) for key, item in entry["input_kwargs"].items()}
        _refuse_random(api, arguments, named)
        return getattr(HOMES[kind], api)(*arguments, **named)

    def _backward(self, result: Any, entry: Any, unit: float, shaking: torch.Generator) -> list[Any]:
        """The last autograd node alone, as msprobe records it (pt_hook_manager.py, _register_backward_pre_hook)."""
        first = next((item for item in _flat(result) if isinstance(item, torch.Tensor)), None)
        if first is None or first.grad_fn is None:
            raise CannotReplay("no_forward")
        incoming = [self._value(item, unit, shaking, False) for item in entry["input"]]
        seen: list[Any] = []
        # through the engine, not by calling the node: it sums gradients of broadcast inputs before hooks see them
        first.grad_fn.register_hook(lambda outgoing, _: seen.append(outgoing))
        roots = [item for item in _flat(result) if isinstance(item, torch.Tensor) and item.grad_fn is first.grad_fn]
        torch.autograd.backward(roots, [incoming[item.output_nr] for item in roots])
        return list(seen[0])

    def _value(self, item: Any, unit: float, shaking: torch.Generator, track: bool) -> Any:
        if item is None:
            return None
        if isinstance(item, list):
            return [self._value(part, unit, shaking, track) for part in item]
        kind = item.get("type", "")
        if kind == "torch.dtype":
            dtype = getattr(torch, item["value"].rpartition(".")[2])
            return torch.float64 if dtype.is_floating_point else dtype
        if kind in ("int", "float", "bool", "str"):
            return item["value"]
        if kind == "slice":
            return slice(*item["value"])
        if kind == "torch.Size":
            return torch.Size(item["value"])
        if "data_name" in item:
            return self._input(item, unit, shaking, track)
        raise CannotReplay("argument")

    def _input(self, item: Any, unit: float, shaking: torch.Generator, track: bool) -> torch.Tensor:
        values: torch.Tensor = self._load(item)
        if not values.is_floating_point():
            return values
        values = values.double()
        if unit:
            values = values * (1 + unit * (2 * torch.rand(values.shape, generator=shaking, dtype=torch.float64) - 1))
        # a copy: an operator may write into its argument, which autograd forbids on a leaf
        return values.requires_grad_().clone() if track and item.get("requires_grad") else values.clone()

    def _load(self, item: Any) -> torch.Tensor:
        name = item.get("data_name", "")
        if not name or Path(name).name != name:
            raise CannotReplay("not_saved")
        if math.prod(item["shape"]) * 8 > LIMIT:
            raise CannotReplay("too_large")
        values: torch.Tensor = torch.load(self.files / name, map_location="cpu", weights_only=True)
        return values.detach()


def main(question: str, answer: str) -> None:
    job = json.loads(Path(question).read_text(encoding="utf-8"))
    sides = {name: Side(job[name], job["allowed"]) for name in ("target", "baseline")}
    found: dict[str, list[list[float]]] = {}
    skipped: dict[str, str] = {}
    for order in job["operators"]:
        try:
            found[order["target"]] = _one(sides, order)
        except (CannotReplay, RuntimeError, TypeError, ValueError, LookupError, NotImplementedError, OSError) as why:
            skipped[order["target"]] = str(why) if isinstance(why, CannotReplay) else "failed"
    Path(answer).write_text(json.dumps({"found": found, "skipped": skipped}), encoding="utf-8")


def _one(sides: dict[str, Side], order: dict[str, Any]) -> list[list[float]]:
    """Per output: the target's and the baseline's own error, the effect of one rounding and of a reduced one."""
    truth = sides["baseline"].run(order["baseline"], 0.0)
    columns = [
        _apart(sides["target"].outputs(order["target"]), sides["target"].run(order["target"], 0.0)),
        _apart(sides["baseline"].outputs(order["baseline"]), truth),
    ]
    recorded = [item is not None for item in sides["baseline"].outputs(order["baseline"])]
    for unit in (order["unit"], order["reduced_unit"]):
        shaken = sides["baseline"].run(order["baseline"], unit) if unit else truth
        columns.append(_apart([item if keep else None for item, keep in zip(shaken, recorded)], truth))
    return [list(row) for row in zip(*columns)]


def _apart(found: list[Any], truth: list[Any]) -> list[float]:
    """The relative L2 error of each recorded floating output. Outputs that do not correspond cannot be replayed."""
    pairs = list(zip(found, truth))
    if len(found) != len(truth) or any(a is not None and (b is None or a.shape != b.shape) for a, b in pairs):
        raise CannotReplay("other_outputs")
    return [_relative(a, b) for a, b in pairs if a is not None and a.is_floating_point()]


def _relative(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a.double().detach(), b.double().detach()
    same = (a == b) | (a.isnan() & b.isnan())
    if not bool((same | (a.isfinite() & b.isfinite())).all()):
        return math.inf
    a, b = a[a.isfinite()], b[b.isfinite()]
    apart, size = float((a - b).norm()), float(b.norm())
    return apart / size if size > 0 else (0.0 if apart == 0 else math.inf)


def _refuse_random(api: str, arguments: list[Any], named: dict[str, Any]) -> None:
    if api == "dropout" and not (named.get("p", (arguments + [0.5])[1]) == 0 or named.get("training") is False):
        raise CannotReplay("random")
    if api == "scaled_dot_product_attention" and (named.get("dropout_p") or any(arguments[4:5])):
        raise CannotReplay("random")


def _leaves(part: Any) -> list[Any]:
    """Tensors of a recorded output in order; other values are passed over."""
    if isinstance(part, list):
        return [leaf for item in part for leaf in _leaves(item)]
    return [part if isinstance(part, dict) and "shape" in part else None]


def _flat(result: Any) -> list[Any]:
    return [leaf for item in result for leaf in _flat(item)] if isinstance(result, (list, tuple)) else [result]


if __name__ == "__main__":
    main(*sys.argv[1:])
