"""What operators hand back in backward: the gradient that one receives, against what its takers' own inputs make of it.

msprobe records of an API's backward the last autograd node alone, which is often a view. The gradient that such an API
computes is recorded once more, as what the operator before it receives. A handing is {"receiver": {side: entry},
"index": which gradient, "output": {side: the tensor's forward record}, "takers": [{"name": {side: entry}, "taken":
{side: forward record}}], "unit", "reduced_unit"}. Each taker's whole backward is run again in float64 from its saved
inputs and its saved incoming gradient; where its own entry shows the gradient, that is taken instead, so that only what
no entry shows is judged here. Loaded by replay_child.py, whose Side does the work.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Callable

import torch

Relative = Callable[[torch.Tensor, torch.Tensor], float]
#: A gradient, and whether the taker's entry shows it.
Share = tuple[torch.Tensor, bool]


def all_of(
    sides: dict[str, Any], given: Any, orders: list[dict[str, Any]], relative: Relative, failures: Any
) -> list[Any]:
    """Per handing {"errors": [target, baseline, rounding, reduced], "makers": target names whose gradient no entry
    shows, "rests": what is left of the target's error when a multiple of that maker's gradient is taken off}; None
    where it cannot be told. `given` makes a Given of unit and tracking."""
    found: list[Any] = []
    for order in orders:
        try:
            found.append(_one(sides, given, order, relative))
        except failures:
            found.append(None)
    return found


def _one(sides: dict[str, Any], given: Any, order: dict[str, Any], relative: Relative) -> dict[str, Any]:
    shares = {name: _shares(sides[name], given, order, name, 0.0) for name in sides}
    hidden = [at for at, share in enumerate(shares["baseline"]) if not share[1]]
    if not hidden:
        raise ValueError("every gradient is shown where it is made")
    due = {name: torch.stack([gradient for gradient, _ in part]).sum(0) for name, part in shares.items()}
    received = {name: _received(side, order, name) for name, side in sides.items()}
    errors = [relative(received[name], due[name]) for name in ("target", "baseline")]
    for unit in (order["unit"], order["reduced_unit"]):
        shaken = _shares(sides["baseline"], given, order, "baseline", unit) if unit else shares["baseline"]
        errors.append(relative(torch.stack([gradient for gradient, _ in shaken]).sum(0), due["baseline"]))
    rests = [_rest(received["target"] - due["target"], shares["target"][at][0]) for at in hidden]
    return {"errors": errors, "makers": [order["takers"][at]["name"]["target"] for at in hidden], "rests": rests}


def _shares(side: Any, given: Any, order: dict[str, Any], name: str, unit: float) -> list[Share]:
    """What each taker hands back, in the layout of the receiver's output."""
    output = side.load(order["output"][name])
    return [_share(side, given, taker, name, unit, output) for taker in order["takers"]]


def _share(side: Any, given: Any, taker: dict[str, Any], name: str, unit: float, output: torch.Tensor) -> Share:
    entry, record = side.data[taker["name"][name]], taker["taken"][name]
    run = given(unit, True)
    result = side.forward(taker["name"][name], run)
    leaf, made = run.leaves[record["data_name"]]
    before = [node for node, _ in side.last_node(result).next_functions]
    taken = side.load(record)
    if made in before:
        shown = run.shaken(side.load(entry["output"][before.index(made)]).double())
        return _placed(shown, taken, output), True
    side.turn(result, entry, run)
    return _placed(leaf.grad, taken, output), False


def _received(side: Any, order: dict[str, Any], name: str) -> torch.Tensor:
    gradient: torch.Tensor = side.load(side.data[order["receiver"][name]]["input"][order["index"]])
    return gradient.double()


def _placed(gradient: torch.Tensor, taken: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """The gradient in the layout of `output`, whose values `taken` holds behind views: dimensions split and then
    swapped, or swapped and then joined."""
    for swap in itertools.permutations(range(taken.dim())):
        back = [swap.index(axis) for axis in range(taken.dim())]
        if torch.equal(output.reshape([taken.shape[at] for at in back]).permute(swap), taken):
            return gradient.permute(back).reshape(output.shape)
    for swap in itertools.permutations(range(output.dim())):
        if torch.equal(output.permute(swap).reshape(taken.shape), taken):
            back = [swap.index(axis) for axis in range(output.dim())]
            return gradient.reshape([output.shape[at] for at in swap]).permute(back)
    raise ValueError("the layout between cannot be told")


def _rest(error: torch.Tensor, made: torch.Tensor) -> float:
    """How much of the error is left when the best multiple of this taker's gradient is taken off."""
    size, length = float(error.norm()), float(made.norm())
    if not (math.isfinite(size) and size > 0 and length > 0):
        return 1.0  # a NaN is no multiple of anything
    along = made * (float((made * error).sum()) / length**2)
    return float((error - along).norm()) / size
