"""ACC268: do the two sides compute the update in another form: fused, foreach, or one tensor after the other? Each
rounds in another order, and a fused kernel is code of its own that may be wrong by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import Seen, told
from helpers.precision.rules import update
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC268"
SOURCE = "https://docs.pytorch.org/docs/stable/optim.html#algorithms"
FUSED = "https://www.hiascend.com/document/detail/zh/Pytorch/700/apiref/apilist/ptaoplist_000655.html"


def check(seen: Seen) -> Iterator[Finding]:
    sides = seen.comparison.baseline, seen.comparison.target
    made = [told(side, "optimizers") for side in sides]
    if not made[0] or not made[1]:
        raise CannotCheck("ACC268.no_record")
    tiers = [side.about.tier if side.about else "" for side in sides]
    forms = [[_form(one, tier) for one in some] for some, tier in zip(made, tiers)]
    differ = [(left, right, one) for left, right, one in zip(*forms, made[1]) if left != right]
    if not differ:
        return
    left, right, one = differ[0]
    parted = any(found.key == "ACC235.parted" for found in update.check(seen.comparison))
    key = "parted" if parted else "differ" if update.following(seen.comparison) else "unseen"
    npu = one["class"].startswith("NpuFused")
    args: dict[str, Scalar] = {"name": one["class"], "baseline": left, "target": right, "count": len(differ),
                               "plain": one["class"].replace("NpuFused", ""),
                               "source": FUSED if npu else SOURCE}  # fmt: skip
    yield Finding(CODE, Status.WARN if parted else Status.NOTE, f"ACC268.{key}", args, weight=65)


def _form(optimizer: dict[str, Any], tier: str) -> str:
    """fused, foreach or for-loop; where the script leaves it open torch takes foreach on an accelerator."""
    name, group = str(optimizer["class"]), (optimizer.get("groups") or [{}])[0]
    if name.startswith(("NpuFused", "Fused")) or group.get("fused"):
        return "fused"
    if group.get("foreach") is None:
        return "for-loop" if tier == "cpu" or "foreach" not in group else "foreach"
    return "foreach" if group["foreach"] else "for-loop"
