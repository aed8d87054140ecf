"""A side that failed: the user's own line, what its message means, and what to do next."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Sequence
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.launch import ChildError, LaunchResult
from helpers.migration.dry_run import memory
from helpers.migration.dry_run.original import Original
from helpers.migration.dry_run.reasons import MISSING, package, reason
from helpers.migration.dry_run.sides import Plan, failure, in_original
from helpers.migration.reading.source import decode, parse
from helpers.migration.reading.undecoded import Unreadable
from helpers.migration.repair import AUTO, class_of, shortened
from helpers.migration.scan import scan_source
from helpers.words import Scalar

WEIGHT = 1000.0


def troubles(plan: Plan, before: LaunchResult, after: LaunchResult | None) -> list[Finding]:
    """A side that failed, with the place in the user's own file and what the message means."""
    findings = []
    for side, result in (("baseline", before), ("target", after)):
        if result is not None and not result.ok:
            findings += _trouble(plan, side, result)
    return findings


def _trouble(plan: Plan, side: str, result: LaunchResult) -> list[Finding]:
    trouble, place = failure(plan, side, result)
    error = result.error
    known = trouble["args"] if trouble["say"] == "launch.failed_known" else None
    if known is not None:
        trouble["say"] = "launch.failed"  # cause and cure are findings of their own: the verdict is read at a glance
    at = in_original(plan, side, error.path, error.line) if error else None
    code = shortened(plan.original.line(*at)) if at is not None else ""
    args: dict[str, Scalar] = {
        "side": {"say": f"migration.side.{side}"},
        "why": trouble,
        "log": str(result.output_path),
    }
    args |= {"code": code, "at": {"say": "MIG140.at", "args": {"code": code}} if code else ""}
    args["then"] = {"say": "MIG140.original"} if side == "baseline" else ""
    failed = Finding("MIG140", Status.FAIL, "MIG140.failed", args, place, WEIGHT)
    log = Finding("MIG140", Status.FAIL, "MIG140.log", {"log": str(result.output_path)})
    return [failed, *_explained(plan, side, result, at, place, known), log]


def _explained(
    plan: Plan, side: str, result: LaunchResult, at: tuple[Path, int] | None, place: Place | None, known: Scalar
) -> list[Finding]:
    """Why it failed, as far as that can be told, and what to do."""
    error = result.error
    large = memory.too_large(plan, side, result)
    if large is not None:
        return [large]
    own = _of_original(plan, error, place) if side == "baseline" and error else None
    if own is not None:
        return [own]
    said: list[Finding] = []
    if isinstance(known, dict):
        cure: dict[str, Scalar] = {"cause": known["cause"], "fix": known["fix"]}
        said.append(Finding("MIG140", Status.FAIL, "MIG140.cause", cure, place))
    if side != "target":
        return said
    why = reason(f"{error.message}\n" + "\n".join(error.traceback)) if error else None
    if why:
        return [*said, Finding("MIG140", Status.FAIL, "MIG140.reason", {"reason": why}, place)]
    return [*said, *(_scanned(plan, *at, place) if at is not None else [])]


def _of_original(plan: Plan, error: ChildError, place: Place | None) -> Finding | None:
    """What the original lacks on this machine: it is the GPU's script, a package of it, its data or its arguments."""
    script = shlex.quote(str(plan.script))
    missing = MISSING.search(error.message)
    if missing and missing.group(1).split(".")[0] == "torch_npu":
        return Finding("MIG140", Status.FAIL, "MIG140.migrated", migrated_args(plan.script, plan.args), place)
    if missing:
        args: dict[str, Scalar] = {
            "module": missing.group(1), "package": package(missing.group(1)), "python": shlex.quote(plan.python),
            "script": script,
        }  # fmt: skip
        return Finding("MIG140", Status.FAIL, "MIG140.missing", args, place)
    if error.type == "FileNotFoundError" or "arguments are required" in error.message:
        return Finding("MIG140", Status.FAIL, "MIG140.unprepared", {"script": script}, place)
    return None


def refuse_migrated(original: Original) -> None:
    """Raises WorkbookError where the script itself imports torch_npu, which no baseline has; guarded imports may be."""
    try:
        tree = parse(decode(original.texts[original.script])[0], original.script.name).tree
    except (KeyError, Unreadable):
        return
    for line in tree.body:
        names = [one.name for one in line.names] if isinstance(line, ast.Import) else []
        names += [line.module or ""] if isinstance(line, ast.ImportFrom) and not line.level else []
        if any(name.split(".")[0] == "torch_npu" for name in names):
            raise WorkbookError("dry_run.migrated", **migrated_args(original.given, original.args))


def migrated_args(script: Path, args: Sequence[str]) -> dict[str, Scalar]:
    """Of the sentence that says how to run what is migrated already."""
    return {"script": str(script), "command": shlex.join([str(script), *args])}


def _scanned(plan: Plan, name: Path, line: int, place: Place | None) -> list[Finding]:
    """What a scan says of the line, where the message itself tells nothing."""
    data = plan.original.texts.get(plan.original.layout.root / name)
    if data is None or name.suffix != ".py":
        return []
    try:
        source = parse(decode(data)[0], name.as_posix())
        found = [one for one in scan_source(source) if one.place and one.place.line == line and class_of(one) != AUTO]
    except Unreadable:
        return []
    said = [Finding("MIG140", Status.FAIL, "MIG140.scanned", {"said": _sentence(one)}, place) for one in found]
    return said[:1]


def _sentence(found: Finding) -> Scalar:
    return {"say": found.key, "args": found.args}
