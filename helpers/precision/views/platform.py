"""What each side ran on: device, numerics and versions, as a comparison's facts keep it and a reader sees it."""

from __future__ import annotations

from typing import Any

from helpers.precision.capturing.portable import portable
from helpers.precision.comparison import Side
from helpers.report import Column, Report, Table
from helpers.words import Scalar

#: Shown in this order; a fact that neither side has is left out.
SHOWN = ("tier", "device", "simulated", "numerics", "conv", "matmul", "faults", "torch", "torch_npu", "cann", "python",
         "script", "args", "seed", "steps", "level", "task", "nproc")  # fmt: skip

#: Of two devices these differ, and nothing is wrong with that.
OF_DEVICE = ("tier", "device", "simulated", "numerics", "torch_npu", "cann")
#: Formats that a side may round float32 inputs to: the tolerances of the comparison allow for them.
FORMATS = ("conv", "matmul")
DIFFERS = "platform.differs"


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
    for name in SHOWN:
        values: list[Scalar] = [_plain(side.get(name)) for side in sides]
        if any(value is not None for value in values):
            rows.append(({"say": f"platform.{name}"}, *values, {"say": f"platform.{_same(name, sides)}"}))
    return Table(tuple(map(Column, ("what", "baseline", "target", "same"))), tuple(rows))


def beside(table: Table) -> list[Scalar]:
    """What differs by the table although neither the devices nor the tolerances answer for it."""
    return [what for what, same in zip(table.values("what"), table.values("same")) if same == {"say": DIFFERS}]


def _same(name: str, sides: list[dict[str, Any]]) -> str:
    values = [side.get(name) for side in sides]
    if _plain(values[0]) == _plain(values[1]):
        return "same"
    if name in OF_DEVICE and len({side.get("tier") for side in sides}) > 1:
        return "must"
    if name == "args" and len({tuple(portable(value or ())) for value in values}) == 1:
        return "folders"
    if name == "torch" and len({str(value).partition("+")[0] for value in values}) == 1:
        return "build"
    if name in FORMATS:  # a simulated NPU may allow one, and its CPU kernels not round to it
        return "idle" if all(side.get("numerics") == "cpu" for side in sides if side.get(name)) else "allowed"
    return "differs"


def _plain(value: Any) -> Scalar:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, (str, int, float)):
        return value or None if isinstance(value, str) else value
    return " ".join(map(str, value)) or None if isinstance(value, (list, tuple)) else str(value)
