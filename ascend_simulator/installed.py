"""What is installed to build against: torch and torch_npu, found without importing them, and the compiler."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from ascend_simulator.errors import SimulatorError


@dataclass(frozen=True)
class Package:
    """An installed Python package: where it is and the version it gives itself."""

    name: str
    root: Path
    version: str


def find_package(name: str, *extra: Path) -> Package:
    """Find a package without importing it; `extra` folders come before sys.path.

    Raises SimulatorError where there is none.
    """
    spec = PathFinder.find_spec(name, [*map(str, extra), *sys.path])
    if spec is None or not spec.submodule_search_locations:
        raise SimulatorError("simulator.no_package", package=name, python=sys.executable)
    root = Path(next(iter(spec.submodule_search_locations)))
    match = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)", (root / "version.py").read_text(encoding="utf-8"), re.M)
    return Package(name, root, match.group(1) if match else "")


def find_compiler() -> str:
    """Return the path of `$CXX`, g++ or clang++, the first that is there."""
    names = filter(None, (os.environ.get("CXX"), "g++", "clang++"))
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise SimulatorError("simulator.no_compiler")
    return path


def cxx_standard(torch: Package) -> str:
    """Return the C++ standard of torch's own extensions: what torch/utils/cpp_extension.py passes to the compiler."""
    text = (torch.root / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
    return max(re.findall(r"-std=(c\+\+\d\d)\b", text), default="c++17")


def uses_cxx11_abi(torch: Package) -> bool:
    """Whether torch was built with the C++11 std::string: then libc10.so holds names with `__cxx11`."""
    return b"__cxx11" in (torch.root / "lib" / "libc10.so").read_bytes()
