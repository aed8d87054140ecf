"""What a stage's result depends on, by name: a good result is reused only while all of it is the same."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.machine import cann, device, simulator
from ascend_workbook.machine.device import Device
from ascend_workbook.storage import Address, ObsStorage, is_address

# ruff: noqa: SIM905 - a column of names reads better without quotes

#: The folders of our own code, side by side; the course's may be absent.
ROOT, PACKAGES = Path(__file__).resolve().parents[2], ("ascend_workbook", "ascend_simulator", "helpers", "course")
#: What they compute with and what their pages are made of.
SOURCES = (".py", ".json", ".toml", ".html", ".css", ".js", ".cpp", ".h", ".c", ".in", ".txt")
#: Variables that a stage's children inherit and that change what they compute.
SETTINGS = tuple(
    """
ASCEND_WORKBOOK_SIM_ ASCEND_LAUNCH_BLOCKING TASK_QUEUE_ENABLE CPU_AFFINITY_CONF INF_NAN_MODE_ PYTORCH_ TORCH_ HCCL_
NCCL_ CUBLAS_ NVIDIA_TF32_OVERRIDE OMP_NUM_THREADS MKL_NUM_THREADS PYTHONPATH PYTHONHASHSEED
""".split()
)
#: Of these only how many cards they show: which ones a run is given changes from start to start.
VISIBLE = ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
#: Parameters that name what is read instead of being recorded: a profile, baselines, the output of a failed run.
INPUTS = ("existing", "baseline", "bench_baseline", "error_log")
DRIVER_INFO = Path("/usr/local/Ascend/driver/version.info")


def hash_parts(notebook: Path, parameters: dict[str, Any], versions: dict[str, str]) -> dict[str, str]:
    """Hash what a stage's result depends on: code, parameters, versions, settings, script, inputs and packages. What is
    opened besides is for reuse.py to know."""
    script, repository = parameters.get("script"), parameters.get("repository")
    # what is in the files of a repository that is scanned is known by their being opened
    sources = sorted(map(str, Path(repository).rglob("*.py"))) if repository else []
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = json.dumps([cell["source"] for cell in cells if cell["cell_type"] == "code"])
    shown: dict[str, str | int] = {name: len(os.environ[name].split(",")) for name in VISIBLE if os.environ.get(name)}
    settings = shown | {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)}
    return {
        "notebook": _hash_value(code),
        "parameters": _hash_value(parameters),
        "versions": _hash_value(versions),
        "settings": _hash_value(settings),
        "script": _hash_files(local_sources(Path(script)) if script else ()),
        "inputs": _hash_value([*(_hash_input(parameters.get(name)) for name in INPUTS), sources]),
        "code": own_code(),
        "packages": hash_packages(),
    }


def join_hashes(parts: dict[str, str]) -> str:
    """Join all hashes into one."""
    return _hash_value(parts)[:16]


def _hash_value(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _hash_files(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _hash_input(place: Any) -> str:
    """Hash a file or folder by its content, and one in object storage by what the service says of it."""
    if is_address(place):
        return ObsStorage(Address.parse(str(place))).compute_stamp()
    if not place or not Path(place).exists():
        return ""
    paths = Path(place).rglob("*") if Path(place).is_dir() else [Path(place)]
    return _hash_files(sorted(path for path in paths if path.is_file()))


@cache
def hash_packages() -> str:
    """Hash the installed packages and their versions."""
    places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    paths = (path for place in places for path in Path(place).iterdir())
    return _hash_value(sorted(path.name for path in paths if path.suffix in (".dist-info", ".egg-info")))


def device_versions(device_name: str) -> dict[str, str]:
    """Versions of torch, torch_npu, CANN and the driver that the wanted device brings, and its tier."""
    return versions_of(device.find(device_name))


def versions_of(found_device: Device) -> dict[str, str]:
    """Return the versions of torch, torch_npu, CANN and the driver of a found device, and its tier."""
    here = cann.find_cann(device.child_environment(found_device.tier))
    driver = DRIVER_INFO.read_text(errors="replace") if DRIVER_INFO.is_file() else ""
    stamp = simulator.simulator_location() / "version.cfg" if found_device.simulated else None
    built = hashlib.sha256(stamp.read_bytes()).hexdigest() if stamp and stamp.is_file() else ""
    return {
        **found_device.versions,
        "tier": found_device.tier,
        "cann": here.version if here else "",
        "driver": hashlib.sha256(driver.encode()).hexdigest() if driver else "",
        "simulator": built,
    }


def local_sources(script: Path) -> list[Path]:
    """Return the script and every module of its own folder that it imports, directly or through others."""
    seen_paths: dict[Path, None] = {}
    waiting = [script.resolve()]
    while waiting:
        path = waiting.pop()
        if path in seen_paths or not path.is_file():
            continue
        seen_paths[path] = None
        waiting.extend(_find_imports(path, script.resolve().parent))
    return sorted(seen_paths)


@cache
def own_code() -> str:
    """Return a hash of our packages' Python, data and native sources, as this process began with them."""
    digest = hashlib.sha256()
    for path in sorted(path for name in PACKAGES for path in Path(ROOT, name).rglob("*")):
        if path.suffix in SOURCES:
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _find_imports(path: Path, folder: Path) -> Iterator[Path]:
    """Yield the files in `folder` that a module imports. A file that Python cannot parse imports nothing."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
        start = path.parents[node.level - 1] if isinstance(node, ast.ImportFrom) and node.level else folder
        for name in filter(None, names):
            pieces = name.split(".")
            for depth in range(1, len(pieces) + 1):  # importing a.b.c runs a/__init__.py and a/b/__init__.py too
                stem = start.joinpath(*pieces[:depth])
                yield from (stem.with_suffix(".py"), stem / "__init__.py")
