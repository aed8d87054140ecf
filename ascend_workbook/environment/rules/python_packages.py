"""Python and the packages beside torch, that CANN and torch_npu ask for or cannot bear."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment import nearest
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, shorten_path
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.machine import versions

GROUP = "python"


def check_python_version(machine: Machine) -> Iterator[Finding]:
    """ENV050: Python. This package needs 3.9; torch_npu's wheels exist for some versions only (tags on PyPI).

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/COMPATIBILITY.md
    """
    python = machine.python.version
    args: Args = {
        "python": python,
        "executable": shorten_path(machine.python.executable),
        "torch_npu": machine.torch_npu,
    }
    wheel = versions.find_wheel(machine.torch_npu, machine.host.arch) if machine.torch_npu else None
    minor = ".".join(python.split(".")[:2])
    if wheel and minor not in wheel["python"]:
        yield Finding(
            "ENV050",
            Status.WARN,
            "ENV050.no_wheel",
            {**args, "listed": wheel["python"], "command": nearest.nearest_versions(machine)},
        )
    else:
        yield Finding("ENV050", Status.OK, "ENV050.ok", args)


def check_numpy_version(machine: Machine) -> Iterator[Finding]:
    """ENV055: numpy. CANN up to 8.5 documents numpy below 2; from 9.0 numpy 2 is supported (CANN release notes).

    Source: https://github.com/vllm-project/vllm-ascend/issues/2210
    """
    numpy = machine.python.packages.get("numpy", "")
    cann = machine.real_cann.version if machine.real_cann else ""
    if not numpy:
        yield Finding("ENV055", Status.FAIL if machine.needs_npu else Status.WARN, "ENV055.none", {})
        return
    try:
        below = versions.numpy_below(cann) if cann else None
        bad = below is not None and versions.parse_version(numpy) >= versions.parse_version(below)
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error
    args: Args = {"numpy": numpy, "cann": cann, "below": below}
    status = (Status.FAIL if machine.needs_npu else Status.WARN) if bad else Status.OK
    yield Finding("ENV055", status, "ENV055.too_new" if bad else "ENV055.ok", args)


def check_python_modules(machine: Machine) -> Iterator[Finding]:
    """ENV056: CANN's operator compiler (te, tbe) is Python and needs modules in *this* interpreter.

    Source: CANN installation guide, "dependencies" (ascend_workbook/machine/compatibility.json).

    Source: https://github.com/Ascend/pytorch/issues/29
    """
    if not machine.needs_npu:
        return
    wanted = [name for name in versions.load_compatibility()["python_modules"] if name != "numpy"]  # numpy: ENV055
    missing = [name for name in wanted if name.replace("-", "_") not in machine.python.packages]
    if missing:
        args: Args = {"missing": missing, "install": " ".join(missing), "python": machine.python.executable}
        yield Finding("ENV056", Status.FAIL, "ENV056.missing", args)
    else:
        yield Finding("ENV056", Status.OK, "ENV056.ok", {"count": len(wanted)})


def check_shadows(machine: Machine) -> Iterator[Finding]:
    """ENV057: a folder named torch, torch_npu, te… in the working folder is imported in place of the package.

    set_env.sh leaves a trailing `:` in PYTHONPATH, which puts the working folder on sys.path even for scripts elsewhere
    ("No module named 'torch_npu._C'").

    Source: https://github.com/Ascend/pytorch/issues/24
    """
    names = list(machine.python.shadows)
    args: Args = {"names": names}
    yield Finding("ENV057", *((Status.WARN, "ENV057.shadow") if names else (Status.OK, "ENV057.ok")), args)


def check_companions(machine: Machine) -> Iterator[Finding]:
    """ENV058: packages that hold a compiled part of torch's and must be of its release: torchvision, torchaudio.

    torchvision 0.N goes with torch 2.(N-15); torchaudio had torch's own number until 2.8.
    Source: https://github.com/pytorch/vision#installation
    """
    packages, torch = machine.python.packages, machine.python.packages.get("torch", "")
    vision = packages.get("torchvision", "")
    if not torch or not vision:
        return
    try:
        wanted = versions.parse_version(torch)[0][1] + 15
        bad = versions.parse_version(torch)[0][0] == 2 and versions.parse_version(vision)[0][1] != wanted
    except versions.NotAVersion:
        return
    args: Args = {"torchvision": vision, "torch": torch, "wanted": f"0.{wanted}"}
    yield Finding("ENV058", *((Status.WARN, "ENV058.other") if bad else (Status.OK, "ENV058.ok")), args)


def check_conflicts(machine: Machine) -> Iterator[Finding]:
    """ENV059: packages that stand in each other's way: triton-ascend installs the module triton; protobuf 4 and CANN's
    compiler before 9.1.0; torch_npu versions that are early or no longer maintained
    (ascend_workbook/machine/compatibility.json).

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab9350d203475609f36f8a43f6a0c2ab/SUPPORT.md
    Source: https://github.com/vllm-project/vllm-ascend/issues/7359
    """
    packages = machine.python.packages
    if {"triton", "triton_ascend"} <= packages.keys():
        args: Args = {"triton": packages["triton"], "ascend": packages["triton_ascend"]}
        yield Finding("ENV059", Status.FAIL if machine.needs_npu else Status.WARN, "ENV059.triton", args)
    if not machine.torch_npu:
        return
    try:
        base, exact = versions.base_version(machine.torch_npu), versions.parse_version(machine.torch_npu)
        old = base in versions.load_compatibility()["end_of_life"]
        early = any(
            exact == versions.parse_version(name) for name in versions.load_compatibility()["early"]["torch_npu"]
        )
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error
    named: Args = {"torch_npu": machine.torch_npu}
    if machine.needs_npu and (old or early):
        yield Finding("ENV059", Status.NOTE, "ENV059.old" if old else "ENV059.early", named)


RULES = {
    "ENV050": check_python_version,
    "ENV055": check_numpy_version,
    "ENV056": check_python_modules,
    "ENV057": check_shadows,
    "ENV058": check_companions,
    "ENV059": check_conflicts,
}
