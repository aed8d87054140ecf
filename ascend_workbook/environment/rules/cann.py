"""CANN is installed once, sourced by bash, the environment is what its script makes, and its parts belong together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, require_fact
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.machine import versions
from ascend_workbook.machine.npu_smi import NpuSmi

GROUP = "cann"
BASIS = {"ENV042": "observed", "ENV045": "observed"}


def check_cann_installed(machine: Machine) -> Iterator[Finding]:
    """ENV040: CANN is installed and its version can be read. Old layout: ascend-toolkit/latest; from 8.5: cann.

    Source: https://www.hiascend.com/document (CANN installation guide).
    """
    cann = machine.real_cann
    if cann is None:
        yield Finding("ENV040", Status.FIX if machine.needs_npu else Status.NOTE, "ENV040.none", {})
    elif not cann.version:
        yield Finding("ENV040", Status.NOT_LOOKED, "ENV040.unreadable", {"path": cann.path})
    else:
        yield Finding("ENV040", Status.GOOD, "ENV040.ok", {"version": cann.version, "path": cann.path})


def check_cann_sourced(machine: Machine) -> Iterator[Finding]:
    """ENV041: set_env.sh was sourced, by bash. Sourced by /bin/sh it answers 0 and sets ASCEND_HOME_PATH to `.`.

    Seen by running CANN 9's own set_env.sh under dash: PATH then begins with `./bin`. `os.system`, `!source` and
    subprocess(shell=True) in Debian images use that shell.

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
    """
    cann, home = machine.real_cann, machine.environ.get("ASCEND_HOME_PATH", "")
    bad = Status.FIX if machine.needs_npu else Status.LOOK
    script = cann.script if cann and cann.script else "set_env.sh"
    if home and not PurePosixPath(home).is_absolute():
        yield Finding("ENV041", bad, "ENV041.relative", {"path": home, "script": script})
    elif home and not any(root.sourced for root in machine.cann):
        yield Finding("ENV041", bad, "ENV041.missing", {"path": home, "script": script})
    elif cann and cann.sourced:
        yield Finding("ENV041", Status.GOOD, "ENV041.ok", {"path": cann.path})
    elif cann:
        status = Status.LOOK if machine.needs_npu else Status.NOTE
        yield Finding("ENV041", status, "ENV041.not_sourced", {"path": cann.path, "script": script})


def check_cann_mixed(machine: Machine) -> Iterator[Finding]:
    """ENV042: search paths that mix two CANN installs: libraries of one load operators of the other.

    Symptoms: undefined symbol, error 500001, 561103.
    """
    names = ("LD_LIBRARY_PATH", "PYTHONPATH")
    mixed = {name: roots for name in names if len(roots := _roots_on_path(machine, name)) > 1}
    for name, roots in mixed.items():
        yield Finding("ENV042", Status.LOOK, "ENV042.mixed", {"name": name, "roots": sorted(roots)})
    sourced = next((root for root in machine.cann if root.sourced and not root.simulated), None)
    if sourced and not mixed:
        yield Finding("ENV042", Status.GOOD, "ENV042.ok", {"path": sourced.path})


def _roots_on_path(machine: Machine, name: str) -> set[str]:
    """Return the known CANN installs that the entries of a search path lie in."""
    entries = [PurePosixPath(entry) for entry in machine.environ.get(name, "").split(os.pathsep) if entry]
    folders = {root.path: PurePosixPath(root.path) for root in machine.cann}
    return {path for path, folder in folders.items() if any(entry.is_relative_to(folder) for entry in entries)}


def check_set_env_difference(machine: Machine) -> Iterator[Finding]:
    """ENV045: the environment is what set_env.sh makes, compared after really sourcing it through bash.

    Half an environment looks sourced: an old ~/.bashrc, variables copied by hand into a kernel or a Dockerfile.
    """
    cann = machine.real_cann
    if cann is None or not cann.sourced:
        return  # ENV041 says so
    unset = require_fact(cann.unset)
    args: Args = {"script": cann.script, "names": [*unset, *cann.lacking][:6], "count": len(unset) + len(cann.lacking)}
    whole = not unset and not cann.lacking
    yield Finding("ENV045", *((Status.GOOD, "ENV045.ok") if whole else (Status.LOOK, "ENV045.differs")), args)


FOLDERS = {kind: f"ascend{kind.lower()}" for kind in ("310", "310B", "310P", "910")}
FOLDERS |= {"A2": "ascend910b", "A3": "ascend910_93"}
FIRST = ("910", "910A", "910B", "910ProA", "910ProB")
A2 = ("910B1", "910B2", "910B2C", "910B3", "910B4")
KINDS = {**dict.fromkeys(FIRST, "910"), **dict.fromkeys(A2, "A2")}


def _kinds_by_npu_smi(smi: object) -> set[str]:
    """Return the kinds by npu-smi's names, where a container hides the bus: A3 prints `Ascend910` and a Phy-ID. A name
    that is not in the table stays as it is: no folder is known for it."""
    chips = smi.chips if isinstance(smi, NpuSmi) else ()
    named = {(chip.name, chip.physical_id is not None) for chip in chips if chip.name}
    return {"A3" if name == "Ascend910" and twin else KINDS.get(name, name) for name, twin in named}


def check_kernels(machine: Machine) -> Iterator[Finding]:
    """ENV043: the operator binaries for this chip are installed beside the toolkit (the package "kernels" or "ops").

    Without them the first operator fails with 561103, or compiles for minutes. Folder names: ascend910b for A2,
    ascend910_93 for A3, ascend910 for the first generation. Source: CANN installation guide.

    Source: https://github.com/vllm-project/vllm-ascend/issues/4859
    """
    cann = machine.real_cann
    if not machine.needs_npu or cann is None:
        return
    kinds = {chip.kind for chip in require_fact(machine.hardware.pci)} or _kinds_by_npu_smi(machine.hardware.npu_smi)
    for kind in sorted(kinds):
        folder = FOLDERS.get(kind)
        if folder is None:
            yield Finding("ENV043", Status.NOT_LOOKED, "ENV043.unknown", {"kind": kind})
        elif folder in cann.kernels:
            yield Finding("ENV043", Status.GOOD, "ENV043.ok", {"folder": folder})
        else:
            args: Args = {"folder": folder, "found": list(cann.kernels), "path": cann.path}
            yield Finding("ENV043", Status.FIX, "ENV043.missing", args)


def check_nnal(machine: Machine) -> Iterator[Finding]:
    """ENV044: NNAL (its ATB) beside CANN: torch_npu loads libatb.so for some fused operators.

    Its own set_env.sh sets ATB_HOME_PATH; its version is CANN's. Source: https://www.hiascend.com/document (NNAL
    install).
    """
    nnal, cann = machine.nnal, machine.real_cann
    args: Args = {"told": nnal.told, "path": nnal.path, "version": nnal.version, "cann": cann.version if cann else ""}
    ours = [_parse_release(version) for version in (nnal.version, cann.version if cann else "")]
    if nnal.told and not nnal.here:
        yield Finding("ENV044", Status.FIX if machine.needs_npu else Status.LOOK, "ENV044.gone", args)
    elif nnal.path and None not in ours and ours[0] != ours[1]:
        yield Finding("ENV044", Status.LOOK, "ENV044.differs", args)
    elif nnal.path:
        key = "ENV044.ok" if nnal.told else "ENV044.not_sourced"
        yield Finding("ENV044", Status.GOOD if nnal.told else Status.NOTE, key, args)
    elif machine.needs_npu and cann:
        yield Finding("ENV044", Status.NOTE, "ENV044.none", args)


def _parse_release(version: str) -> object:
    """Return what two versions must have in common; None where the text is no version."""
    try:
        return versions.parse_version(version)[:3]
    except versions.NotAVersion:
        return None


def check_cann_parts(machine: Machine) -> Iterator[Finding]:
    """ENV046: the packages of one CANN are of one version: toolkit, operators (opp, opp_kernel; from 8.5 ops), runtime…

    A toolkit upgraded without its operator package fails at the first operator (561103) or computes with old kernels.

    Source: https://github.com/vllm-project/vllm-ascend/issues/4859
    """
    cann = machine.real_cann
    components = cann.components if cann else {}
    parts = {name: release for name, version in components.items() if (release := _parse_release(version))}
    if cann is None or len(parts) < 2:
        return
    kinds: dict[object, str] = {}
    for name, release in parts.items():
        kinds.setdefault(release, f"{name} {components[name]}")
    args: Args = {"count": len(parts), "version": cann.version, "parts": list(kinds.values())}
    if len(kinds) == 1:
        yield Finding("ENV046", Status.GOOD, "ENV046.ok", args)
    else:
        yield Finding("ENV046", Status.FIX if machine.needs_npu else Status.LOOK, "ENV046.differ", args)


RULES = {
    "ENV040": check_cann_installed,
    "ENV041": check_cann_sourced,
    "ENV042": check_cann_mixed,
    "ENV045": check_set_env_difference,
    "ENV043": check_kernels,
    "ENV044": check_nnal,
    "ENV046": check_cann_parts,
}
