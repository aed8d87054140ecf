"""The driver, the firmware beside it and the library that torch_npu loads of it."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, require_fact
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.machine import versions

GROUP = "driver"
BASIS = {"ENV031": "facts"}
STUBS = ("/devlib/", "/stub/", "/stubs/")


def check_driver(machine: Machine) -> Iterator[Finding]:
    """ENV030: the driver is installed and fits CANN's published list (release notes of CANN, see compatibility.json).

    Source: https://www.hiascend.com/document/detail/en/canncommercial/850/releasenote/releasenote_0000.html
    """
    if not machine.needs_npu:
        return
    driver = require_fact(machine.hardware.driver)
    cann = machine.real_cann.version if machine.real_cann else ""
    args: Args = {"driver": driver, "cann": cann}
    if not driver:
        yield Finding("ENV030", Status.FIX, "ENV030.container" if machine.host.container else "ENV030.none", args)
        return
    try:
        fit = versions.pair_driver(cann, driver) if cann else "not_listed"
    except versions.NotAVersion:
        fit = "not_listed"
    status = {"recommended": Status.GOOD, "compatible": Status.GOOD, "outside": Status.LOOK, "not_listed": Status.NOTE}[
        fit
    ]
    listed = versions.drivers_for(cann) if fit == "outside" else []
    yield Finding("ENV030", status, f"ENV030.{fit}", {**args, "listed": listed})


def check_firmware(machine: Machine) -> Iterator[Finding]:
    """ENV031: the firmware's version; it is installed with the driver's package pair. Its absence alone only notes."""
    if not machine.needs_npu:
        return
    firmware = require_fact(machine.hardware.firmware)
    key = "ENV031.ok" if firmware else "ENV031.none"
    yield Finding("ENV031", Status.GOOD if firmware else Status.NOTE, key, {"firmware": firmware})


def check_driver_library(machine: Machine) -> Iterator[Finding]:
    """ENV032: libascend_hal.so is the driver's, not CANN's stub of the same name.

    Without a driver set_env.sh appends <CANN>/devlib, whose libascend_hal.so is empty functions: `import torch_npu`
    then works and no device does. Seen by running CANN 9's set_env.sh in a made tree.

    Source: https://github.com/vllm-project/vllm-ascend/issues/1440
    """
    path = machine.hardware.hal
    if not path or any(path.startswith(root.path + "/") for root in machine.cann if root.simulated):
        return
    args: Args = {"path": path}
    if not any(part in path for part in STUBS):
        yield Finding("ENV032", Status.GOOD, "ENV032.ok", args)
    elif machine.needs_npu and machine.hardware.driver_installed:
        yield Finding("ENV032", Status.FIX, "ENV032.stub", args)
    else:
        yield Finding("ENV032", Status.NOTE, "ENV032.stub_only", args)


RULES = {"ENV030": check_driver, "ENV031": check_firmware, "ENV032": check_driver_library}
