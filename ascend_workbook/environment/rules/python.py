"""Python, `import torch`, torch_npu's pairs with torch and CANN, and packages that they ask for or cannot bear."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_workbook.environment.machine import Import, Machine
from ascend_workbook.environment.system import Args, Untold, require_fact, shorten_path
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import versions

GROUP = "python"


def check_python_version(machine: Machine) -> Iterator[Finding]:
    """ENV050: Python. This package needs 3.9; torch_npu's wheels exist for some versions only (tags on PyPI).

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/COMPATIBILITY.md
    """
    python = machine.python.version
    args: Args = {"python": python, "executable": shorten_path(machine.python.executable)}
    args["torch_npu"] = machine.torch_npu
    wheel = versions.find_wheel(machine.torch_npu, machine.host.arch) if machine.torch_npu else None
    minor = ".".join(python.split(".")[:2])
    if wheel and minor not in wheel["python"]:
        more: Args = {"listed": wheel["python"], "command": nearest_versions(machine)}
        yield Finding("ENV050", Status.LOOK, "ENV050.no_wheel", {**args, **more})
    else:
        yield Finding("ENV050", Status.GOOD, "ENV050.ok", args)


def check_numpy_version(machine: Machine) -> Iterator[Finding]:
    """ENV055: numpy. CANN up to 8.5 documents numpy below 2; from 9.0 numpy 2 is supported (CANN release notes).

    Source: https://github.com/vllm-project/vllm-ascend/issues/2210
    """
    numpy = machine.python.packages.get("numpy", "")
    cann = machine.real_cann.version if machine.real_cann else ""
    if not numpy:
        yield Finding("ENV055", Status.FIX if machine.needs_npu else Status.LOOK, "ENV055.none", {})
        return
    try:
        below = versions.numpy_below(cann) if cann else None
        bad = below is not None and versions.parse_version(numpy) >= versions.parse_version(below)
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error
    args: Args = {"numpy": numpy, "cann": cann, "below": below}
    status = (Status.FIX if machine.needs_npu else Status.LOOK) if bad else Status.GOOD
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
        yield Finding("ENV056", Status.FIX, "ENV056.missing", args)
    else:
        yield Finding("ENV056", Status.GOOD, "ENV056.ok", {"count": len(wanted)})


def check_shadows(machine: Machine) -> Iterator[Finding]:
    """ENV057: a folder named torch, torch_npu, te… in the working folder is imported in place of the package.

    set_env.sh leaves a trailing `:` in PYTHONPATH, which puts the working folder on sys.path even for scripts elsewhere
    ("No module named 'torch_npu._C'").

    Source: https://github.com/Ascend/pytorch/issues/24
    """
    names = list(machine.python.shadows)
    args: Args = {"names": names}
    yield Finding("ENV057", *((Status.LOOK, "ENV057.shadow") if names else (Status.GOOD, "ENV057.ok")), args)


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
    yield Finding("ENV058", *((Status.LOOK, "ENV058.other") if bad else (Status.GOOD, "ENV058.ok")), args)


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
        yield Finding("ENV059", Status.FIX if machine.needs_npu else Status.LOOK, "ENV059.triton", args)
    if not machine.torch_npu:
        return
    try:
        table, exact = versions.load_compatibility(), versions.parse_version(machine.torch_npu)
        old = versions.base_version(machine.torch_npu) in table["end_of_life"]
        early = exact in map(versions.parse_version, table["early"]["torch_npu"])
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error
    named: Args = {"torch_npu": machine.torch_npu}
    if machine.needs_npu and (old or early):
        yield Finding("ENV059", Status.NOTE, "ENV059.old" if old else "ENV059.early", named)


LIBRARY = re.compile(r"(lib\w+\.so[\w.]*): cannot open shared object file")
CANN_LIBRARIES = ("libhccl", "libascendcl", "libacl_op_compiler", "libge_runner", "libgraph", "libacl_tdt_channel")


def check_torch_import(machine: Machine) -> Iterator[Finding]:
    """ENV051: `import torch` works in this environment.

    torch >= 2.5 imports every package that declares itself a backend. torch_npu does, needs CANN's libhccl.so, and
    where CANN is not found plain `import torch` dies with "Failed to load the backend extension: torch_npu". Reproduced
    with torch 2.13.0 and torch_npu 2.13.0; https://pytorch.org/tutorials/unstable/python_extension_autoload.html
    """
    answer = require_fact(machine.python.torch_import)
    if answer.ok:
        switched_off = machine.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0"
        key = "ENV051.switched_off" if switched_off and machine.python.torch_npu_folder else "ENV051.ok"
        status = Status.NOTE if key.endswith("off") else Status.GOOD
        yield Finding("ENV051", status, key, {"torch": answer.torch})
        return
    key, args = explain_failure(answer, machine)
    # our own children get an environment in which torch works; a shell or a kernel of the user's does not
    status = Status.LOOK if machine.chosen.tier.startswith("npu") else Status.FIX
    yield Finding("ENV051", status, key, args, weight=60)


def explain_failure(answer: Import, machine: Machine) -> tuple[str, dict[str, Scalar]]:
    """Return which of the known ways of breaking it is."""
    text = "\n".join((answer.error, *answer.chain))
    library = LIBRARY.search(text)
    folder = machine.python.torch_npu_folder
    args: Args = {"error": answer.chain[-1] if answer.chain else answer.error, "folder": shorten_path(folder)}
    if "No module named 'torch'" in text:
        return "ENV051.not_installed", args
    if library and library[1].startswith("libascend_hal"):
        return "ENV051.no_driver", {**args, "library": library[1]}
    if library and library[1].startswith(CANN_LIBRARIES):
        cann = machine.real_cann
        if cann and cann.script:
            return "ENV051.not_sourced", {**args, "library": library[1], "script": cann.script}
        return "ENV051.no_cann", {**args, "library": library[1]}
    if "undefined symbol" in text:
        return "ENV051.symbol", args
    if "Failed to load the backend extension: torch_npu" in text:
        return "ENV051.autoload", args
    return "ENV051.broken", args


def check_torch_npu_place(machine: Machine) -> Iterator[Finding]:
    """ENV052: torch_npu is installed where it helps. In site-packages without CANN it breaks `import torch` (ENV051).

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
    """
    folder, version = machine.python.torch_npu_folder, machine.torch_npu
    # harmless: a CANN is there to load, real or sourced simulator, or nothing loads torch_npu by itself
    switched_off = machine.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0"
    args: Args = {"folder": shorten_path(folder), "torch_npu": version}
    if not folder and not version:
        yield Finding("ENV052", Status.FIX if machine.needs_npu else Status.NOTE, "ENV052.none", args)
    elif not folder:
        yield Finding("ENV052", Status.GOOD, "ENV052.aside", args)
    elif switched_off or machine.real_cann is not None or any(root.simulated for root in machine.cann):
        yield Finding("ENV052", Status.GOOD, "ENV052.ok", args)
    else:
        yield Finding("ENV052", Status.LOOK, "ENV052.without_cann", args)


def nearest_versions(machine: Machine) -> Scalar:
    """Return a sentence: the pair for this Python, architecture, C library and CANN; or that no published pair fits."""
    host, cann = machine.host, machine.real_cann
    glibc = "" if isinstance(host.glibc, Untold) else host.glibc
    cann_version = cann.version if cann else ""
    try:
        pair = versions.nearest_pair(machine.torch, cann_version, machine.python.version, host.arch, glibc)
        other = ""
        if cann_version and not pair:
            other = versions.nearest_pair(machine.torch, "", machine.python.version, host.arch, glibc)
    except versions.NotAVersion:
        return Sentence("environment.nearest_none")
    if pair:
        return Sentence("environment.nearest", pair=pair)
    if other:
        wanted = versions.cann_for(other.rpartition("==")[2])
        return Sentence("environment.nearest_cann", pair=other, cann=list(wanted))
    return Sentence("environment.nearest_none")


def check_torch_pair(machine: Machine) -> Iterator[Finding]:
    """ENV053: torch and torch_npu are a pair: torch_npu X.Y.Z requires torch X.Y.Z exactly (wheel metadata).

    Symptoms of a wrong pair: undefined symbol at import, "torch_npu ... requires torch ==".

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/COMPATIBILITY.md
    """
    torch, torch_npu = machine.torch, machine.torch_npu
    if not torch or not torch_npu:
        return
    args: Args = {"torch": torch, "torch_npu": torch_npu}
    try:
        fit = versions.pair_torch(torch, torch_npu)
        wanted = versions.base_version(torch_npu)
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error
    status = Status.GOOD if fit == "matches" else Status.FIX
    if fit == "wrong":
        args.update(wanted=wanted, command=nearest_versions(machine))
    yield Finding("ENV053", status, f"ENV053.{fit}", args, weight=40)


def check_cann_pair(machine: Machine) -> Iterator[Finding]:
    """ENV054: torch_npu and CANN by the vendor's table: recommended, compatible, outside the published ranges, not
    listed.

    Not listed is not wrong: about half of PyPI's versions have no published pair. Source:
    https://github.com/Ascend/pytorch COMPATIBILITY.md and release notes (ascend_workbook/machine/compatibility.json).
    """
    torch_npu, cann = machine.torch_npu, machine.real_cann
    if not torch_npu:
        return
    recommended = [f"{name} {version}" for name, version in versions.load_compatibility()["recommended"].items()]
    args: Args = {"torch_npu": torch_npu, "recommended": recommended}
    try:
        if machine.chosen.tier == "npu-simulated" or cann is None:  # what the real machine will need
            wanted = versions.cann_for(machine.torch_npu)
            key = "ENV054.later" if wanted else "ENV054.later_not_listed"
            yield Finding("ENV054", Status.NOTE, key, {**args, "wanted_cann": list(wanted)})
            return
        if not cann.version:
            raise CannotCheck("untold.cann_version", path=cann.path)
        yield _judge_pair(machine, {**args, "cann": cann.version}, cann.version)
    except versions.NotAVersion as error:
        raise CannotCheck("untold.version", text=str(error)) from error


def _judge_pair(machine: Machine, args: Args, cann: str) -> Finding:
    fit = versions.pair_cann(machine.torch_npu, cann)
    listed: Args = {
        "wanted_cann": list(versions.cann_for(machine.torch_npu)),
        "wanted_npu": list(versions.torch_npu_for(cann, machine.torch) or versions.torch_npu_for(cann)),
        "command": nearest_versions(machine) if fit == "outside" else None,
    }
    outside = Status.LOOK if machine.chosen.tier == "npu" else Status.FIX
    statuses = {"recommended": Status.GOOD, "compatible": Status.GOOD, "not_listed": Status.NOTE}
    status = statuses.get(fit, outside)
    return Finding("ENV054", status, f"ENV054.{fit}", {**args, **listed}, weight=30)


RULES = {
    "ENV050": check_python_version,
    "ENV055": check_numpy_version,
    "ENV056": check_python_modules,
    "ENV057": check_shadows,
    "ENV058": check_companions,
    "ENV059": check_conflicts,
    "ENV051": check_torch_import,
    "ENV052": check_torch_npu_place,
    "ENV053": check_torch_pair,
    "ENV054": check_cann_pair,
}
