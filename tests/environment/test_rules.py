"""Broken machines and the finding each must give; healthy ones that must give none; every outcome in both languages."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Callable

import pytest

from ascend_workbook.environment import check, rules
from ascend_workbook.environment.machine import (
    CannRoot,
    Hardware,
    Hccl,
    Import,
    Kernelspec,
    Machine,
    Nnal,
    Node,
    Nvidia,
    PciChip,
    RankTable,
)
from ascend_workbook.environment.readiness import report_on
from ascend_workbook.environment.system import Untold
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.machine.npu_smi import NpuSmi, Process
from tests.environment import machines as m
from tests.environment.recorded.faults import FAULTS
from tests.environment.recorded.machines import HEALTHY as RECORDED

RULES = rules_of(rules)
BACKEND = "RuntimeError: Failed to load the backend extension: torch_npu"
HCCL = "ImportError: libhccl.so: cannot open shared object file: No such file or directory"
HAL = "ImportError: libascend_hal.so: cannot open shared object file: No such file or directory"
OTHER_CANN = CannRoot("/usr/local/Ascend/ascend-toolkit/8.3.RC1", "8.3.RC1")
NO_CARDS = m.hardware(nodes=())
SMI = NpuSmi("25.5.0", "25.5.0", m.chips())


def unsourced(**changed: object) -> CannRoot:
    return replace(m.CANN, sourced=False, **changed)  # type: ignore[arg-type]


#: name -> (machine, the key that must be found, its status)
BROKEN: dict[str, tuple[Callable[[], Machine], str, Status]] = {
    "macOS asked for an NPU": (
        lambda: m.chosen(m.host(m.laptop(), system="Darwin", distribution=""), wanted="npu", tier=""),
        "ENV010.other",
        Status.FIX,
    ),
    "laptop on riscv": (lambda: m.host(m.laptop(), arch="riscv64"), "ENV010.other", Status.LOOK),
    "old C library": (lambda: m.host(m.server(), glibc="2.17"), "ENV011.old", Status.FIX),
    "musl": (lambda: m.host(m.server(), glibc=Untold("untold.glibc")), "untold.glibc", Status.NOT_LOOKED),
    "one CPU for two cards": (lambda: m.host(m.server(), cpus_usable=1.0), "ENV012.few", Status.LOOK),
    "CPU quota": (lambda: m.host(m.server(), cpus_usable=32.0), "ENV012.cut", Status.NOTE),
    "little memory": (lambda: m.host(m.laptop(), memory_free_mib=900.0), "ENV013.low", Status.LOOK),
    "memory unreadable": (
        lambda: m.host(
            m.laptop(),
            memory_mib=Untold("untold.unreadable", {"path": "/proc/meminfo"}),
            memory_free_mib=Untold("untold.unreadable", {"path": "/proc/meminfo"}),
        ),
        "untold.unreadable",
        Status.NOT_LOOKED,
    ),
    "disk full": (lambda: m.host(m.laptop(), disk_free_mib=100.0), "ENV014.full", Status.FIX),
    "disk nearly full": (lambda: m.host(m.laptop(), disk_free_mib=3000.0), "ENV014.full", Status.LOOK),
    "folder closed": (lambda: m.host(m.laptop(), disk_writable=False), "ENV014.closed", Status.FIX),
    "docker's shm": (lambda: m.host(m.server(), shm_mib=64.0, container="docker"), "ENV015.small", Status.LOOK),
    "no shm": (
        lambda: m.host(m.laptop(), shm_mib=Untold("untold.file", {"path": "/dev/shm", "error": "No such file"})),
        "untold.file",
        Status.NOT_LOOKED,
    ),
    "few open files": (lambda: m.host(m.server(), open_files=256), "ENV016.low", Status.LOOK),
    "npu asked for on a laptop": (
        lambda: m.chosen(m.laptop(), wanted="npu", tier="", why={"say": "device.why.no_cann"}),
        "ENV001.absent",
        Status.FIX,
    ),
    "npu asked for, no chip": (
        lambda: m.chosen(m.laptop(), wanted="npu", tier="", why={"say": "device.why.no_cann"}),
        "ENV020.absent",
        Status.FIX,
    ),
    "NPU fell back to CPU": (lambda: m.unusable(m.server()), "ENV001.unusable", Status.FIX),
    "chips hidden from PCI": (lambda: replace(m.server(), hardware=m.hardware(pci=())), "ENV020.hidden", Status.NOTE),
    "no PCI tree": (
        lambda: replace(m.server(), hardware=m.hardware(pci=Untold("untold.no_pci", {"path": "/sys/bus/pci"}))),
        "untold.no_pci",
        Status.NOT_LOOKED,
    ),
    "driver not loaded": (lambda: m.unusable(replace(m.server(), hardware=NO_CARDS)), "ENV021.none", Status.FIX),
    "container without devices": (
        lambda: m.unusable(m.host(replace(m.server(), hardware=NO_CARDS), container="docker")),
        "ENV021.container",
        Status.FIX,
    ),
    "device file closed": (
        lambda: m.unusable(
            replace(
                m.server(),
                hardware=m.hardware(
                    nodes=(*(replace(node, usable=False) for node in m.hardware().nodes),), groups=("users",)
                ),
            )
        ),
        "ENV021.closed",
        Status.FIX,
    ),
    "manager missing": (
        lambda: m.unusable(replace(m.server(), hardware=m.hardware(nodes=(Node("/dev/davinci0", True),)))),
        "ENV021.missing",
        Status.FIX,
    ),
    "chip ill": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=replace(SMI, chips=m.chips(health="Alarm")))),
        "ENV022.ill",
        Status.FIX,
    ),
    "chip warns": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=replace(SMI, chips=m.chips(health="Warning")))),
        "ENV022.ill",
        Status.LOOK,
    ),
    "npu-smi -8005": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=NpuSmi(error=-8005))),
        "ENV022.error_8005",
        Status.LOOK,
    ),
    "npu-smi -8020": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=NpuSmi(error=-8020))),
        "ENV022.error_8020",
        Status.LOOK,
    ),
    "npu-smi other error": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=NpuSmi(error=-8001))),
        "ENV022.error",
        Status.LOOK,
    ),
    "npu-smi hangs": (
        lambda: replace(
            m.server(), hardware=m.hardware(npu_smi=Untold("untold.timeout", {"tool": "npu-smi", "seconds": "10"}))
        ),
        "untold.timeout",
        Status.NOT_LOOKED,
    ),
    "npu-smi cut short": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=Untold("untold.npu_smi_cut", {"lines": 5}))),
        "untold.npu_smi_cut",
        Status.NOT_LOOKED,
    ),
    "npu-smi broken": (
        lambda: replace(
            m.server(),
            hardware=m.hardware(npu_smi=Untold("untold.tool", {"tool": "npu-smi", "error": "Is a directory"})),
        ),
        "untold.tool",
        Status.NOT_LOOKED,
    ),
    "npu-smi partly unread": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=replace(SMI, unread=("| 2  910B2 |",)))),
        "ENV022.unread",
        Status.NOT_LOOKED,
    ),
    "no npu-smi": (lambda: replace(m.server(), hardware=m.hardware(npu_smi=None)), "ENV022.absent", Status.LOOK),
    "first generation 910B": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=replace(SMI, chips=m.chips(name="910B")))),
        "ENV023.first",
        Status.LOOK,
    ),
    "inference chip": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=replace(SMI, chips=m.chips(name="310P3")))),
        "ENV023.inference",
        Status.LOOK,
    ),
    "one card lost": (
        lambda: replace(m.server(), hardware=m.hardware(npu_smi=replace(SMI, chips=m.chips(1)))),
        "ENV024.differ",
        Status.LOOK,
    ),
    "NPU in use": (
        lambda: replace(
            m.server(), hardware=m.hardware(npu_smi=replace(SMI, processes=(Process(0, 0, 4711, "python", 20000),)))
        ),
        "ENV025.busy",
        Status.LOOK,
    ),
    "visible devices not numbers": (
        lambda: m.environ(m.server(), ASCEND_RT_VISIBLE_DEVICES="all"),
        "ENV026.malformed",
        Status.FIX,
    ),
    "visible device 7 of 2": (
        lambda: m.environ(m.server(), ASCEND_RT_VISIBLE_DEVICES="0,7"),
        "ENV026.wrong",
        Status.FIX,
    ),
    "no driver": (
        lambda: m.unusable(replace(m.server(), hardware=m.hardware(driver="", driver_installed=False))),
        "ENV030.none",
        Status.FIX,
    ),
    "no driver in the container": (
        lambda: m.unusable(
            m.host(replace(m.server(), hardware=m.hardware(driver="", driver_installed=False)), container="docker")
        ),
        "ENV030.container",
        Status.FIX,
    ),
    "driver file unreadable": (
        lambda: replace(
            m.server(),
            hardware=m.hardware(driver=Untold("untold.unreadable", {"path": "/usr/local/Ascend/driver/version.info"})),
        ),
        "untold.unreadable",
        Status.NOT_LOOKED,
    ),
    "driver too old": (
        lambda: replace(m.server(), hardware=m.hardware(driver="24.1.rc3")),
        "ENV030.outside",
        Status.LOOK,
    ),
    "driver not listed": (
        lambda: replace(m.server(), cann=(replace(m.CANN, version="8.0.RC3"),)),
        "ENV030.not_listed",
        Status.NOTE,
    ),
    "driver of odd form": (
        lambda: replace(m.server(), hardware=m.hardware(driver="V100R001C23")),
        "ENV030.not_listed",
        Status.NOTE,
    ),
    "no firmware file": (lambda: replace(m.server(), hardware=m.hardware(firmware="")), "ENV031.none", Status.NOTE),
    "no CANN": (lambda: m.unusable(replace(m.server(), cann=(), environ={})), "ENV040.none", Status.FIX),
    "CANN's version unreadable": (
        lambda: replace(m.server(), cann=(replace(m.CANN, version=""),)),
        "ENV040.unreadable",
        Status.NOT_LOOKED,
    ),
    "pair with an unreadable CANN": (
        lambda: replace(m.server(), cann=(replace(m.CANN, version=""),)),
        "untold.cann_version",
        Status.NOT_LOOKED,
    ),
    "CANN not sourced": (
        lambda: replace(m.server(), cann=(unsourced(),), environ={}),
        "ENV041.not_sourced",
        Status.LOOK,
    ),
    "sourced by sh": (
        lambda: replace(m.server(), cann=(unsourced(),), environ={"ASCEND_HOME_PATH": "."}),
        "ENV041.relative",
        Status.FIX,
    ),
    "CANN uninstalled": (
        lambda: replace(m.server(), cann=(unsourced(),), environ={"ASCEND_HOME_PATH": "/usr/local/Ascend/gone"}),
        "ENV041.missing",
        Status.FIX,
    ),
    "two CANNs in the path": (
        lambda: m.environ(
            replace(m.server(), cann=(m.CANN, OTHER_CANN)),
            LD_LIBRARY_PATH=f"{m.CANN.path}/lib64:{OTHER_CANN.path}/lib64",
        ),
        "ENV042.mixed",
        Status.LOOK,
    ),
    "kernels of another chip": (
        lambda: replace(m.server(), cann=(replace(m.CANN, kernels=("ascend910",)),)),
        "ENV043.missing",
        Status.FIX,
    ),
    "kernels of an unknown chip": (
        lambda: replace(m.server(), hardware=m.hardware(pci=(PciChip("0", "0xd806", "950"),))),
        "ENV043.unknown",
        Status.NOT_LOOKED,
    ),
    "chips that no table names, the bus hidden": (
        lambda: replace(
            m.server(), hardware=m.hardware(pci=(), npu_smi=NpuSmi("25.5.0", "25.5.0", m.chips(2, "910B4-1")))
        ),
        "ENV043.unknown",
        Status.NOT_LOOKED,
    ),
    "simulator by force beside a CANN": (
        lambda: m.chosen(m.server(), tier="npu-simulated"),
        "ENV070.forced",
        Status.LOOK,
    ),
    "simulator built of other sources": (
        lambda: replace(m.laptop(), simulator_old=True),
        "ENV070.old",
        Status.LOOK,
    ),
    "simulator's npu-smi": (
        lambda: replace(m.laptop(), hardware=replace(m.laptop().hardware, simulated_npu_smi=NpuSmi(simulated=True))),
        "ENV070.npu_smi",
        Status.NOTE,
    ),
    "Python without a wheel": (lambda: m.python(m.server(), version="3.8.18"), "ENV050.no_wheel", Status.LOOK),
    "torch missing": (
        lambda: m.broken_import(m.unusable(m.server()), "ModuleNotFoundError: No module named 'torch'"),
        "ENV051.not_installed",
        Status.FIX,
    ),
    "torch_npu without CANN": (
        lambda: m.broken_import(m.chosen(replace(m.laptop(), simulator=""), tier="cpu"), BACKEND, HCCL),
        "ENV051.no_cann",
        Status.FIX,
    ),
    "torch_npu without CANN, simulator at hand": (
        lambda: m.broken_import(m.laptop(), BACKEND, HCCL),
        "ENV051.no_cann",
        Status.LOOK,
    ),
    "libhccl with CANN not sourced": (
        lambda: m.broken_import(replace(m.server(), cann=(unsourced(),), environ={}), BACKEND, HCCL),
        "ENV051.not_sourced",
        Status.LOOK,
    ),
    "driver libraries invisible": (
        lambda: m.broken_import(m.unusable(m.server()), BACKEND, HAL),
        "ENV051.no_driver",
        Status.FIX,
    ),
    "undefined symbol": (
        lambda: m.broken_import(m.unusable(m.server()), BACKEND, "ImportError: x.so: undefined symbol: _ZN3c1"),
        "ENV051.symbol",
        Status.FIX,
    ),
    "backend fails otherwise": (
        lambda: m.broken_import(m.unusable(m.server()), BACKEND, "ValueError: odd"),
        "ENV051.autoload",
        Status.FIX,
    ),
    "torch damaged": (
        lambda: m.broken_import(m.chosen(m.laptop(), tier="cpu"), "OSError: libtorch.so"),
        "ENV051.broken",
        Status.FIX,
    ),
    "torch's import hangs": (
        lambda: m.python(m.laptop(), torch_import=Untold("untold.timeout", {"tool": "import torch", "seconds": "9"})),
        "untold.timeout",
        Status.NOT_LOOKED,
    ),
    "torch_npu missing": (
        lambda: m.unusable(
            m.packages(m.python(m.chosen(m.server(), versions={}), torch_npu_folder=""), torch_npu=None)
        ),
        "ENV052.none",
        Status.FIX,
    ),
    "torch_npu in site-packages of a laptop": (
        lambda: m.python(m.laptop(), torch_npu_folder="/lib/torch_npu"),
        "ENV052.without_cann",
        Status.LOOK,
    ),
    "torch of another release": (
        lambda: m.unusable(m.packages(m.chosen(m.server(), versions={}), torch="2.8.0")),
        "ENV053.wrong",
        Status.FIX,
    ),
    "torch of no known form": (
        lambda: m.packages(m.chosen(m.server(), versions={}), torch="nightly"),
        "untold.version",
        Status.NOT_LOOKED,
    ),
    "CANN too old, torch_npu dead": (
        lambda: m.unusable(replace(m.server(), cann=(replace(m.CANN, version="8.0.RC1"),))),
        "ENV054.outside",
        Status.FIX,
    ),
    "CANN too old, torch_npu works": (
        lambda: replace(m.server(), cann=(replace(m.CANN, version="8.0.RC1"),)),
        "ENV054.outside",
        Status.LOOK,
    ),
    "pair not listed": (
        lambda: m.packages(m.chosen(m.server(), versions={"torch": "2.13.0", "torch_npu": "2.13.0"}), torch="2.13.0"),
        "ENV054.not_listed",
        Status.NOTE,
    ),
    "numpy 2 with CANN 8.5": (lambda: m.packages(m.server(), numpy="2.1.0"), "ENV055.too_new", Status.FIX),
    "no numpy": (lambda: m.packages(m.server(), numpy=None), "ENV055.none", Status.FIX),
    "decorator missing": (lambda: m.packages(m.server(), decorator=None), "ENV056.missing", Status.FIX),
    "folder named torch": (lambda: m.python(m.laptop(), shadows=("torch",)), "ENV057.shadow", Status.LOOK),
    "torchvision of another torch": (lambda: m.packages(m.server(), torchvision="0.20.1"), "ENV058.other", Status.LOOK),
    "TASK_QUEUE_ENABLE overwritten": (
        lambda: m.environ(m.server(), started={"TASK_QUEUE_ENABLE": "2"}, TASK_QUEUE_ENABLE="0"),
        "ENV060.overwritten",
        Status.NOTE,
    ),
    "TASK_QUEUE_ENABLE off": (lambda: m.environ(m.server(), TASK_QUEUE_ENABLE="0"), "ENV060.off", Status.LOOK),
    "TASK_QUEUE_ENABLE odd": (lambda: m.environ(m.server(), TASK_QUEUE_ENABLE="yes"), "ENV060.unknown", Status.LOOK),
    "library path late in a kernel": (
        lambda: m.environ(m.python(m.laptop(), interactive=True), started={}, LD_LIBRARY_PATH="/x"),
        "ENV061.late",
        Status.LOOK,
    ),
    "library path late in a script": (
        lambda: m.environ(m.laptop(), started={}, LD_LIBRARY_PATH="/x"),
        "ENV061.late",
        Status.LOOK,
    ),
    "start of the process unreadable": (
        lambda: replace(m.laptop(), started=Untold("untold.file", {"path": "/proc/self/environ", "error": "no"})),
        "untold.file",
        Status.NOT_LOOKED,
    ),
    "rank table left over": (
        lambda: m.environ(m.server(), RANK_TABLE_FILE="/user/config/jobstart_hccl.json"),
        "ENV062.left",
        Status.LOOK,
    ),
    "simulator sourced, npu asked for": (
        lambda: m.chosen(
            replace(m.laptop(), cann=(m.SIMULATED,)), wanted="npu", tier="", why={"say": "device.why.not_real"}
        ),
        "ENV070.sourced",
        Status.NOTE,
    ),
    "CUDA build without a card": (
        lambda: m.python(m.laptop(), torch_import=Import(torch="2.9.0+cu126", cuda={"build": "12.6"})),
        "ENV080.no_device",
        Status.NOTE,
    ),
    "little locked memory beside two GPUs": (
        lambda: replace(m.host(m.gpu(), locked_bytes=8 << 20), nvidia=Nvidia(2, "560.35.03")),
        "ENV017.locked",
        Status.NOTE,
    ),
    "CANN's stub, no driver": (
        lambda: replace(m.laptop(), hardware=Hardware(pci=(), hal="/usr/local/Ascend/cann/devlib/libascend_hal.so")),
        "ENV032.stub_only",
        Status.NOTE,
    ),
    "NNAL not sourced": (
        lambda: replace(m.server(), nnal=Nnal("/usr/local/Ascend/nnal/atb/latest", "8.5.0")),
        "ENV044.not_sourced",
        Status.NOTE,
    ),
    "bash cannot source": (
        lambda: replace(m.server(), cann=(replace(m.CANN, unset=Untold("untold.script", {"path": "/c/set_env.sh"})),)),
        "untold.script",
        Status.NOT_LOOKED,
    ),
    "no set_env.sh": (
        lambda: replace(m.server(), cann=(replace(m.CANN, unset=Untold("untold.no_script", {"path": "/c"})),)),
        "untold.no_script",
        Status.NOT_LOOKED,
    ),
    "torch_npu no longer maintained": (
        lambda: m.chosen(m.server(), versions={"torch": "2.1.0", "torch_npu": "2.1.0.post17"}),
        "ENV059.old",
        Status.NOTE,
    ),
    "hccn.conf without the second NPU": (
        lambda: replace(m.server(), hccl=Hccl(devices={0: "192.168.100.101"})),
        "ENV063.missing",
        Status.LOOK,
    ),
    "hccn.conf unreadable": (
        lambda: replace(m.server(), hccl=Hccl(devices=Untold("untold.file", {"path": "/etc/hccn.conf", "error": "x"}))),
        "untold.file",
        Status.NOT_LOOKED,
    ),
    "no kernel carries CANN": (
        lambda: replace(m.server(), kernelspecs=(Kernelspec("python3", "/k", "python"),)),
        "ENV066.without",
        Status.NOTE,
    ),
    "a driver and CUDA, but no GPU for torch": (
        lambda: replace(
            m.python(m.chosen(m.gpu(), tier="cpu"), torch_import=Import(torch="2", cuda={"build": "12.6"})),
            nvidia=Nvidia(8, "560.35.03"),
        ),
        "ENV081.unseen",
        Status.LOOK,
    ),
    "container without a driver": (
        lambda: m.unusable(
            m.host(replace(m.server(), hardware=m.hardware(driver="", driver_installed=False)), container="docker")
        ),
        "ENV090.no_driver",
        Status.FIX,
    ),
    "ModelArts preset engine": (
        lambda: m.environ(m.server(), MA_VJ_NAME="job", MA_NUM_GPUS="8", RANK_TABLE_FILE="/r.json", RANK="0"),
        "ENV091.rtf",
        Status.NOTE,
    ),
}

HEALTHY: dict[str, Callable[[], Machine]] = {
    "A2 server": m.server,
    "A2 server in a container": lambda: m.host(m.server(), container="docker"),
    "laptop with the simulator": m.laptop,
    "laptop, simulator not built": lambda: m.chosen(replace(m.laptop(), simulator=""), tier="cpu", name="CPU"),
    "laptop, simulator built but cuda asked for": lambda: m.chosen(m.gpu(simulator="/s"), wanted="cuda"),
    "simulator's kernel": lambda: replace(
        m.python(m.laptop(), torch_npu_folder="/opt/simulator/python/torch_npu"),
        cann=(m.SIMULATED,),
        environ={"ASCEND_HOME_PATH": m.SIMULATED.path},
    ),
    "GPU server": m.gpu,
    "laptop with torch_npu, autoload off": lambda: m.environ(
        m.python(m.laptop(), torch_npu_folder="/lib/torch_npu"),
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    ),
    "visible devices chosen": lambda: m.environ(
        m.packages(m.server(), torchvision="0.24.0"), ASCEND_RT_VISIBLE_DEVICES="1", TASK_QUEUE_ENABLE="2"
    ),
    "ModelArts notebook": lambda: m.environ(m.server(), MA_HOME="/home/ma-user"),
    "ModelArts job": lambda: m.environ(m.server(), MA_VJ_NAME="job", MA_NUM_HOSTS="2", MA_NUM_GPUS="8"),
    "newest pair": lambda: m.packages(
        replace(
            m.chosen(m.server(), versions={"torch": "2.12.0", "torch_npu": "2.12.0"}),
            cann=(replace(m.CANN, version="9.1.0"),),
            hardware=m.hardware(driver="26.1.0"),
        ),
        torch="2.12.0",
        torch_npu="2.12.0",
        numpy="2.1.2",
    ),
    "compatible pair": lambda: replace(
        m.server(), cann=(replace(m.CANN, version="9.0.0"),), hardware=m.hardware(driver="26.1.0")
    ),
    "laptop, torch_npu with a CANN of its own": lambda: m.chosen(
        m.laptop(), versions={"torch": "2.12.0", "torch_npu": "2.12.0"}
    ),
    "kernel with CANN's values, a table that fits": lambda: replace(
        m.environ(m.server(), RANK_TABLE_FILE="/r.json", RANK_SIZE="2", RANK="0"),
        kernelspecs=(Kernelspec("npu", "/k", "python", cann="/c"),),
        hccl=Hccl(rank_table=RankTable("/r.json", 2, 1)),
    ),
    "library of no torch_npu": lambda: m.packages(m.chosen(m.laptop(), tier="cpu", versions={}), torch_npu=None),
}


def findings(machine: Machine) -> list[Finding]:
    return judge_facts(machine, RULES, strict=True)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_machine_is_named(name: str) -> None:
    machine, key, status = BROKEN[name]
    found = {(finding.key, finding.status) for finding in findings(machine())}
    assert (key, status) in found, sorted(found)


@pytest.mark.parametrize("name", BROKEN)
def test_one_fault_gives_no_other_failure(name: str) -> None:
    """A single fault in an otherwise healthy machine fails in its own rule only (and in the device it takes away)."""
    machine, key, status = BROKEN[name]
    failed = {finding.key for finding in findings(machine()) if finding.status is Status.FIX}
    together = {
        "no driver in the container": {"ENV090.no_driver"},
        "container without a driver": {"ENV030.container"},
    }.get(name, set())
    if machine().chosen.wanted == "npu":
        return  # a laptop asked for an NPU lacks everything
    assert failed <= {key, "ENV001.unusable"} | together
    assert (key in failed) == (status is Status.FIX)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_has_no_warning(name: str) -> None:
    bad = [finding.message("en") for finding in findings(HEALTHY[name]()) if finding.status > Status.NOTE]
    assert not bad


@pytest.mark.parametrize("name", [*BROKEN, *HEALTHY])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_report_reads_in_both_languages(name: str, lang: str) -> None:
    machine = BROKEN[name][0]() if name in BROKEN else HEALTHY[name]()
    report = report_on(machine)
    text = report.text(lang)
    assert "{" not in text and report.html(lang, page=False)
    assert bool(re.search("[\u4e00-\u9fff]", text)) == (lang == "zh")


def test_every_outcome_was_seen(tmp_path: Path) -> None:
    """No sentence without a machine that says it, made or recorded; no rule that only ever says one thing."""
    seen = {finding.key for case in BROKEN.values() for finding in findings(case[0]())}
    seen |= {finding.key for machine in HEALTHY.values() for finding in findings(machine())}
    for number, make in enumerate([*(fault.made for fault in FAULTS.values()), *RECORDED.values()]):
        system = make().system(tmp_path / str(number))
        seen |= {finding.key for finding in check(work_folder=tmp_path, system=system).findings[1:]}
    parts = {"ENV017.unlimited", "ENV061.kernel", "ENV061.script"}  # of another sentence
    spoken = {key for key in load_catalogue() if re.match(r"ENV0[1-9]\d\.", key)} - parts
    assert not spoken - seen
    assert {key.split(".")[0] for key in seen if key.startswith("ENV")} == set(RULES)


def test_every_failure_says_what_to_do() -> None:
    for name, (machine, key, status) in BROKEN.items():
        found = next(finding for finding in findings(machine()) if finding.key == key)
        if status in (Status.FIX, Status.LOOK):
            assert found.hint("en") and found.hint("zh"), name


def test_a_rule_that_breaks_is_a_failure() -> None:
    def broken(machine: Machine) -> list[Finding]:
        raise ZeroDivisionError("on purpose")

    found = judge_facts(m.server(), {**RULES, "ENV999": broken})[-1]
    assert (found.status, found.key) == (Status.FIX, "rule.broke")
