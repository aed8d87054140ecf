"""The system below Python: torch_npu's wheels ask for Linux, an architecture and a C library."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment import nearest
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, require_fact
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.machine import versions

GROUP = "host"
ARCHITECTURES = ("x86_64", "aarch64")


def check_operating_system(machine: Machine) -> Iterator[Finding]:
    """ENV010: torch_npu's wheels exist for Linux on x86_64 and aarch64 only (PyPI, torch_npu files).

    Source: https://pypi.org/simple/torch-npu/
    """
    host = machine.host
    name = host.distribution or host.system
    args: Args = {"name": name, "kernel": host.kernel, "arch": host.arch}
    if host.system == "Linux" and host.arch in ARCHITECTURES:
        yield Finding("ENV010", Status.OK, "ENV010.ok", args)
    else:
        yield Finding("ENV010", Status.FAIL if machine.needs_npu else Status.WARN, "ENV010.other", args)


def check_c_library(machine: Machine) -> Iterator[Finding]:
    """ENV011: the wheel's glibc. From torch_npu 2.7.1 the wheels ask for 2.28 (2.6.0 on aarch64), before for 2.17.

    An older glibc fails at import with "version `GLIBC_2.28' not found". Source: the wheels' tags on PyPI.

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
    """
    glibc = require_fact(machine.host.glibc)
    wheel = versions.find_wheel(machine.torch_npu, machine.host.arch) if machine.torch_npu else None
    if wheel is None:
        yield Finding("ENV011", Status.OK, "ENV011.ok", {"glibc": glibc})
        return
    args: Args = {"glibc": glibc, "needed": wheel["glibc"], "torch_npu": machine.torch_npu}
    if versions.parse_version(glibc) < versions.parse_version(wheel["glibc"]):
        args["command"] = nearest.nearest_versions(machine)
        yield Finding("ENV011", Status.FAIL, "ENV011.old", args)
    else:
        yield Finding("ENV011", Status.OK, "ENV011.enough", args)


RULES = {
    "ENV010": check_operating_system,
    "ENV011": check_c_library,
}
