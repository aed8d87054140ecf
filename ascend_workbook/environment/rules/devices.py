"""The devices: the one that is chosen, those on the bus, their files, how many, and which are visible."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ascend_workbook.environment.hardware import MANAGERS
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, Untold, require_fact
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.npu_smi import NpuSmi
from ascend_workbook.machine.versions import load_compatibility

GROUP = "device"
BASIS = {"ENV001": "defined", "ENV024": "facts"}
FIRST = ("910", "910A", "910B", "910ProA", "910ProB")
INFERENCE = ("310", "310B", "310P")
NAME = "ASCEND_RT_VISIBLE_DEVICES"


def check_chosen_device(machine: Machine) -> Iterator[Finding]:
    """ENV001: the device the stages will use, and why no better one. A real NPU that cannot be used is a failure.

    `device="npu"` never falls back, and with `auto` an NPU in the machine that torch cannot use is told as a failure
    too: otherwise a night on a broken driver would look good.
    """
    chosen = machine.chosen
    if not chosen.tier:
        absent: Args = {"wanted": chosen.wanted, "why": chosen.why or Sentence("report.not_looked")}
        yield Finding("ENV001", Status.FAIL, "ENV001.absent", absent, weight=50)
    elif chosen.tier != "npu" and machine.needs_npu:
        why: Scalar = chosen.why_not.get("npu", Sentence("report.not_looked"))
        unusable: Args = {"count": machine.hardware.chips, "why": why, "tier": chosen.tier}
        yield Finding("ENV001", Status.FAIL, "ENV001.unusable", unusable, weight=50)
    else:
        args: Args = {"tier": chosen.tier, "name": chosen.name, "count": chosen.count}
        better: list[Scalar] = [_reason_against(tier, why) for tier, why in chosen.why_not.items()]
        key = "ENV001.ok_others" if better else "ENV001.ok"
        yield Finding("ENV001", Status.OK, key, {**args, "others": better})


def _reason_against(tier: str, why: Scalar) -> Sentence:
    return Sentence("ENV001.other", tier=tier, why=why)


def check_pci(machine: Machine) -> Iterator[Finding]:
    """ENV020: Ascend chips on the PCI bus, by vendor 0x19e5 and device id: the identity that needs no driver.

    Source: https://pypi.org/project/ascend-deployer/26.0.0/
    """
    chips = require_fact(machine.hardware.pci)
    if chips:
        names = [
            f"{count} x {load_compatibility()['pci'][device][1]}" for device, count in _count_chips(machine).items()
        ]
        yield Finding("ENV020", Status.OK, "ENV020.ok", {"names": names})
    elif machine.hardware.chips:
        yield Finding("ENV020", Status.NOTE, "ENV020.hidden", {"count": machine.hardware.chips})
    elif machine.needs_npu:
        yield Finding("ENV020", Status.FAIL, "ENV020.absent", {})
    else:
        yield Finding("ENV020", Status.NOTE, "ENV020.none", {})


def _count_chips(machine: Machine) -> Counter[str]:
    return Counter(chip.device for chip in require_fact(machine.hardware.pci))


def check_device_files(machine: Machine) -> Iterator[Finding]:
    """ENV021: /dev/davinci* and the three managers exist and this user may open them (group HwHiAiUser).

    A container sees only the device files that were passed to it.
    Source: https://www.hiascend.com/document (driver installation guide; Ascend Docker Runtime).
    """
    if not machine.needs_npu:
        return
    hardware = machine.hardware
    closed = [node.path for node in hardware.nodes if not node.usable]
    missing = sorted(set(MANAGERS) - {node.path for node in hardware.nodes})
    if not hardware.cards:
        key = "ENV021.container" if machine.host.container else "ENV021.none"
        yield Finding("ENV021", Status.FAIL, key, {"container": machine.host.container})
    elif closed:
        yield Finding("ENV021", Status.FAIL, "ENV021.closed", {"paths": closed, "groups": list(hardware.groups)})
    elif missing:
        yield Finding("ENV021", Status.FAIL, "ENV021.missing", {"paths": missing})
    else:
        yield Finding("ENV021", Status.OK, "ENV021.ok", {"count": len(hardware.cards)})


def check_generation(machine: Machine) -> Iterator[Finding]:
    """ENV023: npu-smi prints `910B` without a digit for the *first* generation 910, which has no bfloat16.

    `910B1`…`910B4` and `910B2C` are Atlas A2. Sources: npu-smi outputs in public posts; vllm-ascend's forks for 910A.

    Source: https://github.com/Ascend/pytorch/issues/148
    Source: https://github.com/hiyouga/LlamaFactory/issues/4165
    """
    names = sorted({*_chip_names(machine)})
    old = [name for name in names if name in FIRST]
    small = [name for name in names if name.startswith("310")]
    if old:
        yield Finding("ENV023", Status.WARN, "ENV023.first", {"names": old})
    if small:
        yield Finding("ENV023", Status.WARN, "ENV023.inference", {"names": small})


def _chip_names(machine: Machine) -> Iterator[str]:
    smi, pci = machine.hardware.npu_smi, machine.hardware.pci
    if isinstance(smi, NpuSmi):
        yield from (chip.name for chip in smi.chips)
    if not isinstance(pci, Untold):
        yield from (chip.kind for chip in pci if chip.kind in (*FIRST, *INFERENCE))


def check_device_count(machine: Machine) -> Iterator[Finding]:
    """ENV024: PCI bus, device files, npu-smi and torch.npu.device_count() agree; what differs is named."""
    counts = dict(_counts_by_source(machine))
    if len(counts) < 2:
        return
    args: Args = {"counts": [f"{source} {count}" for source, count in counts.items()]}
    if len(set(counts.values())) == 1:
        yield Finding("ENV024", Status.OK, "ENV024.ok", args)
    else:
        status = Status.NOTE if machine.host.container else Status.WARN
        yield Finding("ENV024", status, "ENV024.differ", args)


def _counts_by_source(machine: Machine) -> Iterator[tuple[str, int]]:
    """Yield the count of each source that could be asked; ASCEND_RT_VISIBLE_DEVICES hides devices from torch on
    purpose.
    """
    hardware = machine.hardware
    if not hardware.chips:
        return
    if not isinstance(hardware.pci, Untold):
        yield "PCI", len(hardware.pci)
    yield "/dev/davinci*", len(hardware.cards)
    if isinstance(hardware.npu_smi, NpuSmi) and hardware.npu_smi.chips:
        yield "npu-smi", len(hardware.npu_smi.chips)
    if machine.chosen.tier == "npu" and "ASCEND_RT_VISIBLE_DEVICES" not in machine.environ:
        yield "torch", machine.chosen.count


def check_visible_devices(machine: Machine) -> Iterator[Finding]:
    """ENV026: ASCEND_RT_VISIBLE_DEVICES holds logical ids; CANN drops wrong ones in silence (error 107001 follows).

    Source: https://github.com/vllm-project/vllm/issues/17363
    """
    text = machine.environ.get(NAME)
    if text is None:
        return
    ids = re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", text, re.ASCII)
    if ids is None:
        yield Finding("ENV026", Status.FAIL, "ENV026.malformed", {"value": text})
        return
    wanted = [int(item) for item in text.split(",")]
    known = machine.hardware.chips
    wrong = [item for item in wanted if item >= known or wanted.count(item) > 1] if known else []
    args: Args = {"value": text, "wrong": sorted(set(wrong)), "count": known}
    yield Finding("ENV026", *((Status.FAIL, "ENV026.wrong") if wrong else (Status.OK, "ENV026.ok")), args)


RULES = {
    "ENV001": check_chosen_device,
    "ENV020": check_pci,
    "ENV021": check_device_files,
    "ENV023": check_generation,
    "ENV024": check_device_count,
    "ENV026": check_visible_devices,
}
