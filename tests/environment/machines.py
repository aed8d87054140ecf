"""Made machines: healthy ones, and the pieces to break them with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ascend_workbook.environment.hardware import MANAGERS
from ascend_workbook.environment.machine import CannRoot, Chosen, Hardware, Host, Import, Machine, Node, PciChip, Python
from ascend_workbook.machine import versions
from ascend_workbook.machine.npu_smi import Chip, NpuSmi

MODULES = {name.replace("-", "_"): "1.0" for name in versions.load_compatibility()["python_modules"]}
HOST = Host(
    system="Linux",
    distribution="Ubuntu 22.04.4 LTS",
    kernel="5.15.0",
    arch="aarch64",
    glibc="2.35",
    cpus=64,
    cpus_usable=64.0,
    memory_mib=512 * 1024.0,
    memory_free_mib=400 * 1024.0,
    work_folder="runs",
    disk_free_mib=900 * 1024.0,
    disk_writable=True,
    shm_mib=64 * 1024.0,
    open_files=65535,
)
PYTHON = Python(
    "3.11.9",
    "/usr/bin/python3",
    packages={**MODULES, "torch": "2.9.0", "torch_npu": "2.9.0", "numpy": "1.26.2"},
    torch_npu_folder="/usr/lib/python3/site-packages/torch_npu",
    torch_import=Import(torch="2.9.0", cuda={"build": ""}),
)
CANN = CannRoot("/usr/local/Ascend/cann-8.5.0", "8.5.0", sourced=True, kernels=("ascend910b",), script="/c/set_env.sh")
SIMULATED = CannRoot("/opt/simulator", "9.1.0", simulated=True, sourced=True)


def chips(count: int = 2, name: str = "910B2", health: str = "OK") -> tuple[Chip, ...]:
    return tuple(Chip(index, 0, name, health, hbm_used_mib=3000, hbm_total_mib=65536) for index in range(count))


def hardware(count: int = 2, **changed: Any) -> Hardware:
    """An A2 server with `count` cards and everything in order."""
    cards = tuple(Node(f"/dev/davinci{index}", True) for index in range(count))
    made = Hardware(
        pci=tuple(PciChip(f"0000:{index:02x}:00.0", "0xd802", "A2") for index in range(count)),
        nodes=(*cards, *(Node(name, True) for name in MANAGERS)),
        npu_smi=NpuSmi("25.5.0", "25.5.0", chips(count)),
        driver="25.5.0",
        firmware="7.8.0",
        driver_installed=True,
        groups=("HwHiAiUser",),
    )
    return replace(made, **changed)


def server(**changed: Any) -> Machine:
    """A healthy Atlas A2 server: CANN 8.5.0 sourced, torch 2.9.0 with torch_npu 2.9.0."""
    chosen = Chosen("auto", "npu", "Ascend910B2", 2, {"torch": "2.9.0", "torch_npu": "2.9.0"})
    made = Machine(HOST, PYTHON, chosen, hardware(), (CANN,), environ={"ASCEND_HOME_PATH": CANN.path}, started={})
    return replace(made, **changed)


def laptop(**changed: Any) -> Machine:
    """A plain x86_64 laptop with the simulator built and in use by children only."""
    host = replace(HOST, arch="x86_64", cpus=4, cpus_usable=4.0, memory_mib=16384.0, memory_free_mib=9000.0)
    python = replace(PYTHON, torch_npu_folder="", packages={"torch": "2.13.0+cpu", "numpy": "2.4.0"})
    chosen = Chosen(
        "auto",
        "npu-simulated",
        "Ascend910B2",
        2,
        {"torch": "2.13.0+cpu", "torch_npu": "2.13.0"},
        {"npu": {"say": "device.why.no_cann"}},
    )
    made = Machine(host, python, chosen, Hardware(pci=()), simulator="/opt/simulator", environ={}, started={})
    return replace(made, **changed)


def gpu(**changed: Any) -> Machine:
    """A CUDA machine without torch_npu."""
    host = replace(HOST, arch="x86_64")
    cuda = {"build": "12.6", "name": "NVIDIA A100", "count": 8, "capability": ["8.0"] * 8}
    python = replace(
        PYTHON,
        torch_npu_folder="",
        packages={"torch": "2.9.0", "numpy": "2.1.0"},
        torch_import=Import(torch="2.9.0+cu126", cuda=cuda),
    )
    why = {"npu": {"say": "device.why.no_cann"}, "npu-simulated": {"say": "device.why.no_simulator"}}
    chosen = Chosen("auto", "cuda", "NVIDIA A100", 8, {"torch": "2.9.0+cu126"}, why)  # type: ignore[arg-type]
    made = Machine(host, python, chosen, Hardware(pci=()), environ={}, started={})
    return replace(made, **changed)


def host(machine: Machine, **changed: Any) -> Machine:
    return replace(machine, host=replace(machine.host, **changed))


def python(machine: Machine, **changed: Any) -> Machine:
    return replace(machine, python=replace(machine.python, **changed))


def packages(machine: Machine, **changed: str | None) -> Machine:
    merged = {**machine.python.packages, **changed}
    return python(machine, packages={name: version for name, version in merged.items() if version})


def chosen(machine: Machine, **changed: Any) -> Machine:
    return replace(machine, chosen=replace(machine.chosen, **changed))


def environ(machine: Machine, *, started: dict[str, str] | None = None, **changed: str) -> Machine:
    merged = {**machine.environ, **changed}
    return replace(machine, environ=merged, started=merged if started is None else started)


def broken_import(machine: Machine, *chain: str) -> Machine:
    """torch does not import; the tier is what children with a prepared environment still have."""
    return python(machine, torch_import=Import(ok=False, error=chain[0], chain=chain))


def unusable(machine: Machine, why: str = "device.why.no_device", **args: str) -> Machine:
    """The NPU is there, torch cannot use it, the CPU is what is left."""
    reason = {"say": why, "args": args or {"error": "507033"}}
    return chosen(machine, tier="cpu", name="CPU", count=1, why_not={"npu": reason})
