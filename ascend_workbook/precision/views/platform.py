"""What each side ran on: device, numerics and versions, as a comparison's facts keep it and a reader sees it."""

from __future__ import annotations

from typing import Any

from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.capturing.withheld import make_portable
from ascend_workbook.precision.comparison import Side

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: Shown in this order; a fact that neither side has is left out.
SHOWN = """
tier device simulated numerics conv matmul faults torch torch_npu cann python script args seed draws
rm_dropout steps level task nproc
""".split()

#: Of two devices these differ, and nothing is wrong with that.
OF_DEVICE = ("tier", "device", "simulated", "numerics", "torch_npu", "cann")
#: Formats that a side may round float32 inputs to: the tolerances of the comparison allow for them.
FORMATS = ("conv", "matmul")
DIFFERS = "platform.differs"


def platform_facts(side: Side) -> dict[str, object]:
    """Return what one capture ran on, as plain JSON; empty for a plain dump, which does not record it."""
    if side.about is None:
        return {}
    details, numerics = side.about.about, side.about.numerics
    simulator = details.get("simulator") or {}
    recorded = {**(details.get("versions") or {}), **details}
    return {
        **{name: recorded[name] for name in SHOWN if name in recorded},
        "simulated": side.about.tier == "npu-simulated",
        "numerics": simulator.get("numerics"),
        "faults": list(simulator.get("faults") or []),
        "conv": numerics.get("conv"),
        "matmul": numerics.get("matmul"),
    }


def platform_table(comparison: Report) -> Table:
    """List each fact in a row: what the baseline has, what the target, whether they are equal."""
    sides: list[dict[str, object]] = comparison.facts.get("sides") or [{}, {}]
    rows: list[tuple[Scalar, ...]] = []
    for name in SHOWN:
        values: list[Scalar] = [_plain_value(side.get(name)) for side in sides]
        if any(value is not None for value in values):
            rows.append((Sentence(f"platform.{name}"), *values, Sentence(f"platform.{_compare_fact(name, sides)}")))
    return Table(tuple(map(Column, ("what", "baseline", "target", "same"))), tuple(rows))


def _compare_fact(name: str, sides: list[dict[str, Any]]) -> str:
    values = [side.get(name) for side in sides]
    if _plain_value(values[0]) == _plain_value(values[1]):
        return "same"
    if name in OF_DEVICE and len({side.get("tier") for side in sides}) > 1:
        return "must"
    if name == "args" and len({tuple(make_portable(value or ())) for value in values}) == 1:
        return "folders"
    if name == "torch" and len({str(value).partition("+")[0] for value in values}) == 1:
        return "build"
    if name in FORMATS:  # a simulated NPU may allow one, and its CPU kernels not round to it
        return "idle" if all(side.get("numerics") == "cpu" for side in sides if side.get(name)) else "allowed"
    return "differs"


def _plain_value(value: object) -> Scalar:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, (str, int, float)):
        return value or None if isinstance(value, str) else value
    return " ".join(map(str, value)) or None if isinstance(value, (list, tuple)) else str(value)
