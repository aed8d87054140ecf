"""ENV043: the operator binaries for this chip are installed beside the toolkit (the package "kernels" or "ops").

Without them the first operator fails with 561103, or compiles for minutes. Folder names: ascend910b for A2,
ascend910_93 for A3, ascend910 for the first generation. Source: CANN installation guide.

Source: https://github.com/vllm-project/vllm-ascend/issues/4859
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status
from helpers.npu_smi import NpuSmi

CODE, GROUP = "ENV043", "cann"
FOLDERS = {
    "310": "ascend310",
    "310B": "ascend310b",
    "310P": "ascend310p",
    "910": "ascend910",
    "A2": "ascend910b",
    "A3": "ascend910_93",
}

FIRST = ("910", "910A", "910B", "910ProA", "910ProB")
A2 = ("910B1", "910B2", "910B2C", "910B3", "910B4")
KINDS = {**dict.fromkeys(FIRST, "910"), **dict.fromkeys(A2, "A2")}


def _shown(smi: object) -> set[str]:
    """Kinds by npu-smi's names, where a container hides the bus: A3 prints `Ascend910` and a Phy-ID. A name that is
    not in the table stays as it is: no folder is known for it."""
    chips = smi.chips if isinstance(smi, NpuSmi) else ()
    named = {(chip.name, chip.physical_id is not None) for chip in chips if chip.name}
    return {"A3" if name == "Ascend910" and twin else KINDS.get(name, name) for name, twin in named}


def check(machine: Machine) -> Iterator[Finding]:
    cann = machine.real_cann
    if not machine.needs_npu or cann is None:
        return
    kinds = sorted({chip.kind for chip in told(machine.hardware.pci)} or _shown(machine.hardware.npu_smi))
    for kind in kinds:
        folder = FOLDERS.get(kind)
        if folder is None:
            yield Finding(CODE, Status.SKIPPED, "ENV043.unknown", {"kind": kind})
        elif folder in cann.kernels:
            yield Finding(CODE, Status.OK, "ENV043.ok", {"folder": folder})
        else:
            args: Args = {"folder": folder, "found": list(cann.kernels), "path": cann.path}
            yield Finding(CODE, Status.FAIL, "ENV043.missing", args)
