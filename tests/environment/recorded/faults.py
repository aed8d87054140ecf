"""One fault each in a machine that is well: what the check must name, and what else that fault takes with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable

from ascend_workbook.environment.system import Disk
from ascend_workbook.findings.finding import Status
from tests.environment.recorded import machines as m
from tests.environment.recorded.made import GIB, Made
from tests.environment.recorded.npu_smi import chips, table

NEW, OLD = f"{m.ASCEND}/cann-9.1.0", f"{m.ASCEND}/ascend-toolkit/8.3.RC1"
FIX, LOOK = Status.FIX, Status.LOOK
BACKEND = "RuntimeError: Failed to load the backend extension: torch_npu. You can disable extension auto-loading"


@dataclass(frozen=True)
class Fault:
    """`key` with `status` is the finding that names it; `besides` are the other rules that may warn or fail, exactly.

    `fix` is what its next step must say, `words` of which one must stand in its sentence.
    """

    base: Callable[[], Made]
    breaks: Callable[[Made], None]
    key: str
    status: Status
    fix: str
    besides: dict[str, Status]
    words: tuple[str, ...]

    def made(self) -> Made:
        made = self.base()
        self.breaks(made)
        return made


FAULTS: dict[str, Fault] = {}


def fault(
    name: str, base: Callable[[], Made], key: str, status: Status, fix: str, *words: str, **besides: Status
) -> Callable[[Callable[[Made], None]], None]:
    """Registers the decorated function, which breaks the machine, under `name`."""

    def register(breaks: Callable[[Made], None]) -> None:
        FAULTS[name] = Fault(base, breaks, key, status, fix, besides, words)

    return register


def unusable(made: Made, error: str = "507033") -> None:
    """torch cannot use the NPUs that are there."""
    made.process.tiers.pop("npu", None)
    made.process.why["npu"] = {"say": "device.why.no_device", "args": {"error": error}}


def import_fails(made: Made, last: str, first: str = BACKEND) -> None:
    made.process.imported = {"ok": False, "error": first, "chain": [first, last]}


def no_library(made: Made, name: str) -> None:
    import_fails(made, f"ImportError: {name}: cannot open shared object file: No such file or directory")


# CANN's environment ---------------------------------------------------------------------------------------------------
@fault("set_env.sh sourced by sh", m.bare_metal, "ENV041.relative", FIX, "bash -c", "relative", "sh,", ENV051=LOOK)
def _(made: Made) -> None:
    made.sourced = ""
    made.environ.update(ASCEND_HOME_PATH=".", LD_LIBRARY_PATH="./lib64")
    no_library(made, "libhccl.so")


@fault(
    "set_env.sh not sourced",
    m.modelarts,
    "ENV051.not_sourced",
    LOOK,
    "source /usr/local",
    "not in the environment",
    ENV041=LOOK,
)
def _(made: Made) -> None:
    made.sourced = ""
    no_library(made, "libhccl.so")


@fault("environment of an uninstalled CANN", m.bare_metal, "ENV041.missing", FIX, "source", "cann-8.5.0", ENV051=LOOK)
def _(made: Made) -> None:
    made.sourced = ""
    gone = f"{m.ASCEND}/cann-8.5.0"
    made.environ.update(ASCEND_HOME_PATH=gone, LD_LIBRARY_PATH=f"{gone}/lib64")
    no_library(made, "libhccl.so")


@fault("two CANNs in one search path", m.bare_metal, "ENV042.mixed", LOOK, "one set_env.sh only", "mix")
def _(made: Made) -> None:
    m.cann(made, OLD, "8.3.RC1", "aarch64", "ascend910b")
    made.links[f"{m.ASCEND}/ascend-toolkit/latest"] = "8.3.RC1"
    made.sourced = f"{NEW}/set_env.sh"
    made.files[f"{NEW}/set_env.sh"] += f"export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:{OLD}/lib64\n"


@fault(
    "variables set by hand, half of them",
    m.bare_metal,
    "ENV045.differs",
    LOOK,
    "source /usr/local/Ascend/cann-9",
    "ASCEND_OPP_PATH",
)
def _(made: Made) -> None:
    made.sourced = ""
    made.environ.update(ASCEND_HOME_PATH=NEW, LD_LIBRARY_PATH=f"{NEW}/lib64:{m.ASCEND}/driver/lib64/driver")


@fault(
    "CANN's stub libascend_hal.so first", m.bare_metal, "ENV032.stub", FIX, "driver/lib64/driver", "stub", ENV001=FIX
)
def _(made: Made) -> None:
    made.files[f"{NEW}/set_env.sh"] += f"export LD_LIBRARY_PATH={NEW}/devlib:$LD_LIBRARY_PATH\n"
    unusable(made)


@fault("operators of another chip", m.a3, "ENV043.missing", FIX, "kernels", "ascend910_93")
def _(made: Made) -> None:
    home = f"{m.ASCEND}/cann-9.0.0/{m.KERNEL}"
    made.files[f"{home}/ascend910b/add.json"] = made.files.pop(f"{home}/ascend910_93/add.json")


@fault("toolkit upgraded, operators not", m.bare_metal, "ENV046.differ", FIX, "kernels package", "opp_kernel")
def _(made: Made) -> None:
    made.files.pop(f"{NEW}/aarch64-linux/ascend_ops_install.info")
    m.cann(made, NEW, "9.1.0", "aarch64", "ascend910b", ops="9.0.0")


@fault("ATB_HOME_PATH of an uninstalled NNAL", m.bare_metal, "ENV044.gone", FIX, "nnal/atb/set_env.sh", "ATB_HOME_PATH")
def _(made: Made) -> None:
    made.environ["ATB_HOME_PATH"] = f"{m.ASCEND}/nnal/atb/8.5.0"


@fault("NNAL of another version", m.bare_metal, "ENV044.differs", LOOK, "Install NNAL 9.1.0", "NNAL 8.5.0")
def _(made: Made) -> None:
    made.files[f"{m.ASCEND}/nnal/atb/latest/version.info"] = "    Ascend-cann-atb Version : 8.5.0\n"


# Versions and packages ------------------------------------------------------------------------------------------------
@fault(
    "torch 2.8.0 with torch_npu 2.12.0",
    m.bare_metal,
    "ENV053.wrong",
    FIX,
    "torch==2.7.1 torch_npu==2.7.1.post8",
    "requires torch",
    ENV001=FIX,
    ENV051=FIX,
)
def _(made: Made) -> None:
    made.process.installed["torch"] = "2.8.0"
    import_fails(made, "ImportError: libtorch_npu.so: undefined symbol: _ZN3c106detail")
    unusable(made)


@fault(
    "CANN too old for torch_npu",
    m.a3,
    "ENV054.outside",
    FIX,
    "torch==2.8.0 torch_npu==2.8.0",
    "published for",
    ENV001=FIX,
    ENV030=LOOK,
    ENV055=FIX,
)
def _(made: Made) -> None:
    made.files = {name: text for name, text in made.files.items() if "/cann-9.0.0/" not in name}
    m.cann(made, f"{m.ASCEND}/cann-9.0.0", "8.3.RC1", "aarch64", "ascend910_93")
    unusable(made, "500001")


@fault("numpy 2 with CANN 8.3", m.modelarts, "ENV055.too_new", FIX, "numpy<2", "numpy below")
def _(made: Made) -> None:
    made.process.installed["numpy"] = "2.2.0"


@fault("glibc 2.17", m.modelarts, "ENV011.old", FIX, "newer distribution", "2.28", ENV001=FIX, ENV051=FIX)
def _(made: Made) -> None:
    made.process.libc = "glibc 2.17"
    import_fails(made, "ImportError: /lib64/libc.so.6: version `GLIBC_2.28' not found")
    unusable(made)


@fault("Python 3.8", m.modelarts, "ENV050.no_wheel", LOOK, "torch_npu==2.1.0.post17", "published for")
def _(made: Made) -> None:
    made.process.version = "3.8.18"


@fault(
    "torch_npu on a laptop without CANN",
    m.laptop,
    "ENV051.no_cann",
    FIX,
    "TORCH_DEVICE_BACKEND_AUTOLOAD=0",
    "loads by itself",
    ENV052=LOOK,
)
def _(made: Made) -> None:
    process = made.process
    process.tiers, process.simulated = {}, ""
    process.installed["torch_npu"] = "2.13.0"
    process.folders["torch_npu"] = "/home/me/v/lib/python3.11/site-packages/torch_npu"
    no_library(made, "libhccl.so")


@fault(
    "torch not in this Python",
    m.bare_metal,
    "ENV051.not_installed",
    FIX,
    "environment that has torch",
    "torch is not installed",
    ENV001=FIX,
)
def _(made: Made) -> None:
    made.process.installed.pop("torch")
    made.process.imported = {"ok": False, "error": "x", "chain": ["ModuleNotFoundError: No module named 'torch'"]}
    unusable(made, "No module named 'torch'")


@fault(
    "a module of CANN's compiler missing",
    m.bare_metal,
    "ENV056.missing",
    FIX,
    "pip install -c held.txt decorator",
    "decorator",
)
def _(made: Made) -> None:
    made.process.installed.pop("decorator")


@fault("folder torch_npu in the working folder", m.bare_metal, "ENV057.shadow", LOOK, "Rename it", "in place of")
def _(made: Made) -> None:
    made.folders.append("/project/torch_npu")


@fault("torchvision of another torch", m.modelarts, "ENV058.other", LOOK, "torchvision==0.22", "belongs to another")
def _(made: Made) -> None:
    made.process.installed["torchvision"] = "0.20.1"


@fault("triton over triton-ascend", m.bare_metal, "ENV059.triton", FIX, "pip uninstall -y triton", "same module")
def _(made: Made) -> None:
    made.process.installed.update(triton="3.5.0", triton_ascend="3.2.0")


# Devices and driver ---------------------------------------------------------------------------------------------------
@fault("driver not loaded", m.bare_metal, "ENV021.none", FIX, "lsmod", "davinci", ENV001=FIX, ENV022=LOOK, ENV024=LOOK)
def _(made: Made) -> None:
    made.files = {name: text for name, text in made.files.items() if not name.startswith("/dev/")}
    made.tools["npu-smi"] = "dcmi module initialize failed. ret is -8005\n"
    unusable(made)


@fault(
    "container without device files",
    m.modelarts,
    "ENV021.container",
    FIX,
    "--device=/dev/davinci0",
    "in this container",
    ENV001=FIX,
    ENV022=LOOK,
)
def _(made: Made) -> None:
    made.files = {name: text for name, text in made.files.items() if not name.startswith("/dev/")}
    made.tools["npu-smi"] = "dcmi model initialized failed, because the device is used. ret is -8005\n"
    unusable(made)


@fault(
    "user not in HwHiAiUser",
    m.bare_metal,
    "ENV021.closed",
    FIX,
    "usermod -aG HwHiAiUser",
    "may not open",
    "HwHiAiUser",
    ENV001=FIX,
)
def _(made: Made) -> None:
    made.process.member = ("users",)
    made.process.closed = ("/dev/davinci0", "/dev/davinci_manager")
    unusable(made)


@fault("devices held by another container", m.bare_metal, "ENV022.error_8020", LOOK, "Stop the other container", "8020")
def _(made: Made) -> None:
    made.tools["npu-smi"] = "dcmi model initialized failed, because the device is used. ret is -8020\n"


@fault("a chip in alarm", m.bare_metal, "ENV022.ill", FIX, "npu-smi info -t health -i 3", "Alarm")
def _(made: Made) -> None:
    rows = chips(8, "910B3")
    rows[3] = (*rows[3][:3], "Alarm", *rows[3][4:])
    made.tools["npu-smi"] = table("26.1.0", rows)


@fault(
    "910B without a digit: first generation",
    m.bare_metal,
    "ENV023.first",
    LOOK,
    "float16",
    "first generation",
    ENV043=FIX,
)
def _(made: Made) -> None:
    for name in [name for name in made.files if name.startswith("/sys/bus/pci") and name.endswith("/device")]:
        made.files[name] = "0xd801\n"
    made.tools["npu-smi"] = table("26.1.0", chips(8, "910B", total=32768, used=1500))


@fault("one chip fell off the bus", m.bare_metal, "ENV024.differ", LOOK, "only PCI shows", "counts differ")
def _(made: Made) -> None:
    made.tools["npu-smi"] = table("26.1.0", chips(7, "910B3"))


@fault("another job on the NPUs", m.bare_metal, "ENV025.busy", LOOK, "ASCEND_RT_VISIBLE_DEVICES", "4711")
def _(made: Made) -> None:
    rows = chips(8, "910B3")
    rows[0] = (*rows[0][:5], 48000, 65536)
    made.tools["npu-smi"] = table("26.1.0", rows, [(0, 0, 4711, "python3", 44800)])


@fault("NPU memory held by what is not shown", m.modelarts, "ENV027.held", LOOK, "on the host", "without a process")
def _(made: Made) -> None:
    made.tools["npu-smi"] = table("25.3.rc1", chips(1, "910B2", used=60000))


@fault(
    "ASCEND_RT_VISIBLE_DEVICES=8 of 8",
    m.bare_metal,
    "ENV026.wrong",
    FIX,
    "count from 0",
    "VISIBLE_DEVICES=8:",
    ENV001=FIX,
)
def _(made: Made) -> None:
    made.environ["ASCEND_RT_VISIBLE_DEVICES"] = "8"
    unusable(made, "107001")


@fault("driver older than CANN's list", m.bare_metal, "ENV030.outside", LOOK, "Change the driver", "not among")
def _(made: Made) -> None:
    m.driver(made, "24.1.rc3", "7.5.0.1")


@fault(
    "driver mount that is empty",
    m.modelarts,
    "ENV092.driver",
    FIX,
    "left side of -v",
    "empty folder",
    ENV001=FIX,
    ENV030=FIX,
    ENV051=FIX,
)
def _(made: Made) -> None:
    made.files = {name: text for name, text in made.files.items() if not name.startswith(f"{m.ASCEND}/driver/")}
    made.folders.append(f"{m.ASCEND}/driver")
    no_library(made, "libascend_hal.so")
    unusable(made)


@fault("npu-smi mounted as a folder", m.modelarts, "ENV092.npu_smi", LOOK, "which npu-smi", "is a folder", ENV022=LOOK)
def _(made: Made) -> None:
    made.tools.pop("npu-smi")
    made.folders.append("/usr/local/bin/npu-smi")


# Host -----------------------------------------------------------------------------------------------------------------
@fault("docker's 64 MiB of /dev/shm", m.bare_metal, "ENV015.small", LOOK, "--shm-size", "Bus error")
def _(made: Made) -> None:
    made.process.disks["/dev/shm"] = Disk(64 << 20, 64 << 20, 1 << 20, 1 << 20)


@fault("256 open files", m.bare_metal, "ENV016.low", LOOK, "ulimit -n 65535", "256: below")
def _(made: Made) -> None:
    made.process.limits["NOFILE"] = 256


@fault("the container's pids.max", m.modelarts, "ENV017.low", LOOK, "--pids-limit", "512 processes")
def _(made: Made) -> None:
    made.files["/sys/fs/cgroup/pids.max"] = "512\n"


@fault("two CPUs for eight NPUs", m.bare_metal, "ENV012.few", LOOK, "CPU limit", "2 of 192")
def _(made: Made) -> None:
    made.files["/sys/fs/cgroup/cpu.max"] = "200000 100000\n"


@fault("the container's memory limit", m.bare_metal, "ENV013.low", LOOK, "memory limit", "less than 2 GiB")
def _(made: Made) -> None:
    made.files["/sys/fs/cgroup/memory.max"] = f"{GIB}\n"


@fault("CPUs of the other socket only", m.bare_metal, "ENV018.far", LOOK, "--cpuset-cpus", "NUMA node 0, 1")
def _(made: Made) -> None:
    made.process.allowed = frozenset(range(96, 192))


@fault("disk full", m.bare_metal, "ENV014.full", FIX, "Free space", "0.1 GiB")
def _(made: Made) -> None:
    made.process.disks["/"] = Disk(100 << 20, 900 * GIB, 1 << 24, 1 << 25)


@fault("no inodes left", m.bare_metal, "ENV014.entries", LOOK, "df -i", "inodes")
def _(made: Made) -> None:
    made.process.disks["/"] = Disk(400 * GIB, 900 * GIB, 12, 1 << 25)


# Collectives ----------------------------------------------------------------------------------------------------------
@fault("two NPUs with one address", m.bare_metal, "ENV063.twice", FIX, "hccn_tool", "192.168.100.101")
def _(made: Made) -> None:
    made.files["/etc/hccn.conf"] += "address_1=192.168.100.101\n"


@fault(
    "rank table of another job",
    m.bare_metal,
    "ENV064.size",
    FIX,
    "unset RANK_TABLE_FILE",
    "RANK_SIZE is 8",
    ENV062=LOOK,
)
def _(made: Made) -> None:
    rank_table(made, [{"device_id": str(index), "rank_id": str(index)} for index in range(4)])
    made.environ["RANK_SIZE"] = "8"


@fault(
    "rank table with a rank twice",
    m.bare_metal,
    "ENV064.unfit",
    FIX,
    "unset RANK_TABLE_FILE",
    "ranks are not",
    ENV062=LOOK,
)
def _(made: Made) -> None:
    rank_table(made, [{"device_id": str(index), "rank_id": "0"} for index in range(8)])


def rank_table(made: Made, devices: list[dict[str, Any]]) -> None:
    server = {"server_id": "10.0.0.1", "device": devices}
    made.files["/user/config/jobstart_hccl.json"] = json.dumps(
        {"version": "1.0", "server_count": "1", "server_list": [server], "status": "completed"}
    )
    made.environ["RANK_TABLE_FILE"] = "/user/config/jobstart_hccl.json"


@fault("HCCL_CONNECT_TIMEOUT=60", m.bare_metal, "ENV065.range", FIX, "unset HCCL_CONNECT_TIMEOUT", "120 to 7200")
def _(made: Made) -> None:
    made.environ["HCCL_CONNECT_TIMEOUT"] = "60"


@fault("HCCL_SOCKET_IFNAME of another host", m.bare_metal, "ENV065.interface", FIX, "ip -br addr", "interfaces")
def _(made: Made) -> None:
    made.environ["HCCL_SOCKET_IFNAME"] = "ib0"


# Notebooks and the baseline -------------------------------------------------------------------------------------------
@fault("LD_LIBRARY_PATH set in a cell", m.modelarts, "ENV061.late", LOOK, "kernel.json", "changed since the start")
def _(made: Made) -> None:
    made.process.in_kernel = True
    path = ":".join(f"{m.ASCEND}/{name}" for name in ("driver/lib64/common", "driver/lib64/driver"))
    made.late["LD_LIBRARY_PATH"] = f"{path}:{OLD}/lib64:{OLD}/lib64/plugin/opskernel:/tmp"


@fault("kernel.json with ${LD_LIBRARY_PATH}", m.modelarts, "ENV066.literal", LOOK, "--kernelspec", "kernel.json hold")
def _(made: Made) -> None:
    spec = {"argv": ["python", "-m", "ipykernel_launcher"], "env": {"LD_LIBRARY_PATH": "/x:${LD_LIBRARY_PATH}"}}
    made.files["/home/ma-user/.local/share/jupyter/kernels/npu/kernel.json"] = json.dumps(spec)


@fault("a kernel whose Python is gone", m.modelarts, "ENV066.gone", LOOK, "jupyter kernelspec remove", "does not exist")
def _(made: Made) -> None:
    spec = {"argv": ["/home/ma-user/old/bin/python", "-m", "ipykernel_launcher"]}
    made.files["/home/ma-user/.local/share/jupyter/kernels/old/kernel.json"] = json.dumps(spec)


@fault("NVIDIA's driver older than CUDA asks", m.gpu, "ENV081.old", LOOK, "Update the driver", "older than")
def _(made: Made) -> None:
    old = made.files["/proc/driver/nvidia/version"].replace("560.35.03", "515.65.01")
    made.files["/proc/driver/nvidia/version"] = old
    gone_from_torch(made, "12.6")


@fault("torch without CUDA on a GPU machine", m.gpu, "ENV081.no_cuda", LOOK, "download.pytorch.org", "without CUDA")
def _(made: Made) -> None:
    made.process.installed["torch"] = "2.9.0+cpu"
    gone_from_torch(made, "")


@fault("GPUs without a driver", m.gpu, "ENV081.no_driver", LOOK, "modprobe nvidia", "no driver loaded")
def _(made: Made) -> None:
    made.files.pop("/proc/driver/nvidia/version")
    gone_from_torch(made, "12.6")


def gone_from_torch(made: Made, build: str) -> None:
    made.process.tiers.clear()
    made.process.imported = {"ok": True, "torch": made.process.installed["torch"], "cuda": {"build": build}}
