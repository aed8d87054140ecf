"""What this machine is. Everything is read from files, tools and child processes; nothing is imported here.

A fact that could not be told is an `Untold` with its reason, and the rules that need it say Not looked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from ascend_workbook.environment.system import UNLIMITED, Told, Untold
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.npu_smi import NpuSmi


@dataclass(frozen=True)
class Host:
    """The computer without its accelerators. Sizes in MiB; `cpus_usable` respects affinity and cgroup quota.

    `numa` holds the CPUs of each NUMA node, `affinity` those this process may be put on; `processes` is the lower of
    the user's limit and the cgroup's.
    """

    system: str
    distribution: str
    kernel: str
    arch: str
    glibc: Told[str]
    cpus: int
    cpus_usable: Told[float]
    memory_mib: Told[float]
    memory_free_mib: Told[float]
    work_folder: str
    disk_free_mib: Told[float]
    disk_writable: bool
    shm_mib: Told[float]
    open_files: Told[int]
    container: str = ""
    disk_free_entries: Told[int] = UNLIMITED
    processes: Told[int] = UNLIMITED
    locked_bytes: Told[int] = UNLIMITED
    numa: tuple[tuple[int, ...], ...] = ()
    affinity: tuple[int, ...] = ()


@dataclass(frozen=True)
class PciChip:
    """An Ascend chip on the PCI bus: address, device id (`0xd802`), what that id stands for, its NUMA node or -1."""

    address: str
    device: str
    kind: str
    numa: int = -1


@dataclass(frozen=True)
class Node:
    """A device file, and whether this user may read and write it."""

    path: str
    usable: bool


@dataclass(frozen=True)
class Hardware:
    """NPUs as the bus, the device files, npu-smi and the driver's files show them. `npu_smi` None: not installed.

    The simulator's stand-in npu-smi is kept apart: it shows no hardware. `hal` is the libascend_hal.so that the
    loader's search path finds first. A mount of what the host lacks makes an empty folder: in place of npu-smi
    (`npu_smi_folder`), of the driver (`driver_empty`).
    """

    pci: Told[tuple[PciChip, ...]] = ()
    nodes: tuple[Node, ...] = ()
    npu_smi: Told[NpuSmi] | None = None
    driver: Told[str] = ""
    firmware: Told[str] = ""
    driver_installed: bool = False
    groups: tuple[str, ...] = ()
    simulated_npu_smi: NpuSmi | None = None
    hal: str = ""
    npu_smi_folder: str = ""
    driver_empty: str = ""

    @property
    def chips(self) -> int:
        """Return the highest count any source gives: 0 means no sign of an NPU."""
        pci = 0 if isinstance(self.pci, Untold) else len(self.pci)
        shown = len(self.npu_smi.chips) if isinstance(self.npu_smi, NpuSmi) else 0
        return max(pci, shown, len(self.cards))

    @property
    def cards(self) -> tuple[Node, ...]:
        """Return /dev/davinci0 and so on, without the managers."""
        return tuple(node for node in self.nodes if node.path.rpartition("davinci")[2].isdigit())


@dataclass(frozen=True)
class CannRoot:
    """One installed CANN. `sourced`: the environment points to it. `kernels`: chips it has operator binaries for.

    `components`: version by package (toolkit, opp, opp_kernel, ops…). `unset` and `lacking`: what its set_env.sh sets
    and this environment has not, variables and entries of search paths (asked of the sourced one only).
    """

    path: str
    version: str
    simulated: bool = False
    sourced: bool = False
    kernels: tuple[str, ...] = ()
    script: str = ""
    components: dict[str, str] = field(default_factory=dict)
    unset: Told[tuple[str, ...]] = ()
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class Nnal:
    """The acceleration library (ATB) beside CANN: its folder and version; `told` is ATB_HOME_PATH, `here` if it is."""

    path: str = ""
    version: str = ""
    told: str = ""
    here: bool = False


@dataclass(frozen=True)
class Hccl:
    """What collectives go by: `devices` of /etc/hccn.conf (number to address), the host's interfaces, a rank table.

    `devices` None: no such file. `rank_table` None: RANK_TABLE_FILE is not set.
    """

    devices: Told[dict[int, str]] | None = None
    interfaces: Told[tuple[str, ...]] = ()
    rank_table: RankTable | None = None


@dataclass(frozen=True)
class RankTable:
    """RANK_TABLE_FILE: ranks and servers in it; `problem` is the sentence of what HCCL would refuse."""

    path: str
    ranks: int = 0
    servers: int = 0
    problem: Sentence | None = None


@dataclass(frozen=True)
class Nvidia:
    """The GPU side without torch: GPUs on the PCI bus, and the driver's version where it is loaded."""

    gpus: int = 0
    driver: Told[str] = ""


@dataclass(frozen=True)
class Kernelspec:
    """A Jupyter kernel of Python: `python` starts it, `literal` are its variables that nobody expands."""

    name: str
    path: str
    python: str
    python_here: bool = True
    literal: tuple[str, ...] = ()
    cann: str = ""


@dataclass(frozen=True)
class Import:
    """What a child said to `import torch` in the environment as it stands."""

    ok: bool = True
    torch: str = ""
    error: str = ""
    chain: tuple[str, ...] = ()
    cuda: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Python:
    """The interpreter and its packages. `torch_npu_folder` is where `import torch_npu` would find it, or empty."""

    version: str
    executable: str
    packages: dict[str, str] = field(default_factory=dict)
    torch_npu_folder: str = ""
    torch_import: Told[Import] = field(default_factory=Import)
    shadows: tuple[str, ...] = ()
    interactive: bool = False


@dataclass(frozen=True)
class Chosen:
    """The device tier the stages would use: empty where the wanted one is not here, `why` says why."""

    wanted: str = "auto"
    tier: str = "cpu"
    name: str = ""
    count: int = 1
    versions: dict[str, str] = field(default_factory=dict)
    why_not: dict[str, Sentence] = field(default_factory=dict)
    why: Sentence | None = None


@dataclass(frozen=True)
class Machine:
    """All facts of the environment check. `started` is the environment this process began with.

    `simulator` is the folder of a build, `simulator_old` whether it fits its sources, torch and torch_npu no more.
    """

    host: Host
    python: Python
    chosen: Chosen = field(default_factory=Chosen)
    hardware: Hardware = field(default_factory=Hardware)
    cann: tuple[CannRoot, ...] = ()
    nnal: Nnal = field(default_factory=Nnal)
    hccl: Hccl = field(default_factory=Hccl)
    nvidia: Nvidia = field(default_factory=Nvidia)
    kernelspecs: tuple[Kernelspec, ...] = ()
    simulator: str = ""
    simulator_old: bool = False
    environ: dict[str, str] = field(default_factory=dict)
    started: Told[dict[str, str]] = field(default_factory=dict)

    @property
    def needs_npu(self) -> bool:
        """Return whether an NPU is asked for, in use or in this machine: what stands in its way is then a failure."""
        if self.chosen.wanted in ("cuda", "cpu", "npu-simulated"):
            return False
        return self.chosen.wanted == "npu" or self.chosen.tier == "npu" or self.hardware.chips > 0

    @property
    def real_cann(self) -> CannRoot | None:
        """Return the CANN of the environment, else the first installed one; never the simulator."""
        real = [root for root in self.cann if not root.simulated]
        return next((root for root in real if root.sourced), real[0] if real else None)

    @property
    def torch(self) -> str:
        return self.chosen.versions.get("torch") or self.python.packages.get("torch", "")

    @property
    def torch_npu(self) -> str:
        return self.chosen.versions.get("torch_npu") or self.python.packages.get("torch_npu", "")

    def to_dict(self) -> dict[str, object]:
        """Return the facts as JSON keeps them; what could not be told is there as `{"untold": key, "args": {...}}`."""
        plain: dict[str, object] = _to_plain(self)
        return plain


def _to_plain(value: Any) -> Any:
    if isinstance(value, Untold):
        return {"untold": value.key, "args": value.args}
    if is_dataclass(value):
        return {entry.name: _to_plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, (list, tuple)):
        return [_to_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _to_plain(item) for name, item in value.items()}
    return value
