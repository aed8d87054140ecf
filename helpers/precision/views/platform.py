"""What each side ran on: device, numerics and versions, as a comparison's facts keep it and a reader sees it."""

from __future__ import annotations

from typing import Any

from helpers.precision.comparison import Side
from helpers.report import Column, Report, Table
from helpers.words import Scalar

#: Shown in this order; a fact that neither side has is left out.
SHOWN = ("tier", "device", "simulated", "numerics", "conv", "matmul", "faults", "torch", "torch_npu", "cann", "python",
         "script", "args", "seed", "steps", "level", "task", "nproc")  # fmt: skip

#: Of two devices these differ, and nothing is wrong with that.
OF_DEVICE = ("tier", "device", "simulated", "numerics", "torch_npu", "cann")


def about(side: Side) -> dict[str, Any]:
    """Of one capture, as plain JSON; empty for a plain dump, of which nothing of the kind is recorded."""
    if side.about is None:
        return {}
    told = side.about.about
    simulator = told.get("simulator") or {}
    named = {name: told.get(name) for name in SHOWN if name in told}
    versions = {name: value for name, value in dict(told.get("versions") or {}).items() if name in SHOWN}
    return {**versions, **named, "simulated": side.about.tier == "npu-simulated",
            "numerics": simulator.get("numerics"), "faults": list(simulator.get("faults") or []),
            "conv": side.about.numerics.get("conv"), "matmul": side.about.numerics.get("matmul")}  # fmt: skip


def table(comparison: Report) -> Table:
    """A row for each fact: what the baseline has, what the target, whether they are equal."""
    sides: list[dict[str, Any]] = comparison.facts.get("sides") or [{}, {}]
    rows: list[tuple[Scalar, ...]] = []
    two = len({side.get("tier") for side in sides}) > 1
    for name in SHOWN:
        values: list[Scalar] = [_plain(side.get(name)) for side in sides]
        if any(value is not None for value in values):
            same = "same" if values[0] == values[1] else "must" if two and name in OF_DEVICE else "differs"
            rows.append(({"say": f"platform.{name}"}, *values, {"say": f"platform.{same}"}))
    return Table(tuple(map(Column, ("what", "baseline", "target", "same"))), tuple(rows))


def _plain(value: Any) -> Scalar:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, (str, int, float)):
        return value or None if isinstance(value, str) else value
    return " ".join(map(str, value)) or None if isinstance(value, (list, tuple)) else str(value)
