"""What a step leaves: buffers, and averages of the weights."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from ascend_workbook.precision.state.judge import BUFFER, COPY, Judge
from ascend_workbook.precision.state.reading import Step
from ascend_workbook.precision.state.sketches import find_factor


def judge_buffers(judge: Judge, left: Step, right: Step) -> None:
    number = left.number
    common = [
        name
        for name in left.buffers
        if name in right.buffers and name in left.buffers_before and name in right.buffers_before
    ]
    errors: dict[str, float] = {}
    stale, counted = [], []
    for name in common:
        changes = [side.buffers[name].sketch - side.buffers_before[name].sketch for side in (left, right)]
        sizes = [float(np.linalg.norm(change)) for change in changes]
        whole = left.buffers[name].dtype in ("int64", "int32", "bool")
        if whole:
            if abs(sizes[0] - sizes[1]) > 0.5:
                counted.append(name)
            continue
        if bool(sizes[0]) != bool(sizes[1]):
            stale.append(name)
        elif sizes[0]:
            apart = float(np.linalg.norm(changes[0] - changes[1]))
            # of a value that hardly changes, rounding of the value itself
            errors[name] = apart / max(sizes[0], 1e-4 * left.buffers[name].norm)
    if stale:
        frozen = (
            "target"
            if any(np.array_equal(right.buffers[n].sketch, right.buffers_before[n].sketch) for n in stale)
            else "baseline"
        )
        judge.tell(number, BUFFER, "stale", stale, count=len(stale), side=frozen)
    if counted:
        judge.tell(number, BUFFER, "count", counted, count=len(counted))
    if number >= min(judge.known.data_from, judge.known.parted_from) or not errors:
        return
    allowed = max((2e-3, 0.15)[judge.level] * (1 if judge.left is None else 5), min(10 * judge.noise, 0.3))
    judge.add_row(number, "buffer", errors, allowed)
    wrong = sorted((name for name in errors if errors[name] > allowed), key=lambda name: -errors[name])
    if wrong and not stale and not judge.parted:
        factors = {}
        for name in wrong:
            changes = [side.buffers[name].sketch - side.buffers_before[name].sketch for side in (left, right)]
            factor = find_factor(changes[0], changes[1], 0.03)
            if factor is not None:
                factors[name] = factor
        detail = "factor" if len(factors) == len(wrong) else "other"
        args: dict[str, Any] = {"error": errors[wrong[0]], "allowed": allowed, "count": len(wrong)}
        if detail == "factor":
            args["factor"] = factors[wrong[0]]
        judge.tell(number, BUFFER, detail, wrong, **args)


def judge_copies(judge: Judge, left: Step, right: Step, left_next: Step, right_next: Step) -> None:
    """An average of the weights moves by a share of the way to them: the share must be the same."""
    number = left.number
    shares: list[dict[str, float]] = []
    for side, following in ((left, left_next), (right, right_next)):
        weights: dict[str, Any] = {}
        for update in side.updates:
            weights.update({name: update.weights[name].sketch + update.updates[name].sketch for name in update.updates})
        own = {}
        for key in side.copies.keys() & following.copies.keys():
            name = key.partition(".")[2]
            name = name if name in weights else name.removeprefix("module.") if hasattr(name, "removeprefix") else name
            if name not in weights:
                continue
            way, moved = (
                weights[name] - side.copies[key].sketch,
                following.copies[key].sketch - side.copies[key].sketch,
            )
            size = float(way @ way)
            if size > 1e-14 * max(side.copies[key].norm, 1e-30) ** 2 and size:
                own[key] = float(way @ moved) / size
        shares.append(own)
    common = sorted(shares[0].keys() & shares[1].keys())
    if not common:
        return
    reference, other = (median([side[key] for key in common]) for side in shares)
    if abs(reference - other) > 0.02 * max(abs(reference), abs(other)) + 1e-4:
        detail = "stale" if abs(other) < 1e-3 * abs(reference) else "share"
        judge.tell(
            number,
            COPY,
            detail,
            [key.partition(".")[2] for key in common],
            baseline=1 - reference,
            target=1 - other,
            count=len(common),
        )
