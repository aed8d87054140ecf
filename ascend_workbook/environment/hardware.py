"""Reads what there is of NPUs: PCI ids, device files, npu-smi, driver and firmware versions, installed CANNs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ascend_workbook.environment import set_env
from ascend_workbook.environment.machine import CannRoot, Hardware, Node, PciChip
from ascend_workbook.environment.system import System, Told, Untold
from ascend_workbook.machine import bounded, cann
from ascend_workbook.machine.npu_smi import NpuSmi
from ascend_workbook.machine.npu_smi import parse_npu_smi as parse_npu_smi
from ascend_workbook.machine.versions import load_compatibility

PCI = "/sys/bus/pci/devices"
MANAGERS = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
#: The driver's own files: on servers, and in the RC mode of boards (hiascend driver installation guide).
DRIVER = ("/usr/local/Ascend/driver/version.info", "/var/davinci/driver/version.info")
FIRMWARE = ("/usr/local/Ascend/firmware/version.info", "/fw/version.info")
DRIVER_FOLDERS = ("/usr/local/Ascend/driver",)
NPU_SMI = ("/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi", "/usr/bin/npu-smi")
KERNELS = "opp/built-in/op_impl/ai_core/tbe/kernel/ascend*"


def read_hardware(system: System) -> Hardware:
    """Read all signs of NPUs; npu-smi is started only where it is installed. npu-smi is started only where it is
    installed.
    """
    shown = read_npu_smi(system) if system.find_tool("npu-smi") else None
    stand_in = shown if isinstance(shown, NpuSmi) and shown.simulated else None
    if stand_in:
        real = replace(system, environ=cann.without_simulator(system.environ))
        shown = read_npu_smi(real) if real.find_tool("npu-smi") else None
    return Hardware(
        pci=pci_chips(system),
        nodes=device_nodes(system),
        npu_smi=shown,
        simulated_npu_smi=stand_in,
        driver=read_version_info(system, DRIVER),
        firmware=read_version_info(system, FIRMWARE),
        driver_installed=any(system.path_of(name).parent.is_dir() for name in DRIVER),
        groups=system.process.group_names(),
        hal=find_library(system, "libascend_hal.so"),
        npu_smi_folder=next((name for name in NPU_SMI if system.path_of(name).is_dir()), ""),
        driver_empty=next((name for name in DRIVER_FOLDERS if _is_empty_folder(system.path_of(name))), ""),
    )


def pci_chips(system: System) -> Told[tuple[PciChip, ...]]:
    """Return Huawei's processing chips on the bus: the surest identity, no tool and no driver needed."""
    if not system.path_of(PCI).is_dir():
        return Untold("untold.no_pci", {"path": PCI})
    known, vendor = load_compatibility()["pci"], load_compatibility()["pci_vendor"]
    chips = []
    for folder in system.glob_names(f"{PCI}/*"):
        device = system.text_or_empty(f"{folder}/device").strip()
        if system.text_or_empty(f"{folder}/vendor").strip() == vendor and device in known:
            near = system.text_or_empty(f"{folder}/numa_node").strip()
            address, numa = folder.rpartition("/")[2], int(near) if near.isdigit() else -1
            chips.append(PciChip(address, device, known[device][0], numa))
    return tuple(chips)


def device_nodes(system: System) -> tuple[Node, ...]:
    """Return /dev/davinci0… and the managers that torch_npu needs too, each with this user's right to use it."""
    cards = [name for name in system.glob_names("/dev/davinci*") if name.rpartition("davinci")[2].isdigit()]
    names = [*cards, *(name for name in MANAGERS if system.path_of(name).exists())]
    return tuple(Node(name, system.process.can_use(system.path_of(name))) for name in names)


def read_npu_smi(system: System) -> Told[NpuSmi]:
    """Read what `npu-smi info` shows; its errors come on either stream, with or without an exit code."""
    done = system.run_tool("npu-smi", "info")
    if isinstance(done, Untold):
        return done
    parsed = parse_npu_smi(done.stdout + "\n" + done.stderr)
    if not parsed.chips and parsed.error is None:
        return _explain_no_chips(done, parsed)
    return parsed


def _explain_no_chips(done: bounded.Output, smi: NpuSmi) -> Untold:
    if smi.unread or smi.version:
        return Untold("untold.npu_smi_cut", {"lines": len(done.stdout.splitlines())})
    return Untold("untold.tool", {"tool": "npu-smi", "error": done.last_error})


def read_version_info(system: System, names: tuple[str, ...]) -> Told[str]:
    """Return `Version=` of the first file there is; an empty text where there is none."""
    name = next((name for name in names if system.path_of(name).exists()), None)
    if name is None:
        return ""
    text = system.read_file(name)
    if isinstance(text, Untold):
        return text
    match = re.search(r"^\s*Version\s*=\s*(\S+)", text, re.MULTILINE | re.IGNORECASE)
    return match[1] if match else Untold("untold.unreadable", {"path": name})


def find_library(system: System, name: str) -> str:
    """Return where the loader's search path finds a library first, its links followed; empty where it does not."""
    for entry in system.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        path = system.path_of(entry) / name
        if entry.startswith("/") and path.is_file():
            return system.name_of(path.resolve())
    return ""


def _is_empty_folder(folder: Path) -> bool:
    try:
        return folder.is_dir() and not any(folder.iterdir())
    except OSError:
        return False


def find_cann_roots(system: System, environ: Mapping[str, str]) -> tuple[CannRoot, ...]:
    """Find every CANN that is installed or pointed to, each once, the sourced one first."""
    home_path = environ.get("ASCEND_HOME_PATH", "")
    sourced = (
        system.path_of(home_path).resolve()
        if home_path.startswith("/") and system.path_of(home_path).is_dir()
        else None
    )
    home = environ.get("HOME") or str(Path.home())
    usual = (system.path_of(name.replace("~", home)) for name in cann.ROOTS)
    folders = dict.fromkeys([*([sourced] if sourced else []), *(path.resolve() for path in usual if path.is_dir())])
    roots = (_describe_cann_root(system, folder, folder == sourced) for folder in folders)
    return tuple(
        set_env.compare_with_script(system, root) if root.sourced and not root.simulated else root for root in roots
    )


def _describe_cann_root(system: System, folder: Path, sourced: bool) -> CannRoot:
    install = cann.describe_cann(folder, sourced=sourced)
    scripts = (folder / "set_env.sh", folder.parent / "set_env.sh")
    return CannRoot(
        path=system.name_of(folder),
        version=install.version,
        simulated=install.simulated,
        sourced=sourced,
        components=cann.read_components(folder),
        kernels=tuple(sorted(path.name for path in folder.glob(KERNELS) if path.is_dir())),
        script=next((system.name_of(path) for path in scripts if path.is_file()), ""),
    )
