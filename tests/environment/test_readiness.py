"""Facts from a made file tree and made tools, with faults: hanging, cut short, unreadable, dying."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.environment import hardware, host, software
from ascend_workbook.environment.machine import Import
from ascend_workbook.environment.readiness import probe
from ascend_workbook.environment.system import PROJECT, Process, System, Untold, shorten_path
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import bounded, simulator
from ascend_workbook.machine.npu_smi import NpuSmi
from tests.environment import machines
from tests.environment.test_npu_smi import A3


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def tool(root: Path, name: str, script: str) -> System:
    """A system whose PATH holds one tool of this name; the limit is short only where the tool hangs."""
    folder = root / "tools"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return System(root, {"PATH": f"{folder}:/usr/bin:/bin"}, timeout_s=0.5 if "sleep" in script else 30.0)


def test_chips_on_the_bus(tmp_path: Path) -> None:
    bus = "/sys/bus/pci/devices"
    write(
        tmp_path,
        {
            f"{bus}/0000:c1:00.0/vendor": "0x19e5\n",
            f"{bus}/0000:c1:00.0/device": "0xd802\n",
            f"{bus}/0000:01:00.0/vendor": "0x19e5\n",
            f"{bus}/0000:01:00.0/device": "0x1711\n",  # a display chip
            f"{bus}/0000:02:00.0/vendor": "0x10de\n",
            f"{bus}/0000:02:00.0/device": "0xd802\n",  # another vendor's
        },
    )
    chips = hardware.pci_chips(System(tmp_path))
    assert not isinstance(chips, Untold)
    assert [(chip.address, chip.kind) for chip in chips] == [("0000:c1:00.0", "A2")]


def test_no_bus_is_not_no_chip(tmp_path: Path) -> None:
    assert isinstance(hardware.pci_chips(System(tmp_path)), Untold)


def test_device_files(tmp_path: Path) -> None:
    write(tmp_path, {f"/dev/{name}": "" for name in ("davinci0", "davinci12", "davinci_manager", "hisi_hdc")})
    found = hardware.read_hardware(System(tmp_path, {"PATH": ""}))
    assert [node.path for node in found.cards] == ["/dev/davinci0", "/dev/davinci12"]
    assert [node.path for node in found.nodes][2:] == ["/dev/davinci_manager", "/dev/hisi_hdc"]
    assert found.chips == 2 and found.npu_smi is None and found.driver == ""


def test_npu_smi_is_read_from_either_stream(tmp_path: Path) -> None:
    write(tmp_path, {"/smi.txt": A3})
    found = hardware.read_npu_smi(tool(tmp_path, "npu-smi", f'cat "{tmp_path}/smi.txt" >&2; exit 1'))
    assert isinstance(found, NpuSmi) and len(found.chips) == 2


def test_npu_smi_is_asked_in_plain_english(tmp_path: Path) -> None:
    found = hardware.read_npu_smi(tool(tmp_path, "npu-smi", 'echo "$LC_ALL $1"; exit 4'))
    assert found == Untold("untold.tool", {"tool": "npu-smi", "error": "C info"})


@pytest.mark.parametrize(
    ("script", "key"),
    [
        ("sleep 60", "untold.timeout"),
        ("sleep 60 & wait", "untold.timeout"),
        ("head -n 7 {smi}", "untold.npu_smi_cut"),
        ("head -n 3 {smi}", "untold.npu_smi_cut"),
        ("exit 1", "untold.tool"),
        ("kill -SEGV $$", "untold.tool"),
        (r"printf '\377\376|||'", "untold.tool"),
    ],
)
def test_npu_smi_goes_wrong(tmp_path: Path, script: str, key: str) -> None:
    write(tmp_path, {"/smi.txt": A3})
    found = hardware.read_npu_smi(tool(tmp_path, "npu-smi", script.format(smi=f'"{tmp_path}/smi.txt"')))
    assert isinstance(found, Untold) and found.key == key


def test_npu_smi_that_cannot_be_started(tmp_path: Path) -> None:
    system = tool(tmp_path, "npu-smi", "")
    (tmp_path / "tools" / "npu-smi").write_bytes(b"\x7fELF broken")
    found = hardware.read_npu_smi(system)
    assert isinstance(found, Untold) and found.key == "untold.tool"


def test_versions_of_the_driver(tmp_path: Path) -> None:
    system = System(tmp_path)
    assert hardware.read_version_info(system, hardware.DRIVER) == ""
    write(tmp_path, {hardware.DRIVER[0]: "Version=24.1.rc3\nascendhal_version=7.35.23\n"})
    assert hardware.read_version_info(system, hardware.DRIVER) == "24.1.rc3"
    write(tmp_path, {hardware.DRIVER[0]: "Ver"})
    assert hardware.read_version_info(system, hardware.DRIVER) == Untold(
        "untold.unreadable", {"path": hardware.DRIVER[0]}
    )


def test_a_version_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / hardware.DRIVER[0].lstrip("/")).mkdir(parents=True)  # a folder in its place: a bad mount
    found = hardware.read_version_info(System(tmp_path), hardware.DRIVER)
    assert isinstance(found, Untold) and found.key == "untold.file"


def test_every_cann_once_the_sourced_one_first(tmp_path: Path) -> None:
    kernels = "opp/built-in/op_impl/ai_core/tbe/kernel"
    write(
        tmp_path,
        {
            "/usr/local/Ascend/cann-8.5.0/version.cfg": "toolkit_running_version=[7.9.0:8.5.0]\n",
            f"/usr/local/Ascend/cann-8.5.0/{kernels}/ascend910b/x.json": "",
            f"/usr/local/Ascend/cann-8.5.0/{kernels}/config/x.json": "",
            "/usr/local/Ascend/ascend-toolkit/latest/x86_64-linux/ascend_toolkit_install.info": "version=8.3.RC2\n",
            "/usr/local/Ascend/ascend-toolkit/set_env.sh": "",
        },
    )
    (tmp_path / "usr/local/Ascend/cann").symlink_to("cann-8.5.0")
    old = tmp_path / "usr/local/Ascend/ascend-toolkit/latest"
    roots = hardware.find_cann_roots(System(tmp_path), {"ASCEND_HOME_PATH": "/" + str(old.relative_to(tmp_path))})
    assert roots[1].path == "/usr/local/Ascend/cann-8.5.0"
    assert [(Path(root.path).name, root.version, root.sourced) for root in roots] == [
        ("latest", "8.3.RC2", True),
        ("cann-8.5.0", "8.5.0", False),
    ]
    assert roots[1].kernels == ("ascend910b",) and roots[0].script.endswith("ascend-toolkit/set_env.sh")


def test_limits_of_the_container(tmp_path: Path) -> None:
    system = System(tmp_path)
    meminfo = "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\n"
    write(tmp_path, {"/proc/meminfo": meminfo})
    assert host.read_memory(system) == (8192.0, 4096.0)
    write(tmp_path, {"/sys/fs/cgroup/memory.max": "max\n", "/sys/fs/cgroup/cpu.max": "max 100000\n"})
    assert host.read_memory(system) == (8192.0, 4096.0)
    usable = host.count_usable_cpus(system)
    write(tmp_path, {"/sys/fs/cgroup/memory.max": str(2 * 2**30), "/sys/fs/cgroup/memory.current": str(2**30)})
    write(tmp_path, {"/sys/fs/cgroup/cpu.max": "50000 100000\n"})
    assert host.read_memory(system) == (2048.0, 1024.0)
    assert usable == float(len(os.sched_getaffinity(0))) and host.count_usable_cpus(system) == 0.5


def test_limits_of_an_older_container(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "/proc/meminfo": "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "25000\n",
            "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert host.count_usable_cpus(System(tmp_path)) == 0.25 and host.read_memory(System(tmp_path))[0] == 8192.0


def test_what_cannot_be_told_is_not_zero(tmp_path: Path) -> None:
    total, free = host.read_memory(System(tmp_path))
    assert isinstance(total, Untold) and isinstance(free, Untold)
    write(tmp_path, {"/proc/meminfo": "MemTotal: garbage\n"})
    assert isinstance(host.read_memory(System(tmp_path))[0], Untold)
    assert isinstance(host.read_disk(System(tmp_path), tmp_path / "nothing"), Untold)


@pytest.mark.parametrize(
    ("files", "environ", "kind"),
    [
        ({}, {}, ""),
        ({"/.dockerenv": ""}, {}, "docker"),
        ({"/run/.containerenv": ""}, {}, "podman"),
        ({"/proc/1/cgroup": "12:cpu:/kubepods/burstable/pod1"}, {}, "kubernetes"),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
    ],
)
def test_containers(tmp_path: Path, files: dict[str, str], environ: dict[str, str], kind: str) -> None:
    write(tmp_path, files)
    assert host.detect_container(System(tmp_path, environ)) == kind


def import_with(tmp_path: Path, torch: str, timeout_s: float = 60) -> Import | Untold:
    """What `import torch` says where torch is this file."""
    (tmp_path / "torch.py").write_text(torch)
    system = System(environ={**os.environ, "PYTHONPATH": str(tmp_path)})
    return software.import_torch(system, timeout_s=timeout_s)


def test_a_torch_that_breaks(tmp_path: Path) -> None:
    code = "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('Failed to load') from e"
    found = import_with(tmp_path, code)
    assert isinstance(found, Import) and not found.ok
    assert found.chain == ("RuntimeError: Failed to load", "ZeroDivisionError: division by zero")


def test_a_torch_that_kills_the_child_or_hangs(tmp_path: Path) -> None:
    died = import_with(tmp_path, "import os; os.kill(os.getpid(), 11)")
    assert isinstance(died, Import) and not died.ok and died.error == "signal 11"
    assert isinstance(import_with(tmp_path, "import time; time.sleep(60)", 1.0), Untold)


def test_folders_that_hide_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch_npu").mkdir()
    (tmp_path / "te.py").touch()
    monkeypatch.chdir(tmp_path)
    assert software.read_python(System(), Import()).shadows == ("torch_npu", "te")


def test_only_listed_variables_are_kept() -> None:
    secrets = {"ASCEND_SECRET_KEY": "s1", "HCCL_TOKEN": "s2", "MA_AK": "s3", "OBS_SECRET_ACCESS_KEY": "s4"}
    assert software.allowed_variables({**secrets, "ASCEND_HOME_PATH": "/x", "HOME": "/h"}) == {"ASCEND_HOME_PATH": "/x"}
    words = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "_AK", "_SK")
    assert not [name for name in software.VARIABLES if any(word in name for word in words)]


def test_a_whole_machine_is_probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once, from a made tree: the parts find their place, and the facts are plain JSON."""
    monkeypatch.setattr(software, "ask_torch_and_device", lambda system, wanted: (Import(), machines.server().chosen))
    write(tmp_path, {"/etc/os-release": 'PRETTY_NAME="openEuler 22.03 LTS"\n', "/dev/davinci0": "", "/smi.txt": A3})
    write(tmp_path, {"/proc/self/environ": "TASK_QUEUE_ENABLE=2\0OBS_AK=secret\0"})
    system = tool(tmp_path, "npu-smi", f'cat "{tmp_path}/smi.txt"')
    machine = probe("auto", work_folder=tmp_path / "not/yet/there", system=system)
    assert machine.host.distribution == "openEuler 22.03 LTS" and machine.host.disk_writable
    assert isinstance(machine.hardware.npu_smi, NpuSmi) and machine.needs_npu
    assert machine.started == {"TASK_QUEUE_ENABLE": "2"}
    facts = json.dumps(machine.to_dict())
    assert "untold.file" in facts and "secret" not in facts  # /proc/meminfo is not in the tree: said, not zero


def test_torch_npu_without_cann_breaks_import_torch(simulator_env: dict[str, str]) -> None:
    """The real thing: torch_npu where Python finds it, and no CANN libraries."""
    environ = {**os.environ, "PYTHONPATH": simulator_env["PYTHONPATH"].split(os.pathsep)[0]}
    environ = {name: value for name, value in environ.items() if name != "LD_LIBRARY_PATH"}
    if not (Path(environ["PYTHONPATH"]) / "torch_npu").is_dir():
        pytest.skip("torch_npu does not lie in a folder of its own here")
    found = software.import_torch(System(environ=environ))
    assert isinstance(found, Import) and not found.ok
    assert "libhccl.so: cannot open shared object file" in found.chain[-1]
    cured = software.import_torch(System(environ={**environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))
    assert isinstance(cured, Import) and cured.ok


def test_nothing_heavy_is_imported_in_this_process() -> None:
    code = (
        "import sys, ascend_workbook.environment; ascend_workbook.environment.check('cpu'); "
        "print(sorted({'torch', 'torch_npu', 'numpy'} & set(sys.modules)))"
    )
    done = bounded.run_bounded([sys.executable, "-c", code], timeout_s=120)
    assert done.stdout.strip() == "[]", done.stderr


def test_paths_are_shown_short() -> None:
    assert shorten_path(str(PROJECT / "runs" / "a")) == "runs/a" and shorten_path(str(Path.home() / "b")) == "~/b"
    assert shorten_path("/usr/local/Ascend/cann") == "/usr/local/Ascend/cann" and shorten_path("runs") == "runs"


class Answering(Process):
    """A process without torch_npu whose children are counted."""

    def __init__(self, *, torch_npu: str = "", tiers: tuple[str, ...] = ()) -> None:
        self.asked: list[str] = []
        self.torch_npu, self.tiers = torch_npu, tiers

    def module_folder(self, name: str) -> str:
        return self.torch_npu

    def cannot_be(self, tier: str) -> bool:
        return tier not in self.tiers

    def ask_tier(self, tier: str) -> dict[str, Any]:
        if self.cannot_be(tier) and tier.startswith("npu"):
            return {"why": {"say": "device.why.no_cann"}}
        self.asked.append(tier)
        here = {"name": "a CPU", "count": 1, "versions": {"torch": "2.9.0"}}
        why = {"say": "device.why.no_cuda", "args": {"torch": "2.9.0"}}
        return {"why": why, "cpu": here, "cuda": {"build": ""}} if tier == "cuda" else here

    def import_torch(self, environ: Mapping[str, str], timeout_s: float) -> bounded.Output:
        self.asked.append("import")
        return bounded.Output(0, '{"ok": true, "torch": "2.9.0"}\n', "")


@pytest.mark.parametrize(
    ("made", "wanted", "asked", "tier"),
    [
        ({}, "auto", ["cuda"], "cpu"),
        ({}, "cpu", ["cuda"], "cpu"),
        ({"torch_npu": "/lib/torch_npu"}, "auto", ["cuda", "import"], "cpu"),
        ({"tiers": ("npu-simulated",)}, "auto", ["import", "npu-simulated"], "npu-simulated"),
        ({"tiers": ("npu", "npu-simulated")}, "npu", ["import", "npu"], "npu"),
    ],
)
def test_torch_is_imported_once_where_one_child_can_tell(
    made: dict[str, Any], wanted: str, asked: list[str], tier: str
) -> None:
    process = Answering(**made)
    imported, chosen = software.ask_torch_and_device(System(process=process), wanted)
    assert sorted(process.asked) == asked and chosen.tier == tier
    assert isinstance(imported, Import) and imported.ok and imported.torch == "2.9.0"


def test_a_build_is_old_where_it_does_not_fit_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot_tell() -> bool:
        raise WorkbookError("simulator.no_compiler")

    process = System().process
    monkeypatch.setattr(simulator, "is_built", lambda: True)
    for is_current, old in ((lambda: False, True), (lambda: True, False), (cannot_tell, False)):
        monkeypatch.setattr(simulator, "is_current", is_current)
        assert process.simulator_is_old() is old
    monkeypatch.setattr(simulator, "is_built", lambda: False)
    monkeypatch.setattr(simulator, "is_current", lambda: False)
    assert not process.simulator_is_old()
