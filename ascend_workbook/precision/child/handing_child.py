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
    sides: dict[str, Any], make_given: Any, orders: list[dict[str, Any]], relative: Relative, failures: Any
) -> list[Any]:
    """Per handing {"errors": [target, baseline, rounding, reduced], "makers": target names whose gradient no entry
    shows, "rests": what is left of the target's error when a multiple of that maker's gradient is taken off}; None
    where it cannot be told. `make_given` makes a Given of unit and tracking."""
    answers: list[Any] = []
    for order in orders:
        try:
            answers.append(_judge_handing(sides, make_given, order, relative))
        except failures:
            answers.append(None)
    return answers


def _judge_handing(sides: dict[str, Any], make_given: Any, order: dict[str, Any], relative: Relative) -> dict[str, Any]:
    shares = {name: _shares_of_takers(sides[name], make_given, order, name, 0.0) for name in sides}
    hidden = [at for at, share in enumerate(shares["baseline"]) if not share[1]]
    if not hidden:
        raise ValueError("every gradient is shown where it is made")
    due = {name: torch.stack([gradient for gradient, _ in part]).sum(0) for name, part in shares.items()}
    received = {name: _received_gradient(side, order, name) for name, side in sides.items()}
    errors = [relative(received[name], due[name]) for name in ("target", "baseline")]
    for unit in (order["unit"], order["reduced_unit"]):
        shaken = (
            _shares_of_takers(sides["baseline"], make_given, order, "baseline", unit) if unit else shares["baseline"]
        )
        errors.append(relative(torch.stack([gradient for gradient, _ in shaken]).sum(0), due["baseline"]))
    rests = [_rest_of_error(received["target"] - due["target"], shares["target"][at][0]) for at in hidden]
    return {"errors": errors, "makers": [order["takers"][at]["name"]["target"] for at in hidden], "rests": rests}


def _shares_of_takers(side: Any, make_given: Any, order: dict[str, Any], name: str, unit: float) -> list[Share]:
    """What each taker hands back, in the layout of the receiver's output."""
    output = side.load(order["output"][name])
    return [_share_of_taker(side, make_given, taker, name, unit, output) for taker in order["takers"]]


def _share_of_taker(
    side: Any, make_given: Any, taker: dict[str, Any], name: str, unit: float, output: torch.Tensor
) -> Share:
    entry, record = side.data[taker["name"][name]], taker["taken"][name]
    run = make_given(unit, True)
    result = side.forward(taker["name"][name], run)
    leaf, leaf_node = run.leaves[record["data_name"]]
    before = [node for node, _ in side.last_node(result).next_functions]
    taken = side.load(record)
    if leaf_node in before:
        shown = run.shake_values(side.load(entry["output"][before.index(leaf_node)]).double())
        return _match_layout(shown, taken, output), True
    side.turn(result, entry, run)
    return _match_layout(leaf.grad, taken, output), False


def _received_gradient(side: Any, order: dict[str, Any], name: str) -> torch.Tensor:
    gradient: torch.Tensor = side.load(side.data[order["receiver"][name]]["input"][order["index"]])
    return gradient.double()


def _match_layout(gradient: torch.Tensor, taken: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
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


def _rest_of_error(error: torch.Tensor, gradient: torch.Tensor) -> float:
    """How much of the error is left when the best multiple of this taker's gradient is taken off."""
    size, length = float(error.norm()), float(gradient.norm())
    if not (math.isfinite(size) and size > 0 and length > 0):
        return 1.0  # a NaN is no multiple of anything
    along = gradient * (float((gradient * error).sum()) / length**2)
    return float((error - along).norm()) / size
