"""Small C++ libraries that ours are faster by: compiled once, kept by what they were made of, loaded by ctypes.

A result never depends on one: where there is no compiler, Python does the same work, and whoever asked is told why.
`python -m ascend_workbook.machine.native` compiles them all, as set-up does; else the first use of each.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error

ROOT = Path(__file__).parents[1]
#: Where sources lie.
SOURCES = "*/**/native/*.cpp"
#: 0 leaves the libraries out, so that Python does their work.
SWITCH = "ASCEND_WORKBOOK_NATIVE"
# ruff: noqa: SIM905 - a column of names reads better without quotes
#: Where sums are not contracted, all machines give the same digits; errno and traps of floats are not looked at.
FLAGS = """
-std=c++17 -O3 -fPIC -shared -fvisibility=hidden -fopenmp-simd -ffp-contract=off -fno-math-errno
-fno-trapping-math -fno-strict-aliasing
""".split()
LIMIT_S = 120


@dataclass(frozen=True)
class Native:
    """A library, or `why` there is none."""

    library: ctypes.CDLL | None
    why: WorkbookError | None = None


@functools.cache
def load_library(source: Path) -> Native:
    """Load the library of a C++ source that needs but headers beside it, compiled where it is not there yet."""
    if os.environ.get(SWITCH) == "0":
        return Native(None, WorkbookError("native.switched_off", switch=SWITCH))
    text = b"\0".join(path.read_bytes() for path in [source, *sorted(source.parent.glob("*.h"))])
    name = f"{source.stem}.{_compute_digest(text)}.so"
    try:
        library = next((place / name for place in _library_folders() if (place / name).is_file()), None)
        return Native(ctypes.CDLL(str(library or _compile_library(source, name))))
    except WorkbookError as cause:
        return Native(None, cause)
    except OSError as cause:
        return Native(None, WorkbookError("native.unusable", error=explain_os_error(cause)))


def find_compiler() -> str | None:
    """Return the path of `$CXX`, g++ or clang++, the first that is there."""
    names = filter(None, (os.environ.get("CXX"), "g++", "clang++"))
    return next(filter(None, map(shutil.which, names)), None)


def _compute_digest(text: bytes) -> str:
    """Return a digest of all that the library depends on."""
    # the C library's version: homes are shared, and what is linked to a newer one does not load
    name = "CS_GNU_LIBC_VERSION"
    libc = (os.confstr(name) or "") if name in getattr(os, "confstr_names", {}) else sys.platform
    facts = "\0".join([*FLAGS, platform.machine(), libc])
    return hashlib.sha256(facts.encode() + b"\0" + text).hexdigest()[:16]


def _library_folders() -> list[Path]:
    """Return folders for libraries: this Python's environment; the user's cache where that is not writable."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    own = Path(sys.prefix, "share", "ascend-workbook", "native")
    return [own, Path(cache).expanduser() / "ascend-workbook" / "native"]


def _compile_library(source: Path, name: str) -> Path:
    """Compile aside and rename: several processes may do so at once."""
    command = find_compiler()
    if command is None:
        raise WorkbookError("native.no_compiler")
    place = _first_writable_folder()
    handle, aside = tempfile.mkstemp(dir=place, prefix=f".{name}.", suffix=".part")
    os.close(handle)
    try:
        _run_compiler([command, *FLAGS, "-o", aside, str(source)])
        Path(aside).replace(place / name)
    finally:
        Path(aside).unlink(missing_ok=True)
    return place / name


def _first_writable_folder() -> Path:
    """Return the first folder that takes a file. Raises the last one's OSError."""
    first, last = _library_folders()
    with contextlib.suppress(OSError):
        first.mkdir(parents=True, exist_ok=True)
        if os.access(first, os.W_OK):
            return first
    last.mkdir(parents=True, exist_ok=True, mode=0o700)
    return last


def _run_compiler(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as cause:
        raise WorkbookError("native.compiler_failed", error=f"{command[0]}: {LIMIT_S} s") from cause
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise WorkbookError("native.compiler_failed", error=(lines or [f"exit code {done.returncode}"])[0][:200])


def main() -> None:
    """Compile what is not there yet and say what could not be."""
    for source in sorted(ROOT.glob(SOURCES)):
        print(f"native: {source.stem}: {load_library(source).why or 'ready'}")


if __name__ == "__main__":
    main()
