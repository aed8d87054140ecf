"""ENV027: free memory of each NPU. An idle Atlas A2 shows about 3 GB of 64 in use; more without a process in
npu-smi's table belongs to another container, whose processes are not shown here.

Source: https://github.com/vllm-project/vllm-ascend/issues/3141
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status
from helpers.npu_smi import Chip, NpuSmi

CODE, GROUP = "ENV027", "device"
IDLE = 0.15


def check(machine: Machine) -> Iterator[Finding]:
    shown = machine.hardware.npu_smi
    if not isinstance(shown, NpuSmi):
        return  # ENV022 says so
    chips = [chip for chip in shown.chips if chip.hbm_total_mib]
    if not chips:
        return
    held = {(process.npu, process.chip) for process in shown.processes}
    hidden = [chip for chip in chips if _use(chip) > IDLE and not {(chip.npu, chip.chip), (chip.npu, None)} & held]
    free = [(chip.hbm_total_mib or 0) - (chip.hbm_used_mib or 0) for chip in chips]
    args: Args = {"least_gib": f"{min(free) / 1024:.1f}", "total_gib": f"{(chips[0].hbm_total_mib or 0) / 1024:.1f}"}
    if hidden:
        names = [f"NPU {chip.npu} chip {chip.chip} ({_use(chip):.0%})" for chip in hidden]
        yield Finding(CODE, Status.WARN, "ENV027.held", {**args, "names": names[:8]})
    else:
        yield Finding(CODE, Status.OK, "ENV027.ok", args)


def _use(chip: Chip) -> float:
    return (chip.hbm_used_mib or 0) / (chip.hbm_total_mib or 1)
