"""CANN's headers: those of the installed torch_npu, or, where it has fewer, those of a wheel that has all.

They are under CANN's own licence and no part of this project: a build takes them from the vendor's wheel on PyPI.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from ascend_simulator.errors import SimulatorError

#: Those that the sources include and not every wheel of torch_npu has.
NEWEST = ("acl/acl_platform.h", "acl/acl_base_rt.h", "profiling/aprof_pub.h")
#: The torch_npu whose wheel has them all, and the folder of the simulator that keeps what was taken of it.
HEADERS_OF = "2.13.0"
BORROWED = Path("python", "cann_headers")
#: In which folders of the wheel they lie; its Python does not matter to them.
PARTS = ("torch_npu/include/third_party/acl/", "torch_npu/include/third_party/hccl/")
PYTHON_OF_WHEEL = "3.11"


def find_cann_headers(torch_npu: Path, location: Path) -> tuple[Path, ...]:
    """Return the folders to include: torch_npu's own where they are complete, else those that a build fetched."""
    own = torch_npu / "include"
    root = own if has_newest(own) else location / BORROWED
    return root, root / "third_party" / "acl" / "inc", root / "third_party" / "hccl" / "inc"


def has_newest(root: Path) -> bool:
    """Return whether each header that the sources include is below this folder."""
    return all((root / "third_party" / "acl" / "inc" / header).is_file() for header in NEWEST)


def fetch_cann_headers(torch_npu: Path, location: Path) -> None:
    """Take the headers from the wheel that has them all, unless they are here.

    Raises SimulatorError where pip cannot have that wheel.
    """
    if has_newest(torch_npu / "include") or has_newest(location / BORROWED):
        return
    target = location / BORROWED
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:  # a rename stays on one file system
        wheel = download_wheel(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.startswith(PARTS)])
        (Path(folder) / "torch_npu" / "include").replace(target)


def download_wheel(folder: Path) -> Path:
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    wanted = ["--python-version", PYTHON_OF_WHEEL, "--dest", str(folder), f"torch_npu=={HEADERS_OF}"]
    command = [sys.executable, "-m", "pip", "download", *options, *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheel = next(folder.glob("torch_npu-*.whl"), None)
    if done.returncode != 0 or wheel is None:
        error = (done.stderr.strip().splitlines() or ["pip"])[-1]
        raise SimulatorError("simulator.no_headers", wanted=HEADERS_OF, error=error)
    return wheel
