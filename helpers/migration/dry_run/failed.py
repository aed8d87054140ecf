"""A side that failed: the user's own line, what its message means, and what to do next."""

from __future__ import annotations

from pathlib import Path

from helpers.finding import Finding, Place, Status
from helpers.launch import LaunchResult
from helpers.migration.dry_run import memory
from helpers.migration.dry_run.reasons import reason
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
    at = in_original(plan, side, error.path, error.line) if error else None
    code = shortened(plan.original.line(*at)) if at is not None else ""
    args: dict[str, Scalar] = {
        "side": {"say": f"migration.side.{side}"},
        "why": trouble,
        "log": str(result.output_path),
    }
    args |= {"code": code, "at": {"say": "MIG140.at", "args": {"code": code}} if code else ""}
    said = [Finding("MIG140", Status.FAIL, "MIG140.failed", args, place, WEIGHT)]
    large = memory.too_large(plan, side, result)
    if large is not None:
        return [*said, large]
    if side != "target":
        return said
    why = reason(f"{error.message}\n" + "\n".join(error.traceback)) if error else None
    if why:
        return [*said, Finding("MIG140", Status.FAIL, "MIG140.reason", {"reason": why}, place)]
    return [*said, *(_scanned(plan, *at, place) if at is not None else [])]


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
