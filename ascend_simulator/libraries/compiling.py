"""Compiling and linking the native sources: in parallel, and only what has changed since the last build."""

from __future__ import annotations

import hashlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ascend_simulator.errors import SimulatorError
from ascend_simulator.libraries.features import list_features
from ascend_simulator.libraries.plan import CANN_VERSION, NATIVE, Plan
from ascend_simulator.libraries.stubs import atb_functions, unsupported_functions

#: Libraries that torch_npu links to or opens, all of whose functions libascendcl.so holds.
ALIASES = ("opapi", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel", "msprofiler", "ascend_hal")
#: The kernels are compiled as this many sources: torch's headers take longer than all that includes them.
KERNEL_UNITS = 2


def make_libraries(plan: Plan, objects: Path, libraries: Path) -> None:
    """Fill the folder `libraries`; `objects` keeps what was compiled for the next time."""
    objects.mkdir(exist_ok=True)
    stubs = {"acl": objects / "unsupported.cpp", "atb": objects / "atb.cpp"}
    stubs["acl"].write_text(unsupported_functions(plan.torch_npu), encoding="utf-8")
    stubs["atb"].write_text(atb_functions(plan.torch_npu), encoding="utf-8")
    link_all(plan, compile_all(plan, objects, stubs), libraries)


@dataclass(frozen=True)
class Job:
    """One source to compile. `target` names everything that its object depends on, so that an old one serves again."""

    part: str
    source: Path
    target: Path
    flags: list[str]


def compile_all(plan: Plan, objects: Path, stubs: dict[str, Path]) -> list[Job]:
    """Compile every source in parallel, the longest first."""
    sources = [(part, path) for part in ("hccl", "acl", "mspti") for path in sorted(NATIVE.glob(f"{part}/*.cpp"))]
    kernels = [("kernels", unit) for unit in kernel_units(objects)]
    jobs = [make_job(plan, part, source, objects) for part, source in [*kernels, *stubs.items(), *sources]]
    due = [job for job in jobs if not job.target.is_file()]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        list(pool.map(lambda job: compile_one(plan, job), due))
    needed = {job.target for job in jobs} | set(stubs.values()) | {unit for _, unit in kernels}
    for path in objects.iterdir():
        if path not in needed:
            path.unlink()
    return jobs


def kernel_units(objects: Path) -> list[Path]:
    """Return sources that include the kernels' sources, shared out evenly by size."""
    shares: list[list[Path]] = [[] for _ in range(KERNEL_UNITS)]
    for source in sorted(NATIVE.glob("kernels/*.cpp"), key=lambda path: (-path.stat().st_size, path.name)):
        min(shares, key=lambda share: sum(path.stat().st_size for path in share)).append(source)
    units = [objects / f"kernels{number}.cpp" for number in range(KERNEL_UNITS)]
    for unit, share in zip(units, shares):
        unit.write_text("".join(f'#include "{path}"\n' for path in sorted(share)), encoding="utf-8")
    return units


def make_job(plan: Plan, part: str, source: Path, objects: Path) -> Job:
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(plan.cxx11_abi)}"
    flags = ["-fPIC", f"-std={plan.standard}", "-fvisibility=hidden", abi]
    flags += torch_flags(plan) if part == "kernels" else cann_flags(plan)
    parts = ("kernels",) if part == "kernels" else ("acl", "hccl", "mspti")
    beside = (*parts, "python", "recording", "shapes_only")
    kinds = ("*.h", "*.cpp") if part == "kernels" else ("*.h",)
    beside_it = [path for folder in beside for kind in kinds for path in sorted(NATIVE.glob(f"{folder}/{kind}"))]
    headers = [path.read_bytes() for path in beside_it]
    facts = [plan.compiler, *flags, plan.torch.version, plan.torch_npu.version, source.name]
    digest = hashlib.sha256(b"\0".join([*map(str.encode, facts), source.read_bytes(), *headers]))
    return Job(part, source, objects / f"{part}.{source.stem}.{digest.hexdigest()[:16]}.o", flags)


def compile_one(plan: Plan, job: Job) -> None:
    unfinished = job.target.with_suffix(".tmp")
    run_compiler([plan.compiler, *job.flags, "-c", str(job.source), "-o", str(unfinished)])
    unfinished.rename(job.target)


def torch_flags(plan: Plan) -> list[str]:
    """Return flags for kernels that call PyTorch's own; -O1 costs nothing measurable, saves a quarter of a build."""
    include = plan.torch.root / "include"
    npu = plan.torch_npu.root / "include"
    folders = (*plan.cann_headers, include, include / "torch" / "csrc" / "api" / "include", npu)
    features = [f"-DTORCH_HAS_{name}={int(there)}" for name, there in list_features(plan.torch).items()]
    return ["-O1", "-w", *features, *(part for folder in folders for part in ("-isystem", str(folder)))]


def cann_flags(plan: Plan) -> list[str]:
    """Return flags for CANN's headers, which declare each function with the visibility asked here."""
    folders = (*plan.cann_headers, plan.torch.root / "include")  # of torch only Half.h and BFloat16.h: no library
    texts = {"CANN_VERSION": CANN_VERSION, "REBUILD": "ascend-workbook simulator build"}
    texts |= {"TORCH_VERSION": plan.torch.version, "TORCH_NPU_VERSION": plan.torch_npu.version}
    defines = [f'-DSIM_{name}="{text}"' for name, text in texts.items()]
    headers = [part for folder in folders for part in ("-isystem", str(folder))]
    flags = ["-O2", "-Wall", "-Wextra", "-Wno-deprecated-declarations"]
    return [*flags, "-DFUNC_VISIBILITY", f"-I{NATIVE / 'acl'}", *defines, *headers]


def link_all(plan: Plan, jobs: list[Job], libraries: Path) -> None:
    parts = {
        part: [job.target for job in jobs if job.part == part] for part in ("acl", "atb", "hccl", "mspti", "kernels")
    }
    beside = [f"-L{libraries}", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-lascendcl"]
    link_library(plan, libraries, "ascendcl", parts["acl"], ["-ldl", "-lpthread"])
    link_library(plan, libraries, "atb", parts["atb"], [])
    link_library(plan, libraries, "hccl", parts["hccl"], [*beside, "-lpthread"])
    link_library(plan, libraries, "mspti", parts["mspti"], [*beside, "-lpthread"])
    for name in ALIASES:
        link_library(plan, libraries, name, [], beside)
    link_library(plan, libraries, "hcomm", [], [*beside, "-lhccl"])
    torch = [f"-L{plan.torch.root / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10", "-ldl"]
    link_library(plan, libraries, "npu_sim_kernels", parts["kernels"], [*torch, *beside])


def link_library(plan: Plan, libraries: Path, name: str, objects: list[Path], flags: list[str]) -> None:
    file = f"lib{name}.so"
    run_compiler(
        [plan.compiler, "-shared", "-o", str(libraries / file), f"-Wl,-soname,{file}", *map(str, objects), *flags]
    )


def run_compiler(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        what = " ".join([command[0], *command[-3:]])
        raise SimulatorError("simulator.compiler_failed", command=what, error="\n".join(lines[:3]))
