"""ENV030: the driver is installed and fits CANN's published list (release notes of CANN, see compatibility.json).

Source: https://www.hiascend.com/document/detail/en/canncommercial/850/releasenote/releasenote_0000.html
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV030", "driver"


def check(machine: Machine) -> Iterator[Finding]:
    if not machine.needs_npu:
        return
    driver = told(machine.hardware.driver)
    cann = machine.real_cann.version if machine.real_cann else ""
    args: Args = {"driver": driver, "cann": cann}
    if not driver:
        yield Finding(CODE, Status.FAIL, "ENV030.container" if machine.host.container else "ENV030.none", args)
        return
    try:
        fit = versions.pair_driver(cann, driver) if cann else "not_listed"
    except versions.NotAVersion:
        fit = "not_listed"
    status = {"recommended": Status.OK, "compatible": Status.OK, "outside": Status.WARN, "not_listed": Status.NOTE}[fit]
    listed = versions.drivers_for(cann) if fit == "outside" else []
    yield Finding(CODE, status, f"ENV030.{fit}", {**args, "listed": listed})
