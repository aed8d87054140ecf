"""Builds the simulated NPU from the installed torch and torch_npu: a folder that looks like a CANN install.

    python helpers/simulator/build.py [--out FOLDER] [--force] [--check]

The folder holds set_env.sh, version.cfg, lib64/ and stamp.json. It is built aside and renamed into place, one
build at a time, and only when torch, torch_npu or the sources have changed. Neither torch nor torch_npu is
imported. This file runs by its path alone, without the rest of the package.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

NATIVE = Path(__file__).resolve().with_name("native")
#: The CANN release whose interface the runtime follows: the newest that torch_npu's compatibility table names
#: (https://gitcode.com/Ascend/pytorch, COMPATIBILITY.md).
CANN_VERSION = "9.1.0"
#: Libraries that torch_npu links to or opens, all of whose functions libascendcl.so holds.
ALIASES = ("acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel", "msprofiler", "ascend_hal")
#: What nearly every kernel includes.
TORCH_HEADERS = ("torch/library.h", "ATen/ATen.h", "ATen/core/dispatch/Dispatcher.h")
#: Functions of CANN by name, as they appear among a library's undefined symbols.
CANN_FUNCTION = re.compile(r"(?:acl[a-zA-Z]|rt[A-Z]|Msprof|Hccl|hal[A-Z])\w+")


class BuildError(Exception):
    """`key` names the sentence in helpers/words/simulator.py, `args` fill it."""

    def __init__(self, key: str, **args: str) -> None:
        super().__init__(f"{key}: {args}")
        self.key = key
        self.arguments = args


def default_location() -> Path:
    """`$ASCEND_WORKBOOK_SIMULATOR`, else share/ascend-workbook/simulator of this Python's environment."""
    told = os.environ.get("ASCEND_WORKBOOK_SIMULATOR")
    return Path(told).expanduser() if told else Path(sys.prefix) / "share" / "ascend-workbook" / "simulator"


@dataclass(frozen=True)
class Package:
    """An installed Python package: where it is and the version it gives itself."""

    name: str
    root: Path
    version: str


def find_package(name: str, *extra: Path) -> Package:
    """The package without importing it; `extra` folders come before sys.path. Raises BuildError where there is none."""
    spec = PathFinder.find_spec(name, [*map(str, extra), *sys.path])
    if spec is None or not spec.submodule_search_locations:
        raise BuildError("simulator.no_package", package=name, python=sys.executable)
    root = Path(next(iter(spec.submodule_search_locations)))
    match = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)", (root / "version.py").read_text(encoding="utf-8"), re.M)
    return Package(name, root, match.group(1) if match else "")


@dataclass(frozen=True)
class Plan:
    """Everything a build depends on; equal plans give equal folders."""

    torch: Package
    torch_npu: Package
    compiler: str
    standard: str
    cxx11_abi: bool
    sources: dict[str, str]

    def stamp(self) -> dict[str, object]:
        return {
            "torch": self.torch.version,
            "torch_npu": self.torch_npu.version,
            "torch_root": str(self.torch.root),
            "torch_npu_root": str(self.torch_npu.root),
            "compiler": self.compiler,
            "standard": self.standard,
            "cxx11_abi": self.cxx11_abi,
            "cann": CANN_VERSION,
            "sources": self.sources,
        }


def make_plan(location: Path) -> Plan:
    torch, npu = find_package("torch"), find_package("torch_npu", location / "python")
    return Plan(torch, npu, find_compiler(), cxx_standard(torch), uses_cxx11_abi(torch), source_hashes())


def find_compiler() -> str:
    """`$CXX`, g++ or clang++, with its version: another compiler makes another build."""
    for name in filter(None, (os.environ.get("CXX"), "g++", "clang++")):
        path = shutil.which(name)
        if path:
            return path
    raise BuildError("simulator.no_compiler")


def cxx_standard(torch: Package) -> str:
    """The C++ standard of torch's own extensions: what torch/utils/cpp_extension.py passes to the compiler."""
    text = (torch.root / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
    return max(re.findall(r"-std=(c\+\+\d\d)\b", text), default="c++17")


def uses_cxx11_abi(torch: Package) -> bool:
    """Whether torch was built with the C++11 std::string: then libc10.so holds names with `__cxx11`."""
    return b"__cxx11" in (torch.root / "lib" / "libc10.so").read_bytes()


def source_hashes() -> dict[str, str]:
    files = [path for path in sorted(NATIVE.rglob("*")) if path.is_file()] + [Path(__file__).resolve()]
    return {os.path.relpath(path, NATIVE): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in files}


def read_stamp(location: Path) -> dict[str, object]:
    """The stamp of the folder; empty where nothing whole was built."""
    try:
        stamp: dict[str, object] = json.loads((location / "stamp.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp


def build(location: Path | None = None, *, force: bool = False) -> bool:
    """Builds the folder if it is not there or out of date; True if it was built now.

    Raises BuildError: no compiler, no torch or torch_npu, or the compiler's own first error.
    """
    location = (location or default_location()).resolve()
    plan = make_plan(location)
    with one_build_at_a_time(location):
        if not force and read_stamp(location) == plan.stamp():
            return False
        aside = location.with_name(f".{location.name}.{os.getpid()}")
        shutil.rmtree(aside, ignore_errors=True)
        try:
            fill(aside, plan, location)
            replace(location, aside)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return True


@contextmanager
def one_build_at_a_time(location: Path) -> Iterator[None]:
    location.parent.mkdir(parents=True, exist_ok=True)
    with (location.parent / f".{location.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def replace(location: Path, aside: Path) -> None:
    """Puts the new folder in place. What set-up put into python/ is kept."""
    old = location.with_name(f".{location.name}.old.{os.getpid()}")
    if (location / "python").exists():
        (location / "python").rename(aside / "python")
    if location.exists():
        location.rename(old)
    aside.rename(location)
    shutil.rmtree(old, ignore_errors=True)


def fill(out: Path, plan: Plan, location: Path) -> None:
    """Everything of the folder: libraries, then the files that make it look like a CANN install, the stamp last."""
    objects, libraries = location.with_name(f".{location.name}.objects"), out / "lib64"
    for folder in (libraries, *(out / name for name in ("opp", "runtime", "compiler"))):
        folder.mkdir(parents=True)
    objects.mkdir(exist_ok=True)
    stubs = objects / "unsupported.cpp"
    stubs.write_text(unsupported_functions(plan.torch_npu), encoding="utf-8")
    link_all(plan, compile_all(plan, objects, stubs), libraries)
    write_cann_files(out, plan, location)
    (out / "stamp.json").write_text(json.dumps(plan.stamp(), indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Job:
    """One source to compile. `target` names everything that its object depends on, so that an old one serves again."""

    part: str
    source: Path
    target: Path
    flags: list[str]


def compile_all(plan: Plan, objects: Path, stubs: Path) -> list[Job]:
    """Every source in parallel. While torch's headers are precompiled for the kernels, the other parts compile."""
    sources = [(part, path) for part in ("hccl", "acl", "kernels") for path in sorted(NATIVE.glob(f"{part}/*.cpp"))]
    jobs = [make_job(plan, part, source, objects) for part, source in [("acl", stubs), *sources]]
    due = [job for job in jobs if not job.target.is_file()]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        several = sum(job.part == "kernels" for job in due) > 1
        headers = pool.submit(precompile_torch_headers, plan, objects) if several else None
        for _ in pool.map(lambda job: compile_one(plan, job, headers), due):
            pass
    kept = {job.target for job in jobs} | {stubs}
    for path in objects.iterdir():
        if path not in kept:
            path.unlink()
    return jobs


def make_job(plan: Plan, part: str, source: Path, objects: Path) -> Job:
    flags = [*common_flags(plan), *(torch_flags(plan) if part == "kernels" else cann_flags(plan))]
    if part == "kernels":
        flags += ["-include", str(torch_headers(objects))]
    beside = ("kernels",) if part == "kernels" else ("acl", "hccl")
    headers = [path.read_bytes() for folder in beside for path in sorted(NATIVE.glob(f"{folder}/*.h"))]
    facts = [plan.compiler, *flags, plan.torch.version, plan.torch_npu.version, source.name]
    digest = hashlib.sha256(b"\0".join([*map(str.encode, facts), source.read_bytes(), *headers]))
    return Job(part, source, objects / f"{part}.{source.stem}.{digest.hexdigest()[:16]}.o", flags)


def torch_headers(objects: Path) -> Path:
    """A header that includes what nearly every kernel does; precompiled where several kernels are due."""
    header = objects / "torch_headers.h"
    header.write_text("".join(f"#include <{name}>\n" for name in TORCH_HEADERS), encoding="utf-8")
    return header


def precompile_torch_headers(plan: Plan, objects: Path) -> None:
    header = torch_headers(objects)
    flags = [*common_flags(plan), *torch_flags(plan)]
    run([plan.compiler, *flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"])


def compile_one(plan: Plan, job: Job, torch_headers_ready: Future[None] | None) -> None:
    if job.part == "kernels" and torch_headers_ready:
        torch_headers_ready.result()
    unfinished = job.target.with_suffix(".tmp")
    run([plan.compiler, *job.flags, "-c", str(job.source), "-o", str(unfinished)])
    unfinished.rename(job.target)


def common_flags(plan: Plan) -> list[str]:
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(plan.cxx11_abi)}"
    return ["-fPIC", f"-std={plan.standard}", "-fvisibility=hidden", abi]


def torch_flags(plan: Plan) -> list[str]:
    """Kernels call PyTorch's own; -O1 costs them nothing that can be measured and saves a quarter of the build."""
    include = plan.torch.root / "include"
    return ["-O1", "-w", "-isystem", str(include), "-isystem", str(include / "torch" / "csrc" / "api" / "include")]


def cann_flags(plan: Plan) -> list[str]:
    """The headers inside torch_npu's wheel, which declare every function with the visibility asked for here."""
    include = plan.torch_npu.root / "include"
    folders = (include, include / "third_party" / "acl" / "inc", include / "third_party" / "hccl" / "inc")
    rebuild = "ascend-workbook simulator build"
    texts = {
        "SIM_CANN_VERSION": CANN_VERSION,
        "SIM_TORCH_VERSION": plan.torch.version,
        "SIM_TORCH_NPU_VERSION": plan.torch_npu.version,
        "SIM_REBUILD": rebuild,
    }
    defines = [f'-D{name}="{text}"' for name, text in texts.items()]
    headers = [part for folder in folders for part in ("-isystem", str(folder))]
    flags = ["-O2", "-Wall", "-Wextra", "-Wno-deprecated-declarations"]
    return [*flags, "-DFUNC_VISIBILITY", f"-I{NATIVE / 'acl'}", *defines, *headers]


def link_all(plan: Plan, jobs: list[Job], libraries: Path) -> None:
    parts = {part: [job.target for job in jobs if job.part == part] for part in ("acl", "hccl", "kernels")}
    beside = [f"-L{libraries}", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-lascendcl"]
    link(plan, libraries, "ascendcl", parts["acl"], ["-ldl", "-lpthread"])
    link(plan, libraries, "hccl", parts["hccl"], [*beside, "-lpthread"])
    for name in ALIASES:
        link(plan, libraries, name, [], beside)
    link(plan, libraries, "hcomm", [], [*beside, "-lhccl"])
    torch = [f"-L{plan.torch.root / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10", "-ldl"]
    link(plan, libraries, "npu_sim_kernels", parts["kernels"], torch)


def link(plan: Plan, libraries: Path, name: str, objects: list[Path], flags: list[str]) -> None:
    file = f"lib{name}.so"
    run([plan.compiler, "-shared", "-o", str(libraries / file), f"-Wl,-soname,{file}", *map(str, objects), *flags])


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        what = " ".join([command[0], *command[-3:]])
        raise BuildError("simulator.compiler_failed", command=what, error="\n".join(lines[:3]))


def unsupported_functions(torch_npu: Package) -> str:
    """C++ that defines as an error each function of CANN that torch_npu needs and no source defines."""
    listed = (NATIVE / "acl" / "unsupported.in").read_text(encoding="utf-8").splitlines()
    wanted = {line.strip() for line in listed if line.strip() and not line.startswith("#")}
    wanted |= linked_functions(torch_npu)
    missing = sorted(wanted - defined_functions())
    visible = '__attribute__((visibility("default")))'
    export = f'extern "C" {visible}'
    lines = []
    for name in missing:
        code = "5 /* HCCL_E_NOT_SUPPORT */" if name.startswith("Hccl") else "code"
        lines.append(f'{export} int {name}() {{ [[maybe_unused]] int code = sim::unsupported("{name}"); return {code}; }}')
    return "\n".join([f"namespace sim {{ {visible} int unsupported(const char*); }}", *lines, ""])


def linked_functions(torch_npu: Package) -> set[str]:
    """Undefined symbols of torch_npu's libraries that are functions of CANN, read with nm."""
    libraries = [*torch_npu.root.glob("lib/*.so"), *torch_npu.root.glob("_C*.so")]
    done = subprocess.run(
        ["nm", "-D", "--undefined-only", *map(str, libraries)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BuildError("simulator.compiler_failed", command="nm", error=done.stderr.strip())
    names = (line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if line.strip().startswith("U "))
    return {name for name in names if CANN_FUNCTION.fullmatch(name)}


def defined_functions() -> set[str]:
    """Functions that the sources define at the start of a line."""
    pattern = re.compile(r"^(?:SIM_EXPORT\s+)?(?:const\s+)?[A-Za-z_]\w*[\s*]+(\w+)\([^;]*?\)\s*\{", re.M | re.S)
    texts = (path.read_text(encoding="utf-8") for part in ("acl", "hccl") for path in NATIVE.glob(f"{part}/*.cpp"))
    return {name for text in texts for name in pattern.findall(text) if CANN_FUNCTION.fullmatch(name)}


def write_cann_files(out: Path, plan: Plan, location: Path) -> None:
    """set_env.sh, version.cfg and the install file that torch_npu reads its CANN version from."""
    script = (NATIVE / "set_env.sh.in").read_text(encoding="utf-8")
    script = script.replace("@LOCATION@", quoted(location))
    (out / "set_env.sh").write_text(script, encoding="utf-8")
    cfg = f"simulated=true\nversion={CANN_VERSION}\ntorch={plan.torch.version}\ntorch_npu={plan.torch_npu.version}\n"
    (out / "version.cfg").write_text(cfg, encoding="utf-8")
    info = out / "x86_64-linux" / "ascend_toolkit_install.info"
    info.parent.mkdir()
    info.write_text(f"package_name=simulated\nversion={CANN_VERSION}\nsimulated=true\n", encoding="utf-8")


def quoted(path: Path) -> str:
    """The path as one word of any shell, inside single quotes."""
    return str(path).replace("'", "'\\''")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="folder (default: share/ascend-workbook/simulator)")
    parser.add_argument("--force", action="store_true", help="build even if nothing has changed")
    parser.add_argument("--check", action="store_true", help="only say whether a build is due (exit code 1)")
    args = parser.parse_args(argv)
    location = (args.out or default_location()).resolve()
    started = time.monotonic()
    try:
        if args.check:
            due = read_stamp(location) != make_plan(location).stamp()
            print(f"{location}: {'out of date' if due else 'up to date'}")
            return int(due)
        built = build(location, force=args.force)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{location}: {f'built in {time.monotonic() - started:.1f} s' if built else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
