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

from helpers import cann, device, simulator
from helpers.device import Device
from helpers.storage import Address, ObsStorage, is_address

PACKAGE = Path(__file__).resolve().parents[1]
#: Variables that a stage's children inherit and that change what they compute.
SETTINGS = (
    "ASCEND_WORKBOOK_SIM_", "ASCEND_LAUNCH_BLOCKING", "TASK_QUEUE_ENABLE", "CPU_AFFINITY_CONF", "INF_NAN_MODE_",
    "PYTORCH_", "TORCH_", "HCCL_", "NCCL_", "CUBLAS_", "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
    "PYTHONPATH", "PYTHONHASHSEED",
)  # fmt: skip
#: Of these only how many cards they show: which ones a run is given changes from start to start.
VISIBLE = ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
#: Parameters that name what is read instead of being recorded: a profile, baselines, the output of a failed run.
INPUTS = ("existing", "baseline", "bench_baseline", "error_log")
DRIVER_INFO = Path("/usr/local/Ascend/driver/version.info")


def parts(notebook: Path, parameters: dict[str, Any], versions: dict[str, str]) -> dict[str, str]:
    """Hashes of the notebook's code, parameters, versions, settings, the script with its local imports, what it is
    given to read, our own code and the packages that are installed. What is opened besides is for reuse.py to know."""
    script = parameters.get("script")
    return {
        "notebook": _hash(_code(notebook)), "parameters": _hash(parameters), "versions": _hash(versions),
        "settings": _hash(_settings()), "script": _of_files(local_sources(Path(script)) if script else ()),
        "inputs": _hash([*(_input(parameters.get(name)) for name in INPUTS), _names(parameters.get("repository"))]),
        "code": own_code(),
        "packages": packages(),
    }  # fmt: skip


def fingerprint(parts: dict[str, str]) -> str:
    """All of them as one."""
    return _hash(parts)[:16]


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _of_files(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _input(place: Any) -> str:
    """A file or folder by its content, one in object storage by what the service says of it."""
    if is_address(place):
        return ObsStorage(Address.of(str(place))).stamp()
    return _of_files(_files(Path(place))) if place and Path(place).exists() else ""


def _names(repository: Any) -> list[str]:
    """The Python files of a repository that is scanned; what is in them is known by their being opened."""
    return sorted(map(str, Path(repository).rglob("*.py"))) if repository else []


@cache
def packages() -> str:
    """Equal for the same packages of the same versions."""
    places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    found = (path for place in places for path in Path(place).iterdir())
    return _hash(sorted(path.name for path in found if path.suffix in (".dist-info", ".egg-info")))


def _settings() -> dict[str, str | int]:
    """What the environment says that a result depends on."""
    shown: dict[str, str | int] = {name: len(os.environ[name].split(",")) for name in VISIBLE if os.environ.get(name)}
    return shown | {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)}


def versions(wanted: str) -> dict[str, str]:
    """Versions of torch, torch_npu, CANN and the driver that the wanted device brings, and its tier."""
    return versions_of(device.find(wanted))


def versions_of(found: Device) -> dict[str, str]:
    """The same of a device that was found already."""
    here = cann.find(device.child_environment(found.tier))
    driver = DRIVER_INFO.read_text(errors="replace") if DRIVER_INFO.is_file() else ""
    stamp = simulator.location() / "version.cfg" if found.simulated else None
    built = hashlib.sha256(stamp.read_bytes()).hexdigest() if stamp and stamp.is_file() else ""
    return {
        **found.versions,
        "tier": found.tier,
        "cann": here.version if here else "",
        "driver": hashlib.sha256(driver.encode()).hexdigest() if driver else "",
        "simulator": built,
    }


def local_sources(script: Path) -> list[Path]:
    """The script and every module of its own folder that it imports, directly or through others."""
    seen: dict[Path, None] = {}
    waiting = [script.resolve()]
    while waiting:
        path = waiting.pop()
        if path in seen or not path.is_file():
            continue
        seen[path] = None
        waiting.extend(_imports(path, script.resolve().parent))
    return sorted(seen)


@cache
def own_code() -> str:
    """Hash of this package's Python and native sources, as this process began with them."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".json", ".cpp", ".h", ".c", ".in"):
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _files(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]


def _code(notebook: Path) -> str:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return json.dumps([cell["source"] for cell in cells if cell["cell_type"] == "code"])


def _imports(path: Path, folder: Path) -> Iterator[Path]:
    """Files in `folder` that the module imports; a file Python cannot parse imports nothing."""
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
