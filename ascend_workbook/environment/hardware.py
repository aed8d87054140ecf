"""Reads what there is of NPUs: PCI ids, device files, npu-smi, driver and firmware, installed CANNs, HCCL's addresses.

set_env.sh is really sourced, through bash, to see what of it is not here. An environment half set (an old ~/.bashrc, a
kernel started elsewhere, `sh` in place of bash, variables copied by hand) looks sourced, and fails later with a library
or an operator that is not found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ascend_workbook.environment.machine import CannRoot, Hardware, Hccl, Node, PciChip, RankTable
from ascend_workbook.environment.system import System, Told, Untold
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import cann
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
    """Read all signs of NPUs; npu-smi is started only where it is installed."""
    shown = read_npu_smi(system) if system.find_tool("npu-smi") else None
    stand_in = shown if isinstance(shown, NpuSmi) and shown.simulated else None
    if stand_in:
        real = replace(system, environ=cann.without_simulator(system.environ))
        shown = read_npu_smi(real) if real.find_tool("npu-smi") else None
    # where the loader's search path finds libascend_hal.so first
    entries = (entry for entry in system.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if entry[:1] == "/")
    paths = (system.path_of(entry) / "libascend_hal.so" for entry in entries)
    return Hardware(
        pci=pci_chips(system),
        nodes=device_nodes(system),
        npu_smi=shown,
        simulated_npu_smi=stand_in,
        driver=read_version_info(system, DRIVER),
        firmware=read_version_info(system, FIRMWARE),
        driver_installed=any(system.path_of(name).parent.is_dir() for name in DRIVER),
        groups=system.process.group_names(),
        hal=next((system.name_of(path.resolve()) for path in paths if path.is_file()), ""),
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
        if parsed.unread or parsed.version:
            return Untold("untold.npu_smi_cut", {"lines": len(done.stdout.splitlines())})
        return Untold("untold.tool", {"tool": "npu-smi", "error": done.last_error})
    return parsed


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


def _is_empty_folder(folder: Path) -> bool:
    try:
        return folder.is_dir() and not any(folder.iterdir())
    except OSError:
        return False


def find_cann_roots(system: System, environ: Mapping[str, str]) -> tuple[CannRoot, ...]:
    """Find every CANN that is installed or pointed to, each once, the sourced one first."""
    home_path = environ.get("ASCEND_HOME_PATH", "")
    is_there = home_path.startswith("/") and system.path_of(home_path).is_dir()
    sourced = system.path_of(home_path).resolve() if is_there else None
    home = environ.get("HOME") or str(Path.home())
    usual = (system.path_of(name.replace("~", home)) for name in cann.ROOTS)
    folders = dict.fromkeys([*([sourced] if sourced else []), *(path.resolve() for path in usual if path.is_dir())])
    roots = (_describe_cann_root(system, folder, folder == sourced) for folder in folders)
    return tuple(compare_with_script(system, root) if root.sourced and not root.simulated else root for root in roots)


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


#: Of these, what the script adds must be among the entries; others must have the script's value.
PATHS = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
#: Set by CANN's scripts without being needed to train, or by the shell itself.
LEFT_OUT = ("PWD", "OLDPWD", "SHLVL", "_", "CMAKE_PREFIX_PATH", "TOOLCHAIN_HOME")
TIMEOUT_S = 10.0


def compare_with_script(system: System, root: CannRoot) -> CannRoot:
    """Return the root with `unset` and `lacking`; a script that is missing, or that bash refuses, is untold."""
    if not root.script:
        return replace(root, unset=Untold("untold.no_script", {"path": root.path}))
    plain = {name: system.environ[name] for name in ("HOME", "USER", "LANG") if name in system.environ}
    base = {**plain, "PATH": system.environ.get("PATH", "/usr/bin:/bin"), "LD_LIBRARY_PATH": ""}
    wanted = cann.sourced_environment(system.path_of(root.path), base, timeout_s=TIMEOUT_S)
    if wanted is None or not any(name.startswith("ASCEND_") and name not in base for name in wanted):
        return replace(root, unset=Untold("untold.script", {"path": root.script}))
    lines = []
    for name in PATHS:
        here = {_real_path(system, entry) for entry in system.environ.get(name, "").split(os.pathsep) if entry}
        before = base.get(name, "").split(os.pathsep)
        for entry in dict.fromkeys(wanted.get(name, "").split(os.pathsep)):
            added = entry.startswith("/") and entry not in before and system.path_of(entry).is_dir()
            if added and _real_path(system, entry) not in here:
                lines.append(f"{name}: {entry}")
    return replace(root, unset=_find_unset(system, base, wanted), lacking=tuple(lines))


def _find_unset(system: System, base: dict[str, str], wanted: dict[str, str]) -> Told[tuple[str, ...]]:
    """Return the names of variables that are missing or point elsewhere; links to one folder are the same."""
    names = (name for name in wanted if name.startswith(("ASCEND_", "ATB_")) and name not in (*LEFT_OUT, *base))
    return tuple(sorted(name for name in names if not _is_same(system, wanted[name], system.environ.get(name, ""))))


def _is_same(system: System, wanted: str, here: str) -> bool:
    if wanted == here:
        return True
    paths = wanted.startswith("/") and here.startswith("/")
    return paths and system.path_of(wanted).resolve() == system.path_of(here).resolve()


def _real_path(system: System, entry: str) -> str:
    return str(system.path_of(entry).resolve()) if entry.startswith("/") else entry


HCCN = "/etc/hccn.conf"
INTERFACES = "/sys/class/net"


def read_hccl(system: System) -> Hccl:
    """Read addresses, the host's interfaces and the rank table."""
    interfaces: Told[tuple[str, ...]] = Untold(
        "untold.file", {"path": INTERFACES, "error": "No such file or directory"}
    )
    if system.path_of(INTERFACES).is_dir():
        interfaces = tuple(name.rpartition("/")[2] for name in system.glob_names(f"{INTERFACES}/*"))
    return Hccl(read_device_addresses(system), interfaces, read_rank_table(system))


def read_device_addresses(system: System) -> Told[dict[int, str]] | None:
    """Read `address_0=192.168.100.101` of hccn.conf: the address of each NPU's own network port."""
    if not system.path_of(HCCN).exists():
        return None
    text = system.read_file(HCCN)
    if isinstance(text, Untold):
        return text
    matches = re.findall(r"^\s*address_(\d{1,4})\s*=\s*([0-9A-Fa-f.:]+)\s*$", text, re.MULTILINE | re.ASCII)
    return {int(number): address for number, address in matches}


def read_rank_table(system: System) -> RankTable | None:
    """Read the size of HCCL's rank table, and what HCCL would refuse in it."""
    from ascend_workbook.environment.launching.rank_table import (  # that package reports: it imports ours
        BrokenTable,
        read_table,
    )

    name = system.environ.get("RANK_TABLE_FILE", "")
    if not name:
        return None
    try:
        table = read_table(system.path_of(name))
    except BrokenTable as broken:
        return RankTable(name, problem=Sentence(broken.key, **broken.arguments))
    first = next((Sentence(f"ENV112.{key}", **args) for key, args in table.find_problems()), None)
    return RankTable(name, table.world_size, len(table.servers), first)
