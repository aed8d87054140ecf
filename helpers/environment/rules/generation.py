"""ENV023: npu-smi prints `910B` without a digit for the *first* generation 910, which has no bfloat16.

`910B1`…`910B4` and `910B2C` are Atlas A2. Sources: npu-smi outputs in public posts; vllm-ascend's forks for 910A.

Source: https://github.com/Ascend/pytorch/issues/148
Source: https://github.com/hiyouga/LlamaFactory/issues/4165
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Untold
from helpers.finding import Finding, Status
from helpers.npu_smi import NpuSmi

CODE, GROUP = "ENV023", "device"
FIRST = ("910", "910A", "910B", "910ProA", "910ProB")
INFERENCE = ("310", "310B", "310P")


def check(machine: Machine) -> Iterator[Finding]:
    names = sorted({*_names(machine)})
    old = [name for name in names if name in FIRST]
    small = [name for name in names if name.startswith("310")]
    if old:
        yield Finding(CODE, Status.WARN, "ENV023.first", {"names": old})
    if small:
        yield Finding(CODE, Status.WARN, "ENV023.inference", {"names": small})


def _names(machine: Machine) -> Iterator[str]:
    smi, pci = machine.hardware.npu_smi, machine.hardware.pci
    if isinstance(smi, NpuSmi):
        yield from (chip.name for chip in smi.chips)
    if not isinstance(pci, Untold):
        yield from (chip.kind for chip in pci if chip.kind in (*FIRST, *INFERENCE))
