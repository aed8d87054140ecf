"""Machines at and beside each bound of the environment's rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ascend_workbook.environment.machine import (
    CannRoot,
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
from ascend_workbook.environment.system import UNLIMITED, Untold
from ascend_workbook.machine.npu_smi import NpuSmi, Process
from tests.environment import machines as m
from tests.rules.lines import Example

OTHER = CannRoot("/usr/local/Ascend/ascend-toolkit/8.3.RC1", "8.3.RC1")
SMI = NpuSmi("25.5.0", "25.5.0", m.chips())
TWO_NODES: dict[str, Any] = {"numa": ((0, 1), (2, 3)), "affinity": (0, 1)}
HCCL_ERROR = "ImportError: libhccl.so: cannot open shared object file: No such file or directory"


def host(machine: Callable[[], Machine] = m.server, **changed: Any) -> Callable[[], Machine]:
    return lambda: m.host(machine(), **changed)


def hardware(machine: Callable[[], Machine] = m.server, **changed: Any) -> Callable[[], Machine]:
    return lambda: replace(machine(), hardware=replace(machine().hardware, **changed))


def changed(machine: Callable[[], Machine] = m.server, **values: Any) -> Callable[[], Machine]:
    return lambda: replace(machine(), **values)


def cann(**values: Any) -> Callable[[], Machine]:
    return lambda: replace(m.server(), cann=(replace(m.CANN, **values),))


def environ(machine: Callable[[], Machine] = m.server, **variables: str) -> Callable[[], Machine]:
    return lambda: m.environ(machine(), **variables)


def python(machine: Callable[[], Machine] = m.server, **values: Any) -> Callable[[], Machine]:
    return lambda: m.python(machine(), **values)


def packages(machine: Callable[[], Machine] = m.server, **versions: str | None) -> Callable[[], Machine]:
    return lambda: m.packages(machine(), **versions)


def smi(**values: Any) -> Callable[[], Machine]:
    return hardware(npu_smi=replace(SMI, **values))


def used(mib: int, *processes: Process) -> Callable[[], Machine]:
    """A chip of 1000 MiB of which so many are in use, and an idle one."""
    chips = tuple(replace(chip, hbm_used_mib=taken, hbm_total_mib=1000) for chip, taken in zip(m.chips(), (mib, 10)))
    return smi(chips=chips, processes=processes)


def near(*nodes: int) -> tuple[PciChip, ...]:
    return tuple(PciChip(str(at), "0xd802", "A2", node) for at, node in enumerate(nodes))


def torch_pair(torch: str, torch_npu: str) -> Callable[[], Machine]:
    return lambda: m.packages(m.chosen(m.server(), versions={"torch": torch, "torch_npu": torch_npu}), torch=torch)


def imported(machine: Callable[[], Machine], *chain: str) -> Callable[[], Machine]:
    return lambda: m.broken_import(machine(), *chain)


def unusable() -> Machine:
    return m.unusable(m.server())


def bare(**variables: str) -> Callable[[], Machine]:
    return lambda: m.environ(m.laptop(), **variables)


def gpus(count: int, driver: str = "560.35.03", build: str = "12.6", name: str = "A100", **values: Any) -> Any:
    cuda = {"build": build, **({"name": name, "count": count} if name else {})}
    return changed(lambda: m.python(m.gpu(), torch_import=Import(torch="2", cuda=cuda)), nvidia=Nvidia(count, driver))


EXAMPLES: list[Example] = [
    ("ENV001", m.server, ["GOOD ENV001.ok count=2 name=Ascend910B2 others=[] tier=npu"]),
    (
        "ENV001",
        m.laptop,
        [
            (
                "GOOD ENV001.ok_others count=2 name=Ascend910B2 others=[ENV001.other(tier=npu "
                "why=device.why.no_cann())] tier=npu-simulated"
            )
        ],
    ),
    ("ENV001", unusable, ["FIX ENV001.unusable count=2 tier=cpu why=device.why.no_device(error=507033) weight=50"]),
    (
        "ENV001",
        lambda: m.chosen(m.laptop(), wanted="npu", tier="", why={"say": "device.why.no_cann"}),
        ["FIX ENV001.absent wanted=npu why=device.why.no_cann() weight=50"],
    ),
    (
        "ENV001",
        lambda: m.chosen(m.laptop(), wanted="npu", tier=""),
        ["FIX ENV001.absent wanted=npu why=report.not_looked() weight=50"],
    ),
    ("ENV010", m.server, ["GOOD ENV010.ok arch=aarch64 kernel=5.15.0 name=Ubuntu 22.04.4 LTS"]),
    ("ENV010", host(arch="riscv64"), ["FIX ENV010.other arch=riscv64 kernel=5.15.0 name=Ubuntu 22.04.4 LTS"]),
    (
        "ENV010",
        host(m.laptop, system="Darwin", distribution=""),
        ["LOOK ENV010.other arch=x86_64 kernel=5.15.0 name=Darwin"],
    ),
    ("ENV011", host(glibc="2.28"), ["GOOD ENV011.enough glibc=2.28 needed=2.28 torch_npu=2.9.0"]),
    (
        "ENV011",
        host(glibc="2.27"),
        [
            (
                "FIX ENV011.old command=environment.nearest_cann(cann=[8.2.RC1] pair=torch==2.5.1 "
                "torch_npu==2.5.1.post1) glibc=2.27 needed=2.28 torch_npu=2.9.0"
            )
        ],
    ),
    ("ENV011", host(m.gpu, glibc="2.5"), ["GOOD ENV011.ok glibc=2.5"]),
    ("ENV012", host(cpus_usable=64.0), ["GOOD ENV012.ok cards=2 cpus=64 usable=64"]),
    ("ENV012", host(cpus_usable=4.0), ["NOTE ENV012.cut cards=2 cpus=64 usable=4"]),
    ("ENV012", host(cpus_usable=3.9), ["LOOK ENV012.few cards=2 cpus=64 usable=3.9"]),
    ("ENV012", host(m.laptop, cpus_usable=1.0), ["NOTE ENV012.cut cards=0 cpus=4 usable=1"]),
    ("ENV012", host(m.laptop, cpus_usable=0.9), ["LOOK ENV012.few cards=0 cpus=4 usable=0.9"]),
    (
        "ENV013",
        host(memory_free_mib=2048.0, memory_mib=4096.0),
        ["GOOD ENV013.ok free_gib=2.0 needed_gib=2 total_gib=4.0"],
    ),
    (
        "ENV013",
        host(memory_free_mib=2047.0, memory_mib=5120.0),
        ["LOOK ENV013.low free_gib=2.0 needed_gib=2 total_gib=5.0"],
    ),
    (
        "ENV014",
        host(disk_free_mib=5120.0, disk_free_entries=10_000),
        ["GOOD ENV014.ok folder=runs free_gib=5.0 needed_gib=5"],
    ),
    ("ENV014", host(disk_free_mib=5119.0), ["LOOK ENV014.full folder=runs free_gib=5.0 needed_gib=5"]),
    ("ENV014", host(disk_free_mib=512.0), ["LOOK ENV014.full folder=runs free_gib=0.5 needed_gib=5"]),
    ("ENV014", host(disk_free_mib=511.0), ["FIX ENV014.full folder=runs free_gib=0.5 needed_gib=5"]),
    (
        "ENV014",
        host(disk_free_entries=9_999),
        ["LOOK ENV014.entries entries=9999 folder=runs free_gib=900.0 needed_gib=5"],
    ),
    ("ENV014", host(disk_writable=False), ["FIX ENV014.closed folder=runs"]),
    ("ENV015", host(shm_mib=1024.0), ["GOOD ENV015.ok needed_gib=1 size_gib=1.00"]),
    ("ENV015", host(shm_mib=1023.0), ["LOOK ENV015.small needed_gib=1 size_gib=1.00"]),
    ("ENV015", host(shm_mib=64.0), ["LOOK ENV015.small needed_gib=1 size_gib=0.06"]),
    ("ENV016", host(open_files=1024), ["GOOD ENV016.ok limit=1024 needed=1024"]),
    ("ENV016", host(open_files=1023), ["LOOK ENV016.low limit=1023 needed=1024"]),
    ("ENV017", host(processes=4096, locked_bytes=64 << 20), ["GOOD ENV017.ok locked=64 needed=4096 processes=4096"]),
    ("ENV017", host(processes=4095), ["LOOK ENV017.low locked=ENV017.unlimited() needed=4096 processes=4095"]),
    (
        "ENV017",
        host(processes=UNLIMITED, locked_bytes=UNLIMITED),
        ["GOOD ENV017.ok locked=ENV017.unlimited() needed=4096 processes=ENV017.unlimited()"],
    ),
    (
        "ENV017",
        changed(host(m.gpu, locked_bytes=(64 << 20) - 1), nvidia=Nvidia(2)),
        [
            "GOOD ENV017.ok locked=63 needed=4096 processes=ENV017.unlimited()",
            "NOTE ENV017.locked locked=63 needed=4096 processes=ENV017.unlimited()",
        ],
    ),
    (
        "ENV017",
        changed(host(m.gpu, locked_bytes=64 << 20), nvidia=Nvidia(2)),
        ["GOOD ENV017.ok locked=64 needed=4096 processes=ENV017.unlimited()"],
    ),
    (
        "ENV017",
        changed(host(m.gpu, locked_bytes=1 << 20), nvidia=Nvidia(1)),
        ["GOOD ENV017.ok locked=1 needed=4096 processes=ENV017.unlimited()"],
    ),
    ("ENV018", hardware(host(**TWO_NODES), pci=near(0, 0)), ["GOOD ENV018.near allowed=[0] near=[0] nodes=2"]),
    (
        "ENV018",
        hardware(host(**TWO_NODES), pci=near(0, 1)),
        ["LOOK ENV018.far allowed=[0] far=[1] near=[0, 1] nodes=2"],
    ),
    ("ENV018", hardware(host(**TWO_NODES), pci=near(-1, 2)), ["GOOD ENV018.ok allowed=[0] near=[] nodes=2"]),
    ("ENV018", hardware(host(numa=((0, 1),), affinity=(0,)), pci=near(0)), []),
    ("ENV018", hardware(host(**TWO_NODES), pci=Untold("untold.no_pci", {"path": "/sys"})), []),
    ("ENV020", m.server, ["GOOD ENV020.ok names=[2 x Ascend 910B (Atlas A2)]"]),
    ("ENV020", hardware(pci=()), ["NOTE ENV020.hidden count=2"]),
    ("ENV020", m.laptop, ["NOTE ENV020.none"]),
    ("ENV020", lambda: m.chosen(m.laptop(), wanted="npu"), ["FIX ENV020.absent"]),
    ("ENV021", m.server, ["GOOD ENV021.ok count=2"]),
    ("ENV021", m.laptop, []),
    ("ENV021", hardware(nodes=()), ["FIX ENV021.none container="]),
    ("ENV021", hardware(host(container="docker"), nodes=()), ["FIX ENV021.container container=docker"]),
    (
        "ENV021",
        hardware(nodes=(Node("/dev/davinci0", True),)),
        ["FIX ENV021.missing paths=[/dev/davinci_manager, /dev/devmm_svm, /dev/hisi_hdc]"],
    ),
    (
        "ENV021",
        hardware(nodes=(*m.hardware().nodes[1:], Node("/dev/davinci0", False))),
        ["FIX ENV021.closed groups=[HwHiAiUser] paths=[/dev/davinci0]"],
    ),
    ("ENV022", m.server, ["GOOD ENV022.ok count=2 version=25.5.0"]),
    (
        "ENV022",
        smi(chips=m.chips(health="Alarm")),
        [
            "FIX ENV022.ill chip=0 health=Alarm name=910B2 npu=0",
            "FIX ENV022.ill chip=0 health=Alarm name=910B2 npu=1",
        ],
    ),
    (
        "ENV022",
        smi(chips=(*m.chips(1), *m.chips(1, health="Odd"))),
        ["LOOK ENV022.ill chip=0 health=Odd name=910B2 npu=0"],
    ),
    ("ENV022", smi(error=-8005), ["LOOK ENV022.error_8005 code=-8005"]),
    ("ENV022", smi(error=-8020), ["LOOK ENV022.error_8020 code=-8020"]),
    ("ENV022", smi(error=-8001), ["LOOK ENV022.error code=-8001"]),
    (
        "ENV022",
        smi(unread=("| 2  910B2 |", "x")),
        ["NOT_LOOKED ENV022.unread first=| 2  910B2 | lines=2", "GOOD ENV022.ok count=2 version=25.5.0"],
    ),
    ("ENV022", smi(chips=()), []),
    ("ENV022", hardware(npu_smi=None), ["LOOK ENV022.absent"]),
    ("ENV022", hardware(m.laptop, npu_smi=None), []),
    ("ENV023", m.server, []),
    (
        "ENV023",
        smi(chips=(*m.chips(1, "910B"), *m.chips(1, "310P3"))),
        ["LOOK ENV023.first names=[910B]", "LOOK ENV023.inference names=[310P3]"],
    ),
    (
        "ENV023",
        hardware(pci=(PciChip("0", "0xd801", "910"), PciChip("1", "0xd500", "310P"))),
        ["LOOK ENV023.first names=[910]", "LOOK ENV023.inference names=[310P]"],
    ),
    ("ENV023", hardware(pci=Untold("untold.no_pci", {})), []),
    ("ENV024", m.server, ["GOOD ENV024.ok counts=[PCI 2, /dev/davinci* 2, npu-smi 2, torch 2]"]),
    ("ENV024", smi(chips=m.chips(1)), ["LOOK ENV024.differ counts=[PCI 2, /dev/davinci* 2, npu-smi 1, torch 2]"]),
    ("ENV024", smi(chips=()), ["GOOD ENV024.ok counts=[PCI 2, /dev/davinci* 2, torch 2]"]),
    (
        "ENV024",
        lambda: m.host(m.environ(smi(chips=m.chips(1))(), ASCEND_RT_VISIBLE_DEVICES="0"), container="c"),
        ["NOTE ENV024.differ counts=[PCI 2, /dev/davinci* 2, npu-smi 1]"],
    ),
    ("ENV024", m.laptop, []),
    ("ENV025", m.server, ["GOOD ENV025.ok"]),
    (
        "ENV025",
        smi(processes=(Process(0, 0, 7, "python", 200), Process(1, 0, 8, "", 300))),
        ["LOOK ENV025.busy count=2 names=[? (pid 8), python (pid 7)] used_mib=500"],
    ),
    ("ENV025", smi(chips=()), []),
    ("ENV025", hardware(npu_smi=None), []),
    ("ENV026", m.server, []),
    ("ENV026", environ(ASCEND_RT_VISIBLE_DEVICES="0, 1"), ["GOOD ENV026.ok count=2 value=0, 1 wrong=[]"]),
    ("ENV026", environ(ASCEND_RT_VISIBLE_DEVICES="0,2"), ["FIX ENV026.wrong count=2 value=0,2 wrong=[2]"]),
    ("ENV026", environ(ASCEND_RT_VISIBLE_DEVICES="1,1"), ["FIX ENV026.wrong count=2 value=1,1 wrong=[1]"]),
    ("ENV026", environ(ASCEND_RT_VISIBLE_DEVICES="all"), ["FIX ENV026.malformed value=all"]),
    ("ENV026", bare(ASCEND_RT_VISIBLE_DEVICES="5"), ["GOOD ENV026.ok count=0 value=5 wrong=[]"]),
    ("ENV027", used(150), ["GOOD ENV027.ok least_gib=0.8 total_gib=1.0"]),
    ("ENV027", used(151), ["LOOK ENV027.held least_gib=0.8 names=[NPU 0 chip 0 (15%)] total_gib=1.0"]),
    ("ENV027", used(900, Process(0, 0, 7, "python", 800)), ["GOOD ENV027.ok least_gib=0.1 total_gib=1.0"]),
    (
        "ENV027",
        used(900, Process(1, 0, 7, "python", 800)),
        ["LOOK ENV027.held least_gib=0.1 names=[NPU 0 chip 0 (90%)] total_gib=1.0"],
    ),
    ("ENV027", smi(chips=tuple(replace(chip, hbm_total_mib=None) for chip in m.chips())), []),
    ("ENV027", hardware(npu_smi=None), []),
    ("ENV030", m.server, ["GOOD ENV030.recommended cann=8.5.0 driver=25.5.0 listed=[]"]),
    ("ENV030", m.laptop, []),
    ("ENV030", hardware(driver=""), ["FIX ENV030.none cann=8.5.0 driver="]),
    ("ENV030", hardware(host(container="docker"), driver=""), ["FIX ENV030.container cann=8.5.0 driver="]),
    (
        "ENV030",
        hardware(driver="24.1.rc3"),
        ["LOOK ENV030.outside cann=8.5.0 driver=24.1.rc3 listed=[25.5.0, 25.5, 25.3, 25.2, 25.0]"],
    ),
    ("ENV030", hardware(driver="V100R001C23"), ["NOTE ENV030.not_listed cann=8.5.0 driver=V100R001C23 listed=[]"]),
    ("ENV030", changed(cann=()), ["NOTE ENV030.not_listed cann= driver=25.5.0 listed=[]"]),
    ("ENV031", m.server, ["GOOD ENV031.ok firmware=7.8.0"]),
    ("ENV031", hardware(firmware=""), ["NOTE ENV031.none firmware="]),
    ("ENV031", m.laptop, []),
    ("ENV032", m.server, []),
    (
        "ENV032",
        hardware(hal="/usr/local/Ascend/driver/lib64/libascend_hal.so"),
        ["GOOD ENV032.ok path=/usr/local/Ascend/driver/lib64/libascend_hal.so"],
    ),
    (
        "ENV032",
        hardware(hal="/usr/local/Ascend/cann/devlib/libascend_hal.so"),
        ["FIX ENV032.stub path=/usr/local/Ascend/cann/devlib/libascend_hal.so"],
    ),
    (
        "ENV032",
        hardware(hal="/c/stub/libascend_hal.so", driver_installed=False),
        ["NOTE ENV032.stub_only path=/c/stub/libascend_hal.so"],
    ),
    (
        "ENV032",
        hardware(m.laptop, hal="/c/stubs/libascend_hal.so", driver_installed=True),
        ["NOTE ENV032.stub_only path=/c/stubs/libascend_hal.so"],
    ),
    ("ENV032", hardware(changed(cann=(m.SIMULATED,)), hal="/opt/simulator/devlib/libascend_hal.so"), []),
    ("ENV040", m.server, ["GOOD ENV040.ok path=/usr/local/Ascend/cann-8.5.0 version=8.5.0"]),
    ("ENV040", changed(cann=()), ["FIX ENV040.none"]),
    ("ENV040", m.laptop, ["NOTE ENV040.none"]),
    ("ENV040", cann(version=""), ["NOT_LOOKED ENV040.unreadable path=/usr/local/Ascend/cann-8.5.0"]),
    ("ENV041", m.server, ["GOOD ENV041.ok path=/usr/local/Ascend/cann-8.5.0"]),
    ("ENV041", m.laptop, []),
    (
        "ENV041",
        changed(cann=(replace(m.CANN, sourced=False),), environ={}),
        ["LOOK ENV041.not_sourced path=/usr/local/Ascend/cann-8.5.0 script=/c/set_env.sh"],
    ),
    (
        "ENV041",
        changed(cann=(replace(m.CANN, sourced=False),), environ={"ASCEND_HOME_PATH": "."}),
        ["FIX ENV041.relative path=. script=/c/set_env.sh"],
    ),
    (
        "ENV041",
        changed(cann=(replace(m.CANN, sourced=False),), environ={"ASCEND_HOME_PATH": "/gone"}),
        ["FIX ENV041.missing path=/gone script=/c/set_env.sh"],
    ),
    ("ENV041", bare(ASCEND_HOME_PATH="/gone"), ["LOOK ENV041.missing path=/gone script=set_env.sh"]),
    (
        "ENV041",
        lambda: m.chosen(cann(sourced=False, script="")(), wanted="cpu", tier="cpu"),
        ["LOOK ENV041.missing path=/usr/local/Ascend/cann-8.5.0 script=set_env.sh"],
    ),
    ("ENV042", m.server, ["GOOD ENV042.ok path=/usr/local/Ascend/cann-8.5.0"]),
    ("ENV042", m.laptop, []),
    (
        "ENV042",
        environ(changed(cann=(m.CANN, OTHER)), LD_LIBRARY_PATH=f"{m.CANN.path}/lib64:{OTHER.path}/lib64"),
        [
            (
                "LOOK ENV042.mixed name=LD_LIBRARY_PATH roots=[/usr/local/Ascend/ascend-toolkit/8.3.RC1, "
                "/usr/local/Ascend/cann-8.5.0]"
            )
        ],
    ),
    (
        "ENV042",
        environ(changed(cann=(m.CANN, OTHER)), PYTHONPATH=f"{m.CANN.path}/python::{m.CANN.path}/x"),
        ["GOOD ENV042.ok path=/usr/local/Ascend/cann-8.5.0"],
    ),
    ("ENV043", m.server, ["GOOD ENV043.ok folder=ascend910b"]),
    (
        "ENV043",
        cann(kernels=("ascend910",)),
        ["FIX ENV043.missing folder=ascend910b found=[ascend910] path=/usr/local/Ascend/cann-8.5.0"],
    ),
    ("ENV043", hardware(pci=(PciChip("0", "0xd806", "950"),)), ["NOT_LOOKED ENV043.unknown kind=950"]),
    ("ENV043", hardware(pci=()), ["GOOD ENV043.ok folder=ascend910b"]),
    (
        "ENV043",
        hardware(pci=(), npu_smi=replace(SMI, chips=m.chips(1, "910B"))),
        ["FIX ENV043.missing folder=ascend910 found=[ascend910b] path=/usr/local/Ascend/cann-8.5.0"],
    ),
    (
        "ENV043",
        hardware(pci=(), npu_smi=replace(SMI, chips=(replace(m.chips(1, "Ascend910")[0], physical_id=0),))),
        ["FIX ENV043.missing folder=ascend910_93 found=[ascend910b] path=/usr/local/Ascend/cann-8.5.0"],
    ),
    ("ENV043", m.laptop, []),
    ("ENV044", m.server, ["NOTE ENV044.none cann=8.5.0 path= told= version="]),
    ("ENV044", m.laptop, []),
    (
        "ENV044",
        changed(nnal=Nnal("/n/atb", "8.5.0", "/n/atb", True)),
        ["GOOD ENV044.ok cann=8.5.0 path=/n/atb told=/n/atb version=8.5.0"],
    ),
    (
        "ENV044",
        changed(nnal=Nnal("/n/atb", "8.5.0")),
        ["NOTE ENV044.not_sourced cann=8.5.0 path=/n/atb told= version=8.5.0"],
    ),
    (
        "ENV044",
        changed(nnal=Nnal("/n/atb", "8.3.0", "/n/atb", True)),
        ["LOOK ENV044.differs cann=8.5.0 path=/n/atb told=/n/atb version=8.3.0"],
    ),
    (
        "ENV044",
        changed(nnal=Nnal("/n/atb", "odd", "/n/atb", True)),
        ["GOOD ENV044.ok cann=8.5.0 path=/n/atb told=/n/atb version=odd"],
    ),
    (
        "ENV044",
        changed(nnal=Nnal("/n/atb", "8.5.0", "/gone", False)),
        ["FIX ENV044.gone cann=8.5.0 path=/n/atb told=/gone version=8.5.0"],
    ),
    (
        "ENV044",
        changed(m.laptop, nnal=Nnal("", "", "/gone", False)),
        ["LOOK ENV044.gone cann= path= told=/gone version="],
    ),
    ("ENV045", m.server, ["GOOD ENV045.ok count=0 names=[] script=/c/set_env.sh"]),
    (
        "ENV045",
        cann(unset=("A", "B"), lacking=("/x", "/y", "/z", "/u", "/v")),
        ["LOOK ENV045.differs count=7 names=[A, B, /x, /y, /z, /u] script=/c/set_env.sh"],
    ),
    ("ENV045", cann(lacking=("/x",)), ["LOOK ENV045.differs count=1 names=[/x] script=/c/set_env.sh"]),
    ("ENV045", cann(sourced=False), []),
    (
        "ENV046",
        cann(components={"toolkit": "8.5.0", "opp": "8.5.0"}),
        ["GOOD ENV046.ok count=2 parts=[toolkit 8.5.0] version=8.5.0"],
    ),
    (
        "ENV046",
        cann(components={"toolkit": "8.5.0", "opp": "8.3.0"}),
        ["FIX ENV046.differ count=2 parts=[toolkit 8.5.0, opp 8.3.0] version=8.5.0"],
    ),
    ("ENV046", cann(components={"toolkit": "8.5.0", "opp": "odd"}), []),
    ("ENV050", m.server, ["GOOD ENV050.ok executable=/usr/bin/python3 python=3.11.9 torch_npu=2.9.0"]),
    (
        "ENV050",
        python(version="3.8.18"),
        [
            (
                "LOOK ENV050.no_wheel command=environment.nearest_cann(cann=[8.1.RC1] pair=torch==2.4.0 "
                "torch_npu==2.4.0.post4) executable=/usr/bin/python3 listed=[3.10, 3.11, 3.12] python=3.8.18 "
                "torch_npu=2.9.0"
            )
        ],
    ),
    (
        "ENV050",
        python(m.gpu, version="3.8.18"),
        ["GOOD ENV050.ok executable=/usr/bin/python3 python=3.8.18 torch_npu="],
    ),
    ("ENV051", m.server, ["GOOD ENV051.ok torch=2.9.0"]),
    ("ENV051", environ(TORCH_DEVICE_BACKEND_AUTOLOAD="0"), ["NOTE ENV051.switched_off torch=2.9.0"]),
    ("ENV051", bare(TORCH_DEVICE_BACKEND_AUTOLOAD="0"), ["GOOD ENV051.ok torch=2.9.0"]),
    (
        "ENV051",
        imported(unusable, "ModuleNotFoundError: No module named 'torch'"),
        [
            (
                "FIX ENV051.not_installed error=ModuleNotFoundError: No module named 'torch' "
                "folder=/usr/lib/python3/site-packages/torch_npu weight=60"
            )
        ],
    ),
    (
        "ENV051",
        imported(m.laptop, "Error: backend", HCCL_ERROR),
        [
            (
                "LOOK ENV051.no_cann error=ImportError: libhccl.so: cannot open shared object file: No such file "
                "or directory folder= library=libhccl.so weight=60"
            )
        ],
    ),
    (
        "ENV051",
        imported(unusable, "Error: backend", HCCL_ERROR),
        [
            (
                "FIX ENV051.not_sourced error=ImportError: libhccl.so: cannot open shared object file: No such "
                "file or directory folder=/usr/lib/python3/site-packages/torch_npu library=libhccl.so "
                "script=/c/set_env.sh weight=60"
            )
        ],
    ),
    (
        "ENV051",
        imported(unusable, "x", HCCL_ERROR.replace("hccl", "ascend_hal")),
        [
            (
                "FIX ENV051.no_driver error=ImportError: libascend_hal.so: cannot open shared object file: No "
                "such file or directory folder=/usr/lib/python3/site-packages/torch_npu library=libascend_hal.so "
                "weight=60"
            )
        ],
    ),
    (
        "ENV051",
        imported(unusable, "x", "ImportError: x.so: undefined symbol: _ZN"),
        [
            (
                "FIX ENV051.symbol error=ImportError: x.so: undefined symbol: _ZN "
                "folder=/usr/lib/python3/site-packages/torch_npu weight=60"
            )
        ],
    ),
    (
        "ENV051",
        imported(unusable, "Failed to load the backend extension: torch_npu", "ValueError"),
        ["FIX ENV051.autoload error=ValueError folder=/usr/lib/python3/site-packages/torch_npu weight=60"],
    ),
    (
        "ENV051",
        imported(unusable, "OSError: libtorch.so"),
        ["FIX ENV051.broken error=OSError: libtorch.so folder=/usr/lib/python3/site-packages/torch_npu weight=60"],
    ),
    ("ENV052", m.server, ["GOOD ENV052.ok folder=/usr/lib/python3/site-packages/torch_npu torch_npu=2.9.0"]),
    ("ENV052", m.laptop, ["GOOD ENV052.aside folder= torch_npu=2.13.0"]),
    (
        "ENV052",
        python(m.laptop, torch_npu_folder="/lib/torch_npu"),
        ["LOOK ENV052.without_cann folder=/lib/torch_npu torch_npu=2.13.0"],
    ),
    (
        "ENV052",
        environ(python(m.laptop, torch_npu_folder="/l"), TORCH_DEVICE_BACKEND_AUTOLOAD="0"),
        ["GOOD ENV052.ok folder=/l torch_npu=2.13.0"],
    ),
    (
        "ENV052",
        changed(python(m.laptop, torch_npu_folder="/l"), cann=(m.SIMULATED,)),
        ["GOOD ENV052.ok folder=/l torch_npu=2.13.0"],
    ),
    ("ENV052", m.gpu, ["NOTE ENV052.none folder= torch_npu="]),
    ("ENV053", m.server, ["GOOD ENV053.matches torch=2.9.0 torch_npu=2.9.0 weight=40"]),
    (
        "ENV053",
        torch_pair("2.8.0", "2.9.0"),
        [
            (
                "FIX ENV053.wrong command=environment.nearest(pair=torch==2.8.0 torch_npu==2.8.0.post2) "
                "torch=2.8.0 torch_npu=2.9.0 wanted=2.9.0 weight=40"
            )
        ],
    ),
    ("ENV053", torch_pair("nightly", "2.9.0"), ["CANNOT untold.version text=nightly"]),
    ("ENV053", m.gpu, []),
    (
        "ENV054",
        m.server,
        [
            (
                "GOOD ENV054.recommended cann=8.5.0 command=None recommended=[torch 2.12.0, torch_npu 2.12.0, cann "
                "9.1.0] torch_npu=2.9.0 wanted_cann=[8.5.0] wanted_npu=[2.9.0] weight=30"
            )
        ],
    ),
    (
        "ENV054",
        cann(version="8.0.RC1"),
        [
            (
                "LOOK ENV054.outside cann=8.0.RC1 command=environment.nearest_cann(cann=[9.1.0] "
                "pair=torch==2.9.0 torch_npu==2.9.0.post6) recommended=[torch 2.12.0, torch_npu 2.12.0, cann "
                "9.1.0] torch_npu=2.9.0 wanted_cann=[8.5.0] wanted_npu=[2.2.0, 2.1.0.post4, 1.11.0.post11] "
                "weight=30"
            )
        ],
    ),
    (
        "ENV054",
        lambda: m.unusable(cann(version="8.0.RC1")()),
        [
            (
                "FIX ENV054.outside cann=8.0.RC1 command=environment.nearest_cann(cann=[9.1.0] "
                "pair=torch==2.9.0 torch_npu==2.9.0.post6) recommended=[torch 2.12.0, torch_npu 2.12.0, cann "
                "9.1.0] torch_npu=2.9.0 wanted_cann=[8.5.0] wanted_npu=[2.2.0, 2.1.0.post4, 1.11.0.post11] "
                "weight=30"
            )
        ],
    ),
    ("ENV054", cann(version=""), ["CANNOT untold.cann_version path=/usr/local/Ascend/cann-8.5.0"]),
    (
        "ENV054",
        cann(version="9.0.0"),
        [
            (
                "GOOD ENV054.compatible cann=9.0.0 command=None recommended=[torch 2.12.0, torch_npu 2.12.0, cann "
                "9.1.0] torch_npu=2.9.0 wanted_cann=[8.5.0] wanted_npu=[2.9.0.post2] weight=30"
            )
        ],
    ),
    (
        "ENV054",
        torch_pair("2.13.0", "2.13.0"),
        [
            (
                "NOTE ENV054.not_listed cann=8.5.0 command=None recommended=[torch 2.12.0, torch_npu 2.12.0, "
                "cann 9.1.0] torch_npu=2.13.0 wanted_cann=[] wanted_npu=[2.9.0, 2.8.0.post2, 2.7.1.post2, "
                "2.6.0.post5] weight=30"
            )
        ],
    ),
    (
        "ENV054",
        lambda: m.chosen(m.laptop(), versions={"torch": "2.12.0", "torch_npu": "2.12.0"}),
        [
            (
                "NOTE ENV054.later recommended=[torch 2.12.0, torch_npu 2.12.0, cann 9.1.0] torch_npu=2.12.0 "
                "wanted_cann=[9.1.0]"
            )
        ],
    ),
    (
        "ENV054",
        m.laptop,
        [
            (
                "NOTE ENV054.later_not_listed recommended=[torch 2.12.0, torch_npu 2.12.0, cann 9.1.0] "
                "torch_npu=2.13.0 wanted_cann=[]"
            )
        ],
    ),
    ("ENV054", m.gpu, []),
    ("ENV055", m.server, ["GOOD ENV055.ok below=2 cann=8.5.0 numpy=1.26.2"]),
    ("ENV055", packages(numpy="2.0.0"), ["FIX ENV055.too_new below=2 cann=8.5.0 numpy=2.0.0"]),
    ("ENV055", packages(numpy=None), ["FIX ENV055.none"]),
    ("ENV055", packages(numpy="odd"), ["CANNOT untold.version text=odd"]),
    ("ENV055", packages(m.laptop, numpy=None), ["LOOK ENV055.none"]),
    ("ENV056", m.server, ["GOOD ENV056.ok count=10"]),
    (
        "ENV056",
        packages(decorator=None, attrs=None),
        ["FIX ENV056.missing install=attrs decorator missing=[attrs, decorator] python=/usr/bin/python3"],
    ),
    ("ENV056", m.laptop, []),
    ("ENV057", m.server, ["GOOD ENV057.ok names=[]"]),
    ("ENV057", python(shadows=("torch", "te")), ["LOOK ENV057.shadow names=[torch, te]"]),
    ("ENV058", packages(torchvision="0.24.0"), ["GOOD ENV058.ok torch=2.9.0 torchvision=0.24.0 wanted=0.24"]),
    ("ENV058", packages(torchvision="0.23.0"), ["LOOK ENV058.other torch=2.9.0 torchvision=0.23.0 wanted=0.24"]),
    ("ENV058", packages(torchvision="odd"), []),
    ("ENV058", m.server, []),
    ("ENV059", m.server, []),
    ("ENV059", packages(triton="3.2.0", triton_ascend="3.2.1"), ["FIX ENV059.triton ascend=3.2.1 triton=3.2.0"]),
    (
        "ENV059",
        packages(m.laptop, triton="3.2.0", triton_ascend="3.2.1"),
        ["LOOK ENV059.triton ascend=3.2.1 triton=3.2.0"],
    ),
    ("ENV059", packages(triton="3.2.0"), []),
    ("ENV059", torch_pair("2.1.0", "2.1.0.post17"), ["NOTE ENV059.old torch_npu=2.1.0.post17"]),
    ("ENV059", torch_pair("2.1.0", "odd"), ["CANNOT untold.version text=odd"]),
    ("ENV060", m.server, ["GOOD ENV060.unset before=None now=None"]),
    ("ENV060", environ(TASK_QUEUE_ENABLE="2"), ["GOOD ENV060.ok before=2 now=2"]),
    ("ENV060", environ(TASK_QUEUE_ENABLE="0"), ["LOOK ENV060.off before=0 now=0"]),
    ("ENV060", bare(TASK_QUEUE_ENABLE="0"), ["GOOD ENV060.ok before=0 now=0"]),
    ("ENV060", environ(TASK_QUEUE_ENABLE="3"), ["LOOK ENV060.unknown before=3 now=3"]),
    (
        "ENV060",
        lambda: m.environ(m.server(), started={"TASK_QUEUE_ENABLE": "2"}, TASK_QUEUE_ENABLE="0"),
        ["NOTE ENV060.overwritten before=2 now=0"],
    ),
    ("ENV061", m.server, ["GOOD ENV061.ok"]),
    (
        "ENV061",
        lambda: m.environ(m.laptop(), started={}, LD_LIBRARY_PATH="/x"),
        ["LOOK ENV061.late where=ENV061.script()"],
    ),
    (
        "ENV061",
        lambda: m.environ(python(interactive=True)(), started={}, LD_LIBRARY_PATH="/x"),
        ["LOOK ENV061.late where=ENV061.kernel()"],
    ),
    ("ENV062", m.server, []),
    (
        "ENV062",
        environ(RANK_TABLE_FILE="/r.json", RANK_ID="0"),
        ["LOOK ENV062.left names=[RANK_TABLE_FILE, RANK_ID] unset=RANK_TABLE_FILE RANK_ID"],
    ),
    ("ENV062", environ(RANK_TABLE_FILE="/r.json", RANK="0"), []),
    ("ENV062", bare(RANK_SIZE="8"), ["NOTE ENV062.left names=[RANK_SIZE] unset=RANK_SIZE"]),
    ("ENV063", m.server, ["NOTE ENV063.none"]),
    ("ENV063", hardware(nodes=m.hardware().nodes[1:], pci=(), npu_smi=None), []),
    (
        "ENV063",
        changed(hccl=Hccl(devices={0: "10.0.0.1", 1: "10.0.0.2"})),
        ["GOOD ENV063.ok count=2 missing=[] twice=[]"],
    ),
    ("ENV063", changed(hccl=Hccl(devices={0: "10.0.0.1"})), ["LOOK ENV063.missing count=1 missing=[1] twice=[]"]),
    (
        "ENV063",
        changed(hccl=Hccl(devices={0: "10.0.0.1", 1: "10.0.0.1"})),
        ["FIX ENV063.twice count=2 missing=[] twice=[10.0.0.1]"],
    ),
    ("ENV063", changed(m.laptop, hccl=Hccl(devices={0: "10.0.0.1"})), []),
    ("ENV064", m.server, []),
    ("ENV064", changed(hccl=Hccl(rank_table=RankTable("/r", 2, 1))), ["GOOD ENV064.ok path=/r ranks=2 servers=1"]),
    (
        "ENV064",
        environ(changed(hccl=Hccl(rank_table=RankTable("/r", 2, 1))), RANK_SIZE="2"),
        ["GOOD ENV064.ok path=/r ranks=2 servers=1"],
    ),
    (
        "ENV064",
        environ(changed(hccl=Hccl(rank_table=RankTable("/r", 2, 1))), RANK_SIZE="8"),
        ["FIX ENV064.size path=/r ranks=2 servers=1 size=8"],
    ),
    (
        "ENV064",
        environ(changed(m.laptop, hccl=Hccl(rank_table=RankTable("/r", 2, 1))), RANK_SIZE="8"),
        ["LOOK ENV064.size path=/r ranks=2 servers=1 size=8"],
    ),
    (
        "ENV064",
        lambda: m.chosen(
            replace(m.server(), hccl=Hccl(rank_table=RankTable("/r", 0, 0, {"say": "untold.no_pci"}))), count=1
        ),
        ["LOOK ENV064.unfit path=/r ranks=0 servers=0 why=untold.no_pci()"],
    ),
    ("ENV065", m.server, []),
    (
        "ENV065",
        environ(HCCL_CONNECT_TIMEOUT="120", HCCL_IF_BASE_PORT="65520"),
        ["GOOD ENV065.ok names=[HCCL_CONNECT_TIMEOUT, HCCL_IF_BASE_PORT]"],
    ),
    (
        "ENV065",
        environ(HCCL_CONNECT_TIMEOUT="119", HCCL_IF_BASE_PORT="65521"),
        [
            "FIX ENV065.range high=7200 low=120 name=HCCL_CONNECT_TIMEOUT value=119",
            "FIX ENV065.range high=65520 low=1024 name=HCCL_IF_BASE_PORT value=65521",
        ],
    ),
    (
        "ENV065",
        environ(HCCL_CONNECT_TIMEOUT="7200", HCCL_IF_BASE_PORT="1024"),
        ["GOOD ENV065.ok names=[HCCL_CONNECT_TIMEOUT, HCCL_IF_BASE_PORT]"],
    ),
    (
        "ENV065",
        bare(HCCL_CONNECT_TIMEOUT="7201", HCCL_IF_BASE_PORT="1023"),
        [
            "LOOK ENV065.range high=7200 low=120 name=HCCL_CONNECT_TIMEOUT value=7201",
            "LOOK ENV065.range high=65520 low=1024 name=HCCL_IF_BASE_PORT value=1023",
        ],
    ),
    (
        "ENV065",
        environ(changed(hccl=Hccl(interfaces=("eth0",))), HCCL_SOCKET_IFNAME="enp,eth"),
        ["GOOD ENV065.ok names=[HCCL_SOCKET_IFNAME]"],
    ),
    (
        "ENV065",
        environ(changed(hccl=Hccl(interfaces=("lo", "eth0", "docker0"))), HCCL_SOCKET_IFNAME="eth"),
        ["GOOD ENV065.ok names=[HCCL_SOCKET_IFNAME]"],
    ),
    (
        "ENV065",
        environ(changed(hccl=Hccl(interfaces=("eth0",))), HCCL_SOCKET_IFNAME="=eth"),
        ["FIX ENV065.interface found=[eth0] value==eth"],
    ),
    (
        "ENV065",
        environ(changed(hccl=Hccl(interfaces=("eth0",))), HCCL_SOCKET_IFNAME="=eth0"),
        ["GOOD ENV065.ok names=[HCCL_SOCKET_IFNAME]"],
    ),
    (
        "ENV065",
        environ(changed(hccl=Hccl(interfaces=("eth0",))), HCCL_SOCKET_IFNAME="^eth"),
        ["FIX ENV065.interface found=[eth0] value=^eth"],
    ),
    (
        "ENV065",
        environ(changed(hccl=Hccl(interfaces=("eth0",))), HCCL_SOCKET_IFNAME="^=eth"),
        ["GOOD ENV065.ok names=[HCCL_SOCKET_IFNAME]"],
    ),
    ("ENV066", m.server, []),
    (
        "ENV066",
        changed(kernelspecs=(Kernelspec("npu", "/k", "python", cann="/c"),)),
        ["GOOD ENV066.ok count=1 script=/c/set_env.sh"],
    ),
    (
        "ENV066",
        changed(kernelspecs=(Kernelspec("plain", "/k", "python"),)),
        ["NOTE ENV066.without count=1 script=/c/set_env.sh"],
    ),
    (
        "ENV066",
        changed(m.laptop, kernelspecs=(Kernelspec("plain", "/k", "python"),)),
        ["GOOD ENV066.ok count=1 script="],
    ),
    (
        "ENV066",
        changed(
            kernelspecs=(
                Kernelspec("gone", "/k", "/no/python", False, ("X",)),
                Kernelspec("odd", "/k", "python", literal=("LD_LIBRARY_PATH",)),
                Kernelspec("plain", "/k", "python"),
            )
        ),
        [
            "LOOK ENV066.gone name=gone names=[X] path=/k python=/no/python",
            "LOOK ENV066.literal name=odd names=[LD_LIBRARY_PATH] path=/k python=python",
        ],
    ),
    ("ENV070", m.server, []),
    ("ENV070", m.laptop, ["NOTE ENV070.in_use count=2 folder=/opt/simulator name=Ascend910B2"]),
    (
        "ENV070",
        changed(m.laptop, simulator_old=True),
        ["LOOK ENV070.old folder=/opt/simulator", "NOTE ENV070.in_use count=2 folder=/opt/simulator name=Ascend910B2"],
    ),
    ("ENV070", m.gpu, ["NOTE ENV070.none count=8 folder= name=NVIDIA A100"]),
    (
        "ENV070",
        lambda: m.chosen(m.server(), tier="npu-simulated"),
        ["LOOK ENV070.forced cann=/usr/local/Ascend/cann-8.5.0 count=2 folder= name=Ascend910B2"],
    ),
    (
        "ENV070",
        lambda: m.chosen(m.gpu(simulator="/s"), wanted="cuda"),
        ["NOTE ENV070.built count=8 folder=/s name=NVIDIA A100"],
    ),
    (
        "ENV070",
        lambda: m.chosen(replace(m.laptop(), cann=(m.SIMULATED,)), wanted="npu", tier=""),
        ["NOTE ENV070.sourced folder=/opt/simulator"],
    ),
    ("ENV070", hardware(m.server, simulated_npu_smi=replace(SMI, simulated=True)), ["NOTE ENV070.npu_smi count=2"]),
    ("ENV080", m.gpu, ["GOOD ENV080.ok build=12.6 count=8 name=NVIDIA A100"]),
    ("ENV080", m.laptop, ["NOTE ENV080.cpu torch=2.9.0"]),
    ("ENV080", gpus(1, name=""), ["NOTE ENV080.no_device build=12.6 torch=2"]),
    ("ENV080", imported(m.laptop, "x"), []),
    ("ENV081", m.laptop, []),
    ("ENV081", gpus(2), ["GOOD ENV081.ok build=12.6 driver=560.35.03 gpus=2"]),
    ("ENV081", gpus(2, driver="525.60.13"), ["GOOD ENV081.ok build=12.6 driver=525.60.13 gpus=2"]),
    ("ENV081", gpus(2, driver="525.60.12"), ["LOOK ENV081.old build=12.6 driver=525.60.12 gpus=2 needed=525.60.13"]),
    ("ENV081", gpus(2, driver=""), ["LOOK ENV081.no_driver build=12.6 driver= gpus=2"]),
    ("ENV081", gpus(2, name=""), ["LOOK ENV081.unseen build=12.6 driver=560.35.03 gpus=2"]),
    ("ENV081", gpus(2, build=""), ["LOOK ENV081.no_cuda build= driver=560.35.03 gpus=2"]),
    (
        "ENV081",
        lambda: m.chosen(gpus(0, build="")(), wanted="cuda"),
        ["FIX ENV081.no_cuda build= driver=560.35.03 gpus=0"],
    ),
    ("ENV081", imported(gpus(2), "x"), []),
    ("ENV090", m.server, []),
    ("ENV090", host(container="docker"), ["GOOD ENV090.ok kind=docker"]),
    ("ENV090", hardware(host(container="docker"), driver_installed=False), ["FIX ENV090.no_driver kind=docker"]),
    ("ENV091", m.server, []),
    ("ENV091", environ(MA_HOME="/home"), ["NOTE ENV091.notebook"]),
    (
        "ENV091",
        environ(MA_VJ_NAME="job", VC_WORKER_NUM="2", MA_NUM_GPUS="8"),
        ["NOTE ENV091.job cards=8 hosts=2 method=rtf"],
    ),
    ("ENV091", environ(MA_VJ_NAME="job", RANK_TABLE_FILE="/r"), ["NOTE ENV091.rtf cards=? hosts=? method=rtf"]),
    (
        "ENV091",
        environ(MA_VJ_NAME="job", RANK_TABLE_FILE="/r", MA_RUN_METHOD="torchrun"),
        ["NOTE ENV091.job cards=? hosts=? method=torchrun"],
    ),
    ("ENV092", m.server, []),
    (
        "ENV092",
        hardware(npu_smi_folder="/usr/local/bin/npu-smi", driver_empty="/usr/local/Ascend/driver"),
        [
            "FIX ENV092.driver driver=/usr/local/Ascend/driver npu_smi=/usr/local/bin/npu-smi",
            "LOOK ENV092.npu_smi driver=/usr/local/Ascend/driver npu_smi=/usr/local/bin/npu-smi",
        ],
    ),
    (
        "ENV092",
        hardware(m.laptop, driver_empty="/usr/local/Ascend/driver"),
        ["LOOK ENV092.driver driver=/usr/local/Ascend/driver npu_smi="],
    ),
    ("ENV043", changed(cann=()), []),
    ("ENV043", lambda: m.chosen(m.server(), wanted="cpu", tier="cpu"), []),
    (
        "ENV046",
        cann(components={"toolkit": "8.5.0", "opp": "8.5.0.1"}),
        ["FIX ENV046.differ count=2 parts=[toolkit 8.5.0, opp 8.5.0.1] version=8.5.0"],
    ),
    (
        "ENV046",
        lambda: m.chosen(cann(components={"toolkit": "8.5.0", "opp": "8.3.0"})(), wanted="cpu", tier="cpu"),
        ["LOOK ENV046.differ count=2 parts=[toolkit 8.5.0, opp 8.3.0] version=8.5.0"],
    ),
    ("ENV027", m.server, ["GOOD ENV027.ok least_gib=61.1 total_gib=64.0"]),
    (
        "ENV044",
        changed(nnal=Nnal("/n/atb", "", "/n/atb", True)),
        ["GOOD ENV044.ok cann=8.5.0 path=/n/atb told=/n/atb version="],
    ),
]
