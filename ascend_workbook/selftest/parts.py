"""The parts of a self-test: what each looks at, how long it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ascend_workbook.environment import environment_check
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.device import Device
from ascend_workbook.selftest.collectives import check_collectives
from ascend_workbook.selftest.operators import check_operators
from ascend_workbook.selftest.profiler import check_profiler
from ascend_workbook.selftest.scripts import check_scripts


@dataclass(frozen=True)
class Part:
    """`look(device, budget_s)` gives its report, in a child of its own; `always`: it needs no device.

    The budget is what a part divides among its own children, so that it comes to its end, with what it has found,
    before `timeout_s` ends it.
    """

    name: str
    look: Callable[[Device, float], Report]
    timeout_s: float
    always: bool = False

    def run_within(self, device: Device, timeout_s: float | None = None) -> Report:
        """Its report; a tenth of the time is kept for starting and for writing."""
        return self.look(device, 0.9 * (timeout_s or self.timeout_s))


def check_machine(device: Device, budget_s: float) -> Report:
    """The whole check of the environment, computation included."""
    return environment_check(device.tier)


PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        Part("check", check_machine, 900.0, always=True),
        Part("operators", check_operators, 1800.0),
        Part("scripts", check_scripts, 1200.0),
        Part("profiler", check_profiler, 900.0),
        Part("hccl", check_collectives, 300.0),
    )
}
