"""How the NPUs are, as npu-smi tells it: health, memory, and who else is on them."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, require_fact
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.machine.npu_smi import Chip, NpuSmi

GROUP = "device"
BASIS = {"ENV025": "facts"}
ILL = {"Warning": Status.WARN, "Alarm": Status.FAIL, "Critical": Status.FAIL}
IDLE = 0.15


def check_health(machine: Machine) -> Iterator[Finding]:
    """ENV022: what npu-smi says: health of each chip, or its error.

    -8005: the driver cannot be reached (often a container without the driver's files); -8020: another process or
    container holds the device. Both may be seen while torch works, so alone they warn.
    Sources: https://github.com/vllm-project/vllm-ascend/issues/2698,
    https://github.com/Ascend/cann-container-image/issues/46
    """
    smi = machine.hardware.npu_smi
    if smi is None:
        if machine.needs_npu:
            yield Finding("ENV022", Status.WARN, "ENV022.absent", {})
        return
    shown = require_fact(smi)
    if shown.error is not None:
        known = "" if shown.error not in (-8005, -8020) else f"_{-shown.error}"
        yield Finding("ENV022", Status.WARN, f"ENV022.error{known}", {"code": shown.error})
        return
    ill = [chip for chip in shown.chips if chip.health != "OK"]
    for chip in ill:
        args: Args = {"npu": chip.npu, "chip": chip.chip, "name": chip.name, "health": chip.health}
        yield Finding("ENV022", ILL.get(chip.health, Status.WARN), "ENV022.ill", args)
    if shown.unread:
        yield Finding("ENV022", Status.SKIPPED, "ENV022.unread", {"lines": len(shown.unread), "first": shown.unread[0]})
    if not ill and shown.chips:
        yield Finding("ENV022", Status.OK, "ENV022.ok", {"count": len(shown.chips), "version": shown.version})


def check_in_use(machine: Machine) -> Iterator[Finding]:
    """ENV025: other processes on the NPUs: they take memory and make every timing wrong."""
    if machine.hardware.npu_smi is None:
        return
    shown = require_fact(machine.hardware.npu_smi)
    if shown.processes:
        names = sorted({f"{process.name or '?'} (pid {process.pid})" for process in shown.processes})
        used = sum(process.memory_mib for process in shown.processes)
        yield Finding("ENV025", Status.WARN, "ENV025.busy", {"names": names[:4], "count": len(names), "used_mib": used})
    elif shown.chips:
        yield Finding("ENV025", Status.OK, "ENV025.ok", {})


def check_device_memory(machine: Machine) -> Iterator[Finding]:
    """ENV027: free memory of each NPU. An idle Atlas A2 shows about 3 GB of 64 in use; more without a process in
    npu-smi's table belongs to another container, whose processes are not shown here.

    Source: https://github.com/vllm-project/vllm-ascend/issues/3141
    """
    shown = machine.hardware.npu_smi
    if not isinstance(shown, NpuSmi):
        return  # ENV022 says so
    chips = [chip for chip in shown.chips if chip.hbm_total_mib]
    if not chips:
        return
    held = {(process.npu, process.chip) for process in shown.processes}
    hidden = [
        chip for chip in chips if _memory_use(chip) > IDLE and not {(chip.npu, chip.chip), (chip.npu, None)} & held
    ]
    free = [(chip.hbm_total_mib or 0) - (chip.hbm_used_mib or 0) for chip in chips]
    args: Args = {"least_gib": f"{min(free) / 1024:.1f}", "total_gib": f"{(chips[0].hbm_total_mib or 0) / 1024:.1f}"}
    if hidden:
        names = [f"NPU {chip.npu} chip {chip.chip} ({_memory_use(chip):.0%})" for chip in hidden]
        yield Finding("ENV027", Status.WARN, "ENV027.held", {**args, "names": names[:8]})
    else:
        yield Finding("ENV027", Status.OK, "ENV027.ok", args)


def _memory_use(chip: Chip) -> float:
    return (chip.hbm_used_mib or 0) / (chip.hbm_total_mib or 1)


RULES = {
    "ENV022": check_health,
    "ENV025": check_in_use,
    "ENV027": check_device_memory,
}
