"""Reads what there is of NPUs: PCI ids, device files, npu-smi, driver and firmware versions, installed CANNs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from helpers import bounded, cann
from helpers.environment import set_env
from helpers.environment.machine import CannRoot, Hardware, Node, PciChip
from helpers.environment.system import System, Told, Untold
from helpers.npu_smi import NpuSmi
from helpers.npu_smi import parse as parse_npu_smi
from helpers.versions import compatibility

PCI = "/sys/bus/pci/devices"
MANAGERS = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
#: The driver's own files: on servers, and in the RC mode of boards (hiascend driver installation guide).
DRIVER = ("/usr/local/Ascend/driver/version.info", "/var/davinci/driver/version.info")
FIRMWARE = ("/usr/local/Ascend/firmware/version.info", "/fw/version.info")
DRIVER_FOLDERS = ("/usr/local/Ascend/driver",)
NPU_SMI = ("/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi", "/usr/bin/npu-smi")
KERNELS = "opp/built-in/op_impl/ai_core/tbe/kernel/ascend*"


def read_hardware(system: System) -> Hardware:
    """All signs of NPUs. npu-smi is started only where it is installed."""
    shown = npu_smi(system) if system.which("npu-smi") else None
    stand_in = shown if isinstance(shown, NpuSmi) and shown.simulated else None
    if stand_in:
        real = replace(system, environ=cann.without_simulator(system.environ))
        shown = npu_smi(real) if real.which("npu-smi") else None
    return Hardware(
        pci=pci_chips(system),
        nodes=device_nodes(system),
        npu_smi=shown,
        simulated_npu_smi=stand_in,
        driver=version_info(system, DRIVER),
        firmware=version_info(system, FIRMWARE),
        driver_installed=any(system.path(name).parent.is_dir() for name in DRIVER),
        groups=system.process.groups(),
        hal=first_library(system, "libascend_hal.so"),
        npu_smi_folder=next((name for name in NPU_SMI if system.path(name).is_dir()), ""),
        driver_empty=next((name for name in DRIVER_FOLDERS if _empty(system.path(name))), ""),
    )


def pci_chips(system: System) -> Told[tuple[PciChip, ...]]:
    """Huawei's processing chips on the bus: the surest identity, no tool and no driver needed."""
    if not system.path(PCI).is_dir():
        return Untold("untold.no_pci", {"path": PCI})
    known, vendor = compatibility()["pci"], compatibility()["pci_vendor"]
    chips = []
    for folder in system.glob(f"{PCI}/*"):
        device = system.text(f"{folder}/device").strip()
        if system.text(f"{folder}/vendor").strip() == vendor and device in known:
            near = system.text(f"{folder}/numa_node").strip()
            address, numa = folder.rpartition("/")[2], int(near) if near.isdigit() else -1
            chips.append(PciChip(address, device, known[device][0], numa))
    return tuple(chips)


def device_nodes(system: System) -> tuple[Node, ...]:
    """/dev/davinci0… and the managers that torch_npu needs beside them, each with this user's right to use it."""
    cards = [name for name in system.glob("/dev/davinci*") if name.rpartition("davinci")[2].isdigit()]
    names = [*cards, *(name for name in MANAGERS if system.path(name).exists())]
    return tuple(Node(name, system.process.usable(system.path(name))) for name in names)


def npu_smi(system: System) -> Told[NpuSmi]:
    """What `npu-smi info` shows; its errors come on either stream, with or without an exit code."""
    done = system.tool("npu-smi", "info")
    if isinstance(done, Untold):
        return done
    found = parse_npu_smi(done.stdout + "\n" + done.stderr)
    if not found.chips and found.error is None:
        return _no_chips(done, found)
    return found


def _no_chips(done: bounded.Output, found: NpuSmi) -> Untold:
    if found.unread or found.version:
        return Untold("untold.npu_smi_cut", {"lines": len(done.stdout.splitlines())})
    return Untold("untold.tool", {"tool": "npu-smi", "error": done.last_error})


def version_info(system: System, names: tuple[str, ...]) -> Told[str]:
    """`Version=` of the first file there is; an empty text where there is none."""
    name = next((name for name in names if system.path(name).exists()), None)
    if name is None:
        return ""
    text = system.read(name)
    if isinstance(text, Untold):
        return text
    found = re.search(r"^\s*Version\s*=\s*(\S+)", text, re.MULTILINE | re.IGNORECASE)
    return found[1] if found else Untold("untold.unreadable", {"path": name})


def first_library(system: System, name: str) -> str:
    """Where the loader's search path finds a library first, its links followed; empty where it does not."""
    for entry in system.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        path = system.path(entry) / name
        if entry.startswith("/") and path.is_file():
            return system.name(path.resolve())
    return ""


def _empty(folder: Path) -> bool:
    try:
        return folder.is_dir() and not any(folder.iterdir())
    except OSError:
        return False


def cann_roots(system: System, environ: Mapping[str, str]) -> tuple[CannRoot, ...]:
    """Every CANN that is installed or pointed to, each once, the sourced one first."""
    told = environ.get("ASCEND_HOME_PATH", "")
    sourced = system.path(told).resolve() if told.startswith("/") and system.path(told).is_dir() else None
    home = environ.get("HOME") or str(Path.home())
    usual = (system.path(name.replace("~", home)) for name in cann.ROOTS)
    folders = dict.fromkeys([*([sourced] if sourced else []), *(each.resolve() for each in usual if each.is_dir())])
    roots = (_cann_root(system, folder, folder == sourced) for folder in folders)
    return tuple(set_env.compared(system, root) if root.sourced and not root.simulated else root for root in roots)


def _cann_root(system: System, folder: Path, sourced: bool) -> CannRoot:
    found = cann.describe(folder, sourced=sourced)
    scripts = (folder / "set_env.sh", folder.parent / "set_env.sh")
    return CannRoot(
        path=system.name(folder),
        version=found.version,
        simulated=found.simulated,
        sourced=sourced,
        components=cann.components(folder),
        kernels=tuple(sorted(each.name for each in folder.glob(KERNELS) if each.is_dir())),
        script=next((system.name(each) for each in scripts if each.is_file()), ""),
    )
