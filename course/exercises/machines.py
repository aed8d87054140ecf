"""The server of the first exercise: an Atlas A2 whose torch_npu was installed for another torch.

Facts as `check` gathers them, made by hand; the rules that judge them are those of every machine.
"""

from __future__ import annotations

from dataclasses import replace

from ascend_workbook.environment.hardware import MANAGERS
from ascend_workbook.environment.machine import CannRoot, Chosen, Hardware, Host, Import, Machine, Node, PciChip, Python
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import versions
from ascend_workbook.machine.npu_smi import Chip, NpuSmi

CANN = "8.5.0"
#: Each has a torch_npu of its own release that CANN 8.5.0 takes, and one of the same number that it does not.
TORCHES = ("2.8.0", "2.7.1", "2.6.0")
WRONG = "2.9.0"
CARDS = 2


def unpaired_machine(torch: str) -> Machine:
    """Return the server with this torch (must stay) and a torch_npu of WRONG: importing torch fails."""
    error = f"ImportError: torch_npu {WRONG}: undefined symbol: _ZN3c1011SymBool14guard_size_obliviousEPKcl"
    broken = Import(ok=False, error=error, chain=(error,))
    why = {"npu": Sentence("device.why.import", error=error)}
    chosen = Chosen("auto", "cpu", "CPU", 1, {}, why)
    return _make_server({"torch": torch, "torch_npu": WRONG}, broken, chosen)


def machine_after(machine: Machine, packages: dict[str, str]) -> Machine:
    """Return the server once these packages are installed; where torch and torch_npu match, importing works."""
    merged = {**machine.python.packages, **packages}
    torch, torch_npu = merged["torch"], merged["torch_npu"]
    if versions.pair_torch(torch, torch_npu) != "matches":
        return replace(machine, python=replace(machine.python, packages=merged))
    chosen = Chosen("auto", "npu", "Ascend910B2", CARDS, {"torch": torch, "torch_npu": torch_npu})
    return _make_server({"torch": torch, "torch_npu": torch_npu}, Import(torch=torch, cuda={"build": ""}), chosen)


def _make_server(packages: dict[str, str], imported: Import, chosen: Chosen) -> Machine:
    modules = {name.replace("-", "_"): "1.0" for name in versions.load_compatibility()["python_modules"]}
    return Machine(
        Host(
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
        ),
        Python(
            "3.11.9",
            "/usr/bin/python3",
            packages={**modules, "numpy": "1.26.2", **packages},
            torch_npu_folder="/usr/lib/python3/site-packages/torch_npu",
            torch_import=imported,
        ),
        chosen,
        _make_hardware(),
        (CannRoot(f"/usr/local/Ascend/cann-{CANN}", CANN, sourced=True, kernels=("ascend910b",), script="set_env.sh"),),
        environ={"ASCEND_HOME_PATH": f"/usr/local/Ascend/cann-{CANN}"},
    )


def _make_hardware() -> Hardware:
    chips = tuple(Chip(number, 0, "910B2", "OK", hbm_used_mib=3000, hbm_total_mib=65536) for number in range(CARDS))
    cards = tuple(Node(f"/dev/davinci{number}", True) for number in range(CARDS))
    return Hardware(
        pci=tuple(PciChip(f"0000:{number:02x}:00.0", "0xd802", "A2") for number in range(CARDS)),
        nodes=(*cards, *(Node(name, True) for name in MANAGERS)),
        npu_smi=NpuSmi("25.5.0", "25.5.0", chips),
        driver="25.5.0",
        firmware="7.8.0",
        driver_installed=True,
        groups=("HwHiAiUser",),
    )
