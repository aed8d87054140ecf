"""Five machines that are well. Versions are pairs of the vendor's table; paths and file forms are CANN's."""

from __future__ import annotations

from typing import Any, Callable

from ascend_workbook.machine import versions
from tests.environment.recorded.made import Made, Recorded
from tests.environment.recorded.npu_smi import chips, table

ASCEND = "/usr/local/Ascend"
KERNEL = "opp/built-in/op_impl/ai_core/tbe/kernel"
MODULES = {name.replace("-", "_"): "1.0" for name in versions.load_compatibility()["python_modules"]}
DEVICES = {"0xd801": "910", "0xd802": "A2", "0xd803": "A3"}
#: As CANN's own: variables, then its folders before what was there; the driver's libraries only where they are.
SET_ENV = """\
export ASCEND_TOOLKIT_HOME={home}
export ASCEND_HOME_PATH={home}
export ASCEND_OPP_PATH={home}/opp
export ASCEND_AICPU_PATH={home}
export LD_LIBRARY_PATH={home}/lib64:{home}/lib64/plugin/opskernel${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
export LD_LIBRARY_PATH={driver}/lib64/common:{driver}/lib64/driver:$LD_LIBRARY_PATH
export PYTHONPATH={home}/python/site-packages:{home}/opp/built-in/op_impl/ai_core/tbe:$PYTHONPATH
export PATH={home}/bin:$PATH
"""


def cann(made: Made, home: str, version: str, arch: str, kernels: str, *, ops: str = "", script: str = "") -> None:
    """One CANN: version.cfg, install.info, libraries, operators and its set_env.sh."""
    inner = f"[7.8.0.1:{version}]"
    parts = ("runtime", "compiler", "hccl", "opp", "toolkit")
    made.files[f"{home}/version.cfg"] = "".join(f"{part}_running_version={inner}\n" for part in parts) + (
        f"opp_kernel_running_version=[7.8.0.1:{ops or version}]\n"
    )
    info = f"package_name=Ascend-cann-toolkit\nversion={version}\ninnerversion=V100R001C23\narch={arch}\nos=linux\n"
    made.files[f"{home}/{arch}-linux/ascend_toolkit_install.info"] = info + f"path={home}\n"
    for name in ("lib64/libhccl.so", "lib64/plugin/opskernel/libaicpu.so", "bin/atc", "devlib/libascend_hal.so"):
        made.files[f"{home}/{name}"] = ""
    made.files[f"{home}/python/site-packages/te/__init__.py"] = ""
    made.files[f"{home}/{KERNEL}/{kernels}/add.json"] = "{}"
    script = script or f"{home}/set_env.sh"
    made.files[script] = SET_ENV.format(home=home, driver=f"{ASCEND}/driver")
    made.sourced = script


def driver(made: Made, version: str, firmware: str) -> None:
    made.files[f"{ASCEND}/driver/version.info"] = f"Version={version}\nascendhal_version=7.35.23\n"
    made.files[f"{ASCEND}/driver/lib64/driver/libascend_hal.so"] = ""
    made.files[f"{ASCEND}/driver/lib64/common/libc_sec.so"] = ""
    made.files[f"{ASCEND}/firmware/version.info"] = f"Version={firmware}\nfirmware_version=1.0\n"


def npus(made: Made, device: str, count: int, smi: str) -> None:
    """Chips on the bus with their NUMA nodes, device files, npu-smi's table and the network's addresses."""
    for index in range(count):
        bus = f"/sys/bus/pci/devices/0000:{(0xC1 + index) % 256:02x}:00.0"
        made.files |= {f"{bus}/vendor": "0x19e5\n", f"{bus}/device": f"{device}\n", f"{bus}/class": "0x120000\n"}
        made.files[f"{bus}/numa_node"] = f"{index * 4 // count}\n"
        made.files[f"/dev/davinci{index}"] = ""
    for name in ("davinci_manager", "devmm_svm", "hisi_hdc"):
        made.files[f"/dev/{name}"] = ""
    made.tools["npu-smi"] = smi
    addresses = (f"address_{index}=192.168.{100 + index % 4}.{101 + index}\n" for index in range(count))
    made.files["/etc/hccn.conf"] = "".join(addresses)


def host(made: Made, name: str, cpus: int = 192, gib: int = 1500) -> None:
    made.files["/etc/os-release"] = f'PRETTY_NAME="{name}"\n'
    made.files["/proc/meminfo"] = f"MemTotal: {gib * 2**20} kB\nMemFree: 1 kB\nMemAvailable: {gib * 2**20 // 2} kB\n"
    for node in range(4 if cpus > 16 else 1):
        each = cpus // (4 if cpus > 16 else 1)
        made.files[f"/sys/devices/system/node/node{node}/cpulist"] = f"{node * each}-{node * each + each - 1}\n"
    for name in ("lo", "eth0", "enp189s0f0"):
        made.folders.append(f"/sys/class/net/{name}")
    made.process.count, made.process.allowed = cpus, frozenset(range(cpus))


def python(made: Made, torch: str, torch_npu: str, numpy: str, **others: str) -> None:
    """The packages, and children that find everything in order."""
    process = made.process
    process.installed = {**MODULES, "torch": torch, "torch_npu": torch_npu, "numpy": numpy, **others}
    process.folders = {"torch_npu": "/usr/lib/python3.11/site-packages/torch_npu"}
    process.imported = {"ok": True, "torch": torch, "cuda": {"build": ""}}


def ready(made: Made, name: str, count: int, cann: str) -> None:
    installed = made.process.installed
    said = {"torch": installed["torch"], "torch_npu": installed["torch_npu"], "cann": cann, "python": "3.11.9"}
    made.process.tiers["npu"] = {"name": name, "count": count, "versions": said}


def modelarts() -> Made:
    """A ModelArts notebook: 910B2, one card, CANN 8.3.RC1 in the older layout, a Kubernetes pod on EulerOS."""
    made = Made(Recorded(libc="glibc 2.34", version="3.10.6", executable="/home/ma-user/anaconda3/bin/python"))
    host(made, "EulerOS 2.0 (SP10)", cpus=192)
    home = f"{ASCEND}/ascend-toolkit/8.3.RC1"
    cann(made, home, "8.3.RC1", "aarch64", "ascend910b", script=f"{ASCEND}/ascend-toolkit/set_env.sh")
    made.links[f"{ASCEND}/ascend-toolkit/latest"] = "8.3.RC1"
    driver(made, "25.3.rc1", "7.8.0.2.212")
    npus(made, "0xd802", 1, table("25.3.rc1", chips(1, "910B2")))
    python(made, "2.7.1", "2.7.1", "1.26.4")
    ready(made, "Ascend910B2", 1, "8.3.RC1")
    made.environ = {
        "MA_HOME": "/home/ma-user",
        "MA_NUM_HOSTS": "1",
        "MA_NUM_GPUS": "1",
        "KUBERNETES_SERVICE_HOST": "10.247.0.1",
    }
    made.files["/sys/fs/cgroup/cpu/cpu.cfs_quota_us"] = "2400000\n"
    made.files["/sys/fs/cgroup/cpu/cpu.cfs_period_us"] = "100000\n"
    return made


def bare_metal() -> Made:
    """An Atlas 800T A2 with eight 910B3, CANN 9.1.0 in the layout of 8.5 and later, NNAL, npu-smi's wide table."""
    made = Made(Recorded())
    host(made, "Ubuntu 22.04.5 LTS")
    cann(made, f"{ASCEND}/cann-9.1.0", "9.1.0", "aarch64", "ascend910b")
    made.files[f"{ASCEND}/cann-9.1.0/aarch64-linux/ascend_ops_install.info"] = "version=9.1.0\n"
    made.links[f"{ASCEND}/cann"] = "cann-9.1.0"
    made.files[f"{ASCEND}/nnal/atb/latest/version.info"] = "    Ascend-cann-atb Version : 9.1.0\n"
    driver(made, "26.1.0", "7.9.0.1")
    npus(made, "0xd802", 8, table("26.1.0", chips(8, "910B3")))
    python(made, "2.12.0", "2.12.0", "2.1.3")
    ready(made, "Ascend910B3", 8, "9.1.0")
    made.environ = {"ATB_HOME_PATH": f"{ASCEND}/nnal/atb/latest", "HCCL_CONNECT_TIMEOUT": "1200"}
    return made


def a3() -> Made:
    """An Atlas 800T A3: eight modules of two dies, CANN 9.0.0, sixteen devices."""
    made = Made(Recorded(libc="glibc 2.38"))
    host(made, "openEuler 24.03 (LTS-SP1)", cpus=320)
    cann(made, f"{ASCEND}/cann-9.0.0", "9.0.0", "aarch64", "ascend910_93")
    made.links[f"{ASCEND}/cann"] = "cann-9.0.0"
    driver(made, "25.5.2", "7.8.0.6")
    npus(made, "0xd803", 16, table("25.5.2", chips(16, "Ascend910", used=3001)))
    python(made, "2.9.0", "2.9.0.post2", "2.0.2")
    ready(made, "Ascend910_9362", 16, "9.0.0")
    return made


def laptop() -> Made:
    """A laptop with the simulator built: torch_npu lies where only the simulator's environment finds it."""
    made = Made(Recorded(kernel=("Linux", "6.8.0", "x86_64"), libc="glibc 2.39", executable="/home/me/v/bin/python"))
    host(made, "Ubuntu 24.04.1 LTS", cpus=8, gib=16)
    made.process.installed = {"torch": "2.13.0+cpu", "numpy": "2.4.0"}
    made.process.imported = {"ok": True, "torch": "2.13.0+cpu", "cuda": {"build": ""}}
    said = {"torch": "2.13.0+cpu", "torch_npu": "2.13.0"}
    made.process.tiers["npu-simulated"] = {"name": "Ascend910B2", "count": 2, "versions": said}
    made.process.simulated = "/home/me/v/share/ascend-workbook/simulator"
    made.folders.append("/sys/bus/pci/devices")
    made.process.limits["NPROC"] = 63000
    return made


def gpu() -> Made:
    """The machine of the baseline: eight NVIDIA GPUs, torch for CUDA 12.6."""
    made = Made(Recorded(kernel=("Linux", "5.15.0", "x86_64")))
    host(made, "Ubuntu 22.04.5 LTS", cpus=128, gib=1000)
    made.files["/proc/driver/nvidia/version"] = (
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  560.35.03  Fri Aug 16 21:39:15 UTC 2024\nGCC version: 12\n"
    )
    for index in range(8):
        bus = f"/sys/bus/pci/devices/0000:{0x10 + index:02x}:00.0"
        made.files |= {f"{bus}/vendor": "0x10de\n", f"{bus}/device": "0x2330\n", f"{bus}/class": "0x030200\n"}
    made.process.installed = {"torch": "2.9.0+cu126", "numpy": "2.3.1"}
    cuda: dict[str, Any] = {"build": "12.6", "name": "NVIDIA H100 80GB HBM3", "count": 8, "capability": ["9.0"] * 8}
    made.process.imported = {"ok": True, "torch": "2.9.0+cu126", "cuda": cuda}
    here = {"name": cuda["name"], "count": 8, "versions": {"torch": "2.9.0+cu126", "cuda": "12.6"}, "cuda": cuda}
    made.process.tiers["cuda"] = {**here, "cpu": {"name": "Xeon", "count": 1, "versions": {"torch": "2.9.0+cu126"}}}
    return made


HEALTHY: dict[str, Callable[[], Made]] = {
    "ModelArts notebook, 910B2, CANN 8.3.RC1 (older layout)": modelarts,
    "bare metal, 8 x 910B3, CANN 9.1.0": bare_metal,
    "Atlas A3, 16 dies, CANN 9.0.0": a3,
    "laptop with the simulated NPU": laptop,
    "GPU baseline, 8 x H100": gpu,
}
