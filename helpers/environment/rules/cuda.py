"""ENV080: the baseline's side: a CUDA device if torch sees one, else the CPU stands in for it."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV080", "baseline"
BASIS = "defined"


def check(machine: Machine) -> Iterator[Finding]:
    answer = told(machine.python.torch_import)
    if not answer.ok:
        return  # ENV051 has said why
    cuda = answer.cuda
    if cuda.get("name"):
        args: Args = {"name": cuda["name"], "count": cuda["count"], "build": cuda["build"]}
        yield Finding(CODE, Status.OK, "ENV080.ok", args)
    elif cuda.get("build"):
        yield Finding(CODE, Status.NOTE, "ENV080.no_device", {"build": cuda["build"], "torch": answer.torch})
    else:
        yield Finding(CODE, Status.NOTE, "ENV080.cpu", {"torch": answer.torch})
