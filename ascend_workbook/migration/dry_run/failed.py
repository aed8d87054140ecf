"""A side that failed: the user's own line, what its message means, and what to do next."""

from __future__ import annotations

import ast
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch import ChildError, LaunchResult
from ascend_workbook.machine.packages import fitting_companion
from ascend_workbook.migration import api_map
from ascend_workbook.migration.dry_run import memory
from ascend_workbook.migration.dry_run.original import Original
from ascend_workbook.migration.dry_run.sides import Plan, describe_failure, in_original
from ascend_workbook.migration.reading.source import decode_bytes, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.repair import AUTO, class_of, shorten_line
from ascend_workbook.migration.scan import scan_source

# Why a migrated script's child died: known messages and what they mean for the migration.

#: A message of the child and the sentence that explains it; measured on torch 2.13 with torch_npu 2.13.0.
REASONS: dict[str, str] = api_map.list_names("reasons")
#: A traceback's line of a file: its path (torch_npu lies in the simulator's folder) says nothing of the cause.
FRAME = re.compile(r'^ *File ".*", line \d+.*$', re.MULTILINE)
MISSING = re.compile(r"No module named '([\w.]+)'")
#: What pip calls a module of another name.
PACKAGES: dict[str, str] = api_map.list_names("packages")
#: torch_npu's two warnings for an operator without an NPU kernel, as the strings in libtorch_npu.so have them.
FALLBACK = re.compile(
    r"operator '([\w:.]+)'(?: is not currently supported on the NPU backend and|, the operator) will fall back"
)


def explain_message(message: str) -> Sentence | None:
    """Return the sentence that explains an error message, or None for one not known here."""
    message = FRAME.sub("", message)
    missing = MISSING.search(message)
    if missing:
        known = api_map.find_entry("third_party", missing.group(1).split(".")[0])
        use = Sentence(f"migration.use.{known['use']}") if known else "-"
        return Sentence("migration.reason.missing", module=missing.group(1), use=use)
    return next((Sentence(key) for pattern, key in REASONS.items() if re.search(pattern, message)), None)


def package_of_module(module: str) -> str:
    """Return what to tell pip for a missing module: its top package's name, where we know of no other."""
    top = module.split(".")[0]
    return PACKAGES.get(module) or PACKAGES.get(top) or top


def count_fallbacks(output: str) -> Counter[str]:
    """Count the operators that ran on the CPU, with how often torch_npu said so."""
    return Counter(FALLBACK.findall(output))


WEIGHT = 1000.0


def find_failures(plan: Plan, before: LaunchResult, after: LaunchResult | None) -> list[Finding]:
    """Find the sides that failed, with the place in the user's own file and what the message means."""
    findings = []
    for side, result in (("baseline", before), ("target", after)):
        if result is not None and not result.ok:
            findings += _describe_failure(plan, side, result)
    return findings


def _describe_failure(plan: Plan, side: str, result: LaunchResult) -> list[Finding]:
    trouble, place = describe_failure(plan, side, result)
    error = result.error
    known = trouble.args if trouble.key == "launch.failed_known" else None
    if known is not None:  # cause and cure are findings of their own: the verdict is read at a glance
        trouble = Sentence("launch.failed", **known)
    at = in_original(plan, side, error.path, error.line) if error else None
    code = shorten_line(plan.original.read_line(*at)) if at is not None else ""
    args: dict[str, Scalar] = {
        "side": Sentence(f"migration.side.{side}"),
        "why": trouble,
        "log": str(result.output_path),
    }
    args |= {"code": code, "at": Sentence("MIG140.at", code=code) if code else ""}
    args["then"] = Sentence("MIG140.original") if side == "baseline" else ""
    failed = Finding("MIG140", Status.FIX, "MIG140.failed", args, place, WEIGHT)
    log = Finding("MIG140", Status.FIX, "MIG140.log", {"log": str(result.output_path)})
    return [failed, *_explain_failure(plan, side, result, at, place, known), log]


def _explain_failure(
    plan: Plan,
    side: str,
    result: LaunchResult,
    at: tuple[Path, int] | None,
    place: Place | None,
    known: dict[str, Scalar] | None,
) -> list[Finding]:
    """Why it failed, as far as that can be told, and what to do."""
    error = result.error
    large = memory.too_large(plan, side, result)
    if large is not None:
        return [large]
    own = _of_original(plan, error, place) if side == "baseline" and error else None
    if own is not None:
        return [own]
    findings: list[Finding] = []
    if known is not None:
        cure: dict[str, Scalar] = {"cause": known["cause"], "fix": known["fix"]}
        findings.append(Finding("MIG140", Status.FIX, "MIG140.cause", cure, place))
    if side != "target":
        return findings
    why = explain_message(f"{error.message}\n" + "\n".join(error.traceback)) if error else None
    if why:
        return [*findings, Finding("MIG140", Status.FIX, "MIG140.reason", {"reason": why}, place)]
    return [*findings, *(_scan_line(plan, *at, place) if at is not None else [])]


def _of_original(plan: Plan, error: ChildError, place: Place | None) -> Finding | None:
    """What the original lacks on this machine: it is the GPU's script, a package of it, its data or its arguments."""
    script = shlex.quote(str(plan.script))
    missing = MISSING.search(error.message)
    if missing and missing.group(1).split(".")[0] == "torch_npu":
        return Finding("MIG140", Status.FIX, "MIG140.migrated", migrated_args(plan.script, plan.original.args), place)
    if missing:
        args: dict[str, Scalar] = {
            "module": missing.group(1),
            "package": shlex.quote(fitting_companion(package_of_module(missing.group(1)))),
            "python": shlex.quote(plan.python),
            "script": script,
        }
        return Finding("MIG140", Status.FIX, "MIG140.missing", args, place)
    if error.type == "FileNotFoundError" or "arguments are required" in error.message:
        return Finding("MIG140", Status.FIX, "MIG140.unprepared", {"script": script}, place)
    return None


def refuse_migrated(original: Original) -> None:
    """Refuse a script that itself imports torch_npu, which no baseline has, unguarded. Raises WorkbookError."""
    try:
        tree = parse_text(decode_bytes(original.texts[original.script])[0], original.script.name).tree
    except (KeyError, Unreadable):
        return
    for line in tree.body:
        names = [alias.name for alias in line.names] if isinstance(line, ast.Import) else []
        names += [line.module or ""] if isinstance(line, ast.ImportFrom) and not line.level else []
        if any(name.split(".")[0] == "torch_npu" for name in names):
            raise WorkbookError("dry_run.migrated", **migrated_args(original.given, original.args))


def migrated_args(script: Path, args: Sequence[str]) -> dict[str, Scalar]:
    """Return the arguments of the sentence that says how to run what is migrated already."""
    return {"script": str(script), "command": shlex.join([str(script), *args])}


def _scan_line(plan: Plan, name: Path, line: int, place: Place | None) -> list[Finding]:
    """What a scan says of the line, where the message itself tells nothing."""
    data = plan.original.texts.get(plan.original.layout.root / name)
    if data is None or name.suffix != ".py":
        return []
    try:
        scanned = scan_source(parse_text(decode_bytes(data)[0], name.as_posix()))
    except Unreadable:
        return []
    for finding in scanned:
        if finding.place and finding.place.line == line and class_of(finding) != AUTO:
            sentence = Sentence(finding.key, **finding.args)
            return [Finding("MIG140", Status.FIX, "MIG140.scanned", {"said": sentence}, place)]
    return []
