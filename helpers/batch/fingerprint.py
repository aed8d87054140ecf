"""What a stage's result depends on, as one hash: a good result is reused only while all of it is the same."""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Iterator
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
DRIVER_INFO = Path("/usr/local/Ascend/driver/version.info")


def fingerprint(notebook: Path, parameters: dict[str, Any], versions: dict[str, str]) -> str:
    """Hash of the notebook's code, parameters, the script with its local imports, our own code and versions."""
    digest = hashlib.sha256()
    digest.update(_code(notebook).encode())
    digest.update(json.dumps([parameters, versions, _settings()], sort_keys=True).encode())
    script = parameters.get("script")
    for path in local_sources(Path(script)) if script else ():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for name in ("existing", "baseline"):  # a profile or a baseline already taken, read instead of recording one
        place = parameters.get(name)
        if is_address(place):
            digest.update(ObsStorage(Address.of(str(place))).stamp().encode())
            continue
        for path in _files(Path(place)) if place else ():
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(own_code().encode())
    return digest.hexdigest()[:16]


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
