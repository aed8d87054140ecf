"""The devices: the chosen one, those on the bus, their files and count, which are visible, how npu-smi finds them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ascend_workbook.environment.hardware import MANAGERS
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, Untold, require_fact
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.npu_smi import Chip, NpuSmi
from ascend_workbook.machine.versions import load_compatibility

GROUP = "device"
BASIS = {"ENV001": "defined", "ENV024": "facts", "ENV025": "facts"}

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
        yield Finding("ENV001", Status.FIX, "ENV001.absent", absent, weight=50)
    elif chosen.tier != "npu" and machine.needs_npu:
        why: Scalar = chosen.why_not.get("npu", Sentence("report.not_looked"))
        unusable: Args = {"count": machine.hardware.chips, "why": why, "tier": chosen.tier}
        yield Finding("ENV001", Status.FIX, "ENV001.unusable", unusable, weight=50)
    else:
        args: Args = {"tier": chosen.tier, "name": chosen.name, "count": chosen.count}
        better: list[Scalar] = [Sentence("ENV001.other", tier=tier, why=why) for tier, why in chosen.why_not.items()]
        key = "ENV001.ok_others" if better else "ENV001.ok"
        yield Finding("ENV001", Status.GOOD, key, {**args, "others": better})


def check_pci(machine: Machine) -> Iterator[Finding]:
    """ENV020: Ascend chips on the PCI bus, by vendor 0x19e5 and device id: the identity that needs no driver.

    Source: https://pypi.org/project/ascend-deployer/26.0.0/
    """
    chips = require_fact(machine.hardware.pci)
    if chips:
        listed = Counter(chip.device for chip in chips)
        names = [f"{count} x {load_compatibility()['pci'][device][1]}" for device, count in listed.items()]
        yield Finding("ENV020", Status.GOOD, "ENV020.ok", {"names": names})
    elif machine.hardware.chips:
        yield Finding("ENV020", Status.NOTE, "ENV020.hidden", {"count": machine.hardware.chips})
    elif machine.needs_npu:
        yield Finding("ENV020", Status.FIX, "ENV020.absent", {})
    else:
        yield Finding("ENV020", Status.NOTE, "ENV020.none", {})


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
        yield Finding("ENV021", Status.FIX, key, {"container": machine.host.container})
    elif closed:
        yield Finding("ENV021", Status.FIX, "ENV021.closed", {"paths": closed, "groups": list(hardware.groups)})
    elif missing:
        yield Finding("ENV021", Status.FIX, "ENV021.missing", {"paths": missing})
    else:
        yield Finding("ENV021", Status.GOOD, "ENV021.ok", {"count": len(hardware.cards)})


def check_generation(machine: Machine) -> Iterator[Finding]:
    """ENV023: npu-smi prints `910B` without a digit for the *first* generation 910, which has no bfloat16.

    `910B1`…`910B4` and `910B2C` are Atlas A2. Sources: npu-smi outputs in public posts; vllm-ascend's forks for 910A.

    Source: https://github.com/Ascend/pytorch/issues/148
    Source: https://github.com/hiyouga/LlamaFactory/issues/4165
    """
    smi, pci = machine.hardware.npu_smi, machine.hardware.pci
    by_bus = () if isinstance(pci, Untold) else pci
    names = {chip.kind for chip in by_bus if chip.kind in (*FIRST, *INFERENCE)}
    names |= {chip.name for chip in smi.chips} if isinstance(smi, NpuSmi) else set()
    old = sorted(name for name in names if name in FIRST)
    small = sorted(name for name in names if name.startswith("310"))
    if old:
        yield Finding("ENV023", Status.LOOK, "ENV023.first", {"names": old})
    if small:
        yield Finding("ENV023", Status.LOOK, "ENV023.inference", {"names": small})


def check_device_count(machine: Machine) -> Iterator[Finding]:
    """ENV024: PCI bus, device files, npu-smi and torch.npu.device_count() agree; what differs is named."""
    counts = dict(_counts_by_source(machine))
    if len(counts) < 2:
        return
    args: Args = {"counts": [f"{source} {count}" for source, count in counts.items()]}
    if len(set(counts.values())) == 1:
        yield Finding("ENV024", Status.GOOD, "ENV024.ok", args)
    else:
        status = Status.NOTE if machine.host.container else Status.LOOK
        yield Finding("ENV024", status, "ENV024.differ", args)


def _counts_by_source(machine: Machine) -> Iterator[tuple[str, int]]:
    """Yield each source's count; ASCEND_RT_VISIBLE_DEVICES hides devices from torch on purpose."""
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
        yield Finding("ENV026", Status.FIX, "ENV026.malformed", {"value": text})
        return
    wanted = [int(item) for item in text.split(",")]
    known = machine.hardware.chips
    wrong = [item for item in wanted if item >= known or wanted.count(item) > 1] if known else []
    args: Args = {"value": text, "wrong": sorted(set(wrong)), "count": known}
    yield Finding("ENV026", *((Status.FIX, "ENV026.wrong") if wrong else (Status.GOOD, "ENV026.ok")), args)


ILL = {"Warning": Status.LOOK, "Alarm": Status.FIX, "Critical": Status.FIX}
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
            yield Finding("ENV022", Status.LOOK, "ENV022.absent", {})
        return
    shown = require_fact(smi)
    if shown.error is not None:
        known = "" if shown.error not in (-8005, -8020) else f"_{-shown.error}"
        yield Finding("ENV022", Status.LOOK, f"ENV022.error{known}", {"code": shown.error})
        return
    ill = [chip for chip in shown.chips if chip.health != "OK"]
    for chip in ill:
        args: Args = {"npu": chip.npu, "chip": chip.chip, "name": chip.name, "health": chip.health}
        yield Finding("ENV022", ILL.get(chip.health, Status.LOOK), "ENV022.ill", args)
    if shown.unread:
        yield Finding(
            "ENV022", Status.NOT_LOOKED, "ENV022.unread", {"lines": len(shown.unread), "first": shown.unread[0]}
        )
    if not ill and shown.chips:
        yield Finding("ENV022", Status.GOOD, "ENV022.ok", {"count": len(shown.chips), "version": shown.version})


def check_in_use(machine: Machine) -> Iterator[Finding]:
    """ENV025: other processes on the NPUs: they take memory and make every timing wrong."""
    if machine.hardware.npu_smi is None:
        return
    shown = require_fact(machine.hardware.npu_smi)
    if shown.processes:
        names = sorted({f"{process.name or '?'} (pid {process.pid})" for process in shown.processes})
        used = sum(process.memory_mib for process in shown.processes)
        yield Finding("ENV025", Status.LOOK, "ENV025.busy", {"names": names[:4], "count": len(names), "used_mib": used})
    elif shown.chips:
        yield Finding("ENV025", Status.GOOD, "ENV025.ok", {})


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
    busy = (chip for chip in chips if _memory_use(chip) > IDLE)
    hidden = [chip for chip in busy if not {(chip.npu, chip.chip), (chip.npu, None)} & held]
    free = [(chip.hbm_total_mib or 0) - (chip.hbm_used_mib or 0) for chip in chips]
    args: Args = {"least_gib": f"{min(free) / 1024:.1f}", "total_gib": f"{(chips[0].hbm_total_mib or 0) / 1024:.1f}"}
    if hidden:
        names = [f"NPU {chip.npu} chip {chip.chip} ({_memory_use(chip):.0%})" for chip in hidden]
        yield Finding("ENV027", Status.LOOK, "ENV027.held", {**args, "names": names[:8]})
    else:
        yield Finding("ENV027", Status.GOOD, "ENV027.ok", args)


def _memory_use(chip: Chip) -> float:
    return (chip.hbm_used_mib or 0) / (chip.hbm_total_mib or 1)


RULES = {
    "ENV001": check_chosen_device,
    "ENV020": check_pci,
    "ENV021": check_device_files,
    "ENV023": check_generation,
    "ENV024": check_device_count,
    "ENV026": check_visible_devices,
    "ENV022": check_health,
    "ENV025": check_in_use,
    "ENV027": check_device_memory,
}
