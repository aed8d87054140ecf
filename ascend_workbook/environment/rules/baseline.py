"""The baseline's side: NVIDIA's driver and what torch sees of CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, Untold, require_fact
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.machine import versions

GROUP = "baseline"
BASIS = {"ENV080": "defined"}
LOWEST = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}


def check_cuda(machine: Machine) -> Iterator[Finding]:
    """ENV080: the baseline's side: a CUDA device if torch sees one, else the CPU stands in for it."""
    answer = require_fact(machine.python.torch_import)
    if not answer.ok:
        return  # ENV051 has said why
    cuda = answer.cuda
    if cuda.get("name"):
        args: Args = {"name": cuda["name"], "count": cuda["count"], "build": cuda["build"]}
        yield Finding("ENV080", Status.GOOD, "ENV080.ok", args)
    elif cuda.get("build"):
        yield Finding("ENV080", Status.NOTE, "ENV080.no_device", {"build": cuda["build"], "torch": answer.torch})
    else:
        yield Finding("ENV080", Status.NOTE, "ENV080.cpu", {"torch": answer.torch})


def check_nvidia_driver(machine: Machine) -> Iterator[Finding]:
    """ENV081: NVIDIA's side without torch: GPUs on the bus, the driver's version, and what torch's CUDA needs of it.

    Lowest Linux drivers by CUDA major release: https://docs.nvidia.com/deploy/cuda-compatibility/
    """
    imported, gpus = machine.python.torch_import, machine.nvidia.gpus
    cuda = {} if isinstance(imported, Untold) else imported.cuda
    build = str(cuda.get("build") or "")
    if not gpus and not machine.nvidia.driver:
        return
    bad = Status.FIX if machine.chosen.wanted == "cuda" else Status.LOOK
    args: Args = {"gpus": gpus, "driver": require_fact(machine.nvidia.driver), "build": build}
    needed = LOWEST.get(int(build.split(".")[0])) if build[:1].isdigit() else None
    if not args["driver"]:
        yield Finding("ENV081", bad, "ENV081.no_driver", args)
    elif isinstance(imported, Untold) or not imported.ok:
        return  # ENV051 says so
    elif not build:
        yield Finding("ENV081", bad, "ENV081.no_cuda", args)
    elif needed and versions.parse_version(str(args["driver"])) < versions.parse_version(needed):
        yield Finding("ENV081", bad, "ENV081.old", {**args, "needed": needed})
    elif not cuda.get("name"):
        yield Finding("ENV081", bad, "ENV081.unseen", args)
    else:
        yield Finding("ENV081", Status.GOOD, "ENV081.ok", args)


RULES = {"ENV080": check_cuda, "ENV081": check_nvidia_driver}
