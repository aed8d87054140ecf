"""ENV022: what npu-smi says: health of each chip, or its error.

-8005: the driver cannot be reached (often a container without the driver's files); -8020: another process or
container holds the device. Both may be seen while torch works, so alone they warn.
Sources: https://github.com/vllm-project/vllm-ascend/issues/2698, https://github.com/Ascend/cann-container-image/issues/46
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV022", "device"
ILL = {"Warning": Status.WARN, "Alarm": Status.FAIL, "Critical": Status.FAIL}


def check(machine: Machine) -> Iterator[Finding]:
    smi = machine.hardware.npu_smi
    if smi is None:
        if machine.needs_npu:
            yield Finding(CODE, Status.WARN, "ENV022.absent", {})
        return
    shown = told(smi)
    if shown.error is not None:
        known = "" if shown.error not in (-8005, -8020) else f"_{-shown.error}"
        yield Finding(CODE, Status.WARN, f"ENV022.error{known}", {"code": shown.error})
        return
    ill = [chip for chip in shown.chips if chip.health != "OK"]
    for chip in ill:
        args: Args = {"npu": chip.npu, "chip": chip.chip, "name": chip.name, "health": chip.health}
        yield Finding(CODE, ILL.get(chip.health, Status.WARN), "ENV022.ill", args)
    if shown.unread:
        yield Finding(CODE, Status.SKIPPED, "ENV022.unread", {"lines": len(shown.unread), "first": shown.unread[0]})
    if not ill and shown.chips:
        yield Finding(CODE, Status.OK, "ENV022.ok", {"count": len(shown.chips), "version": shown.version})
