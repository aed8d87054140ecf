"""Everything a build depends on. Equal plans give equal folders, so a build is due where the plan has changed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from itertools import chain
from pathlib import Path

from ascend_simulator.errors import SimulatorError
from ascend_simulator.libraries.headers import find_cann_headers


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
    """Whether torch was built with the C++11 std::string: then c10's own functions take it by its new name.

    An older build has `__cxx11` in libc10.so too, of the libstdc++ that is linked into it.
    """
    return b"_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx11" in (torch.root / "lib" / "libc10.so").read_bytes()


PACKAGE = Path(__file__).parents[1]
NATIVE, REFERENCES, MSPROF, SHAPES_ONLY, GRAPH_ENGINE, PYACL, OFFLINE_MODELS = (
    PACKAGE / name
    for name in ("native", "references", "msprof", "shapes_only", "graph_engine", "pyacl", "offline_models")
)
#: The CANN release whose interface the runtime follows: the newest that torch_npu's compatibility table names
#: (https://gitcode.com/Ascend/pytorch, COMPATIBILITY.md).
CANN_VERSION = "9.1.0"


@dataclass(frozen=True)
class Plan:
    """Versions and places of the pair, the compiler, how torch was compiled, and a hash of each source."""

    torch: Package
    torch_npu: Package
    cann_headers: tuple[Path, ...]
    compiler: str
    standard: str
    cxx11_abi: bool
    sources: dict[str, str]

    def make_stamp(self) -> dict[str, object]:
        stamp: dict[str, object] = {name: getattr(self, name) for name in ("compiler", "standard", "cxx11_abi")}
        for package in (self.torch, self.torch_npu):
            stamp |= {package.name: package.version, f"{package.name}_root": str(package.root)}
        headers = str(self.cann_headers[0])
        return {**stamp, "cann": CANN_VERSION, "cann_headers": headers, "sources": self.sources}


def find_torch_npu(location: Path) -> Package:
    """Find torch_npu beside the simulator, else where this Python has it."""
    return find_package("torch_npu", location / "python")


def make_plan(location: Path) -> Plan:
    torch, npu = find_package("torch"), find_torch_npu(location)
    headers = find_cann_headers(npu.root, location)
    return Plan(torch, npu, headers, find_compiler(), cxx_standard(torch), uses_cxx11_abi(torch), source_hashes())


def source_hashes() -> dict[str, str]:
    """Return hashes by path below this package: the native sources, and the modules that compile them."""
    folders = (PACKAGE, Path(__file__).parent, REFERENCES, MSPROF, SHAPES_ONLY, GRAPH_ENGINE, PYACL, OFFLINE_MODELS)
    modules = (folder.glob("*.py") for folder in folders)
    paths = (*NATIVE.rglob("*"), *chain.from_iterable(modules))
    files = sorted(path for path in paths if path.is_file())
    return {str(path.relative_to(PACKAGE)): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in files}


def read_stamp(location: Path) -> dict[str, object]:
    """Return the stamp of the folder; empty where nothing whole was built."""
    try:
        stamp: dict[str, object] = json.loads((location / "stamp.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp
