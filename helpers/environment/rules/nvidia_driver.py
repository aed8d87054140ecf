"""ENV081: NVIDIA's side without torch: GPUs on the bus, the driver's version, and what torch's CUDA needs of it.

Lowest Linux drivers by CUDA major release: https://docs.nvidia.com/deploy/cuda-compatibility/
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Args, Untold, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV081", "baseline"
LOWEST = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}


def check(machine: Machine) -> Iterator[Finding]:
    imported, gpus = machine.python.torch_import, machine.nvidia.gpus
    cuda = {} if isinstance(imported, Untold) else imported.cuda
    build = str(cuda.get("build") or "")
    if not gpus and not machine.nvidia.driver:
        return
    bad = Status.FAIL if machine.chosen.wanted == "cuda" else Status.WARN
    args: Args = {"gpus": gpus, "driver": told(machine.nvidia.driver), "build": build}
    needed = LOWEST.get(int(build.split(".")[0])) if build[:1].isdigit() else None
    if not args["driver"]:
        yield Finding(CODE, bad, "ENV081.no_driver", args)
    elif isinstance(imported, Untold) or not imported.ok:
        return  # ENV051 says so
    elif not build:
        yield Finding(CODE, bad, "ENV081.no_cuda", args)
    elif needed and versions.parse(str(args["driver"])) < versions.parse(needed):
        yield Finding(CODE, bad, "ENV081.old", {**args, "needed": needed})
    elif not cuda.get("name"):
        yield Finding(CODE, bad, "ENV081.unseen", args)
    else:
        yield Finding(CODE, Status.OK, "ENV081.ok", args)
