"""What belongs to one CANN: its packages, the operators' kernels of this chip, NNAL."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, require_fact
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.machine import versions
from ascend_workbook.machine.npu_smi import NpuSmi

GROUP = "cann"
FOLDERS = {
    "310": "ascend310",
    "310B": "ascend310b",
    "310P": "ascend310p",
    "910": "ascend910",
    "A2": "ascend910b",
    "A3": "ascend910_93",
}
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
    kinds = sorted(
        {chip.kind for chip in require_fact(machine.hardware.pci)} or _kinds_by_npu_smi(machine.hardware.npu_smi)
    )
    for kind in kinds:
        folder = FOLDERS.get(kind)
        if folder is None:
            yield Finding("ENV043", Status.SKIPPED, "ENV043.unknown", {"kind": kind})
        elif folder in cann.kernels:
            yield Finding("ENV043", Status.OK, "ENV043.ok", {"folder": folder})
        else:
            args: Args = {"folder": folder, "found": list(cann.kernels), "path": cann.path}
            yield Finding("ENV043", Status.FAIL, "ENV043.missing", args)


def check_nnal(machine: Machine) -> Iterator[Finding]:
    """ENV044: NNAL (its ATB) beside CANN: torch_npu loads libatb.so for some fused operators.

    Its own set_env.sh sets ATB_HOME_PATH; its version is CANN's. Source: https://www.hiascend.com/document (NNAL
    install).
    """
    nnal, cann = machine.nnal, machine.real_cann
    args: Args = {"told": nnal.told, "path": nnal.path, "version": nnal.version, "cann": cann.version if cann else ""}
    if nnal.told and not nnal.here:
        yield Finding("ENV044", Status.FAIL if machine.needs_npu else Status.WARN, "ENV044.gone", args)
    elif nnal.path and _versions_differ(nnal.version, cann.version if cann else ""):
        yield Finding("ENV044", Status.WARN, "ENV044.differs", args)
    elif nnal.path:
        key = "ENV044.ok" if nnal.told else "ENV044.not_sourced"
        yield Finding("ENV044", Status.OK if nnal.told else Status.NOTE, key, args)
    elif machine.needs_npu and cann:
        yield Finding("ENV044", Status.NOTE, "ENV044.none", args)


def _versions_differ(nnal: str, cann: str) -> bool:
    try:
        return bool(nnal and cann) and versions.parse_version(nnal)[:3] != versions.parse_version(cann)[:3]
    except versions.NotAVersion:
        return False


def check_cann_parts(machine: Machine) -> Iterator[Finding]:
    """ENV046: the packages of one CANN are of one version: toolkit, operators (opp, opp_kernel; from 8.5 ops), runtime…

    A toolkit upgraded without its operator package fails at the first operator (561103) or computes with old kernels.

    Source: https://github.com/vllm-project/vllm-ascend/issues/4859
    """
    cann = machine.real_cann
    parts = {name: version for name, version in cann.components.items() if _is_version(version)} if cann else {}
    if cann is None or len(parts) < 2:
        return
    kinds: dict[object, list[str]] = {}
    for name, version in parts.items():
        kinds.setdefault(versions.parse_version(version)[:3], []).append(f"{name} {version}")
    args: Args = {"count": len(parts), "version": cann.version, "parts": [names[0] for names in kinds.values()]}
    if len(kinds) == 1:
        yield Finding("ENV046", Status.OK, "ENV046.ok", args)
    else:
        yield Finding("ENV046", Status.FAIL if machine.needs_npu else Status.WARN, "ENV046.differ", args)


def _is_version(version: str) -> bool:
    try:
        return bool(versions.parse_version(version))
    except versions.NotAVersion:
        return False


RULES = {
    "ENV043": check_kernels,
    "ENV044": check_nnal,
    "ENV046": check_cann_parts,
}
