"""`list`, `upload`, `download` and `verify` as reports: a row per file, the verdict in a sentence."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.storage.names import Address
from ascend_workbook.storage.obs import ObsStorage
from ascend_workbook.storage.transfer.checking import check
from ascend_workbook.storage.transfer.download import receive_files
from ascend_workbook.storage.transfer.jobs import Tell, to_mib
from ascend_workbook.storage.transfer.manifest import NAME, Entry
from ascend_workbook.storage.transfer.upload import PART_BYTES, WORKERS, send_files

STAGE, CODE = "storage", "STO501"
#: So many rows are shown; the manifest has all.
MOST_ROWS = 200
MOST_NAMES = 5
PART_MIB = PART_BYTES >> 20
Wrong = Mapping[str, "tuple[str, int]"]


def contents(place: str) -> Report:
    """Report the files below an address with their sizes, and whether a manifest vouches for them."""
    address = Address.parse(place)
    entries = {name: Entry(stored.bytes) for name, stored in ObsStorage(address).list_entries()}
    complete = entries.pop(NAME, None) is not None
    args: dict[str, Scalar] = {"count": len(entries), "mib": _sum_mib(entries), "place": str(address)}
    key = "STO501.listed" if complete else "STO501.listed_bare" if entries else "STO501.listed_nothing"
    return _make_report("list", [Finding(CODE, Status.OK if complete else Status.NOTE, key, args)], entries, {})


def upload(
    source: str | os.PathLike[str],
    place: str,
    *,
    workers: int = WORKERS,
    part_mib: int = PART_MIB,
    tell: Tell | None = None,
) -> Report:
    """Send a folder below the address, its manifest last, or a file to it. What is there already is not sent again.

    Raises WorkbookError and OSError as `ascend_workbook.storage.transfer.upload.send_files` does.
    """
    result = send_files(source, place, workers=workers, part_bytes=part_mib << 20, tell=tell)
    args: dict[str, Scalar] = {"count": len(result.files), "mib": _sum_mib(result.files), "place": result.place}
    args.update(kept=result.kept, moved=to_mib(result.moved))
    findings = [Finding(CODE, Status.OK, "STO501.uploaded", args, weight=1)]
    if result.left:
        left_args: dict[str, Scalar] = {"count": len(result.left), "names": list(result.left[:MOST_NAMES])}
        findings.append(Finding("STO502", Status.NOTE, "STO502.left", left_args))
    return _make_report(
        "upload", findings, result.files, {}, requests=result.requests, moved_bytes=result.moved, kept=result.kept
    )


def download(
    place: str,
    folder: str | os.PathLike[str],
    *,
    unverified: bool = False,
    workers: int = WORKERS,
    part_mib: int = PART_MIB,
    tell: Tell | None = None,
) -> Report:
    """Fetch a folder, checked by its manifest, or one object. FAIL names each file that is not what was sent.

    Raises WorkbookError and OSError as `ascend_workbook.storage.transfer.download.receive_files` does.
    """
    received = receive_files(
        place, folder, workers=workers, part_bytes=part_mib << 20, unverified=unverified, tell=tell
    )
    count = len(received.files) - len(received.wrong)
    args: dict[str, Scalar] = {"count": count, "mib": _sum_mib(received.files), "place": received.place}
    args.update(kept=received.kept, moved=to_mib(received.moved), path=str(received.path))
    findings = [Finding(CODE, Status.OK, "STO501.downloaded", args, weight=1)]
    findings += _report_wrong(received.wrong, received.files)
    if received.unchecked:
        findings.append(Finding("STO504", Status.SKIPPED, "STO504.unchecked", {"count": received.unchecked}))
    facts: dict[str, Scalar] = {"requests": received.requests, "moved_bytes": received.moved, "kept": received.kept}
    return _make_report("download", findings, received.files, received.wrong, **facts, path=str(received.path))


def verify(place: str | os.PathLike[str], *, quick: bool = False, tell: Tell | None = None) -> Report:
    """Check whether a folder, at an address or fetched, is what its manifest tells. `quick` looks at sizes alone and
    says so.

    Raises WorkbookError `storage.incomplete` where there is no manifest.
    """
    checked = check(os.fspath(place), read_contents=not quick, tell=tell)
    args: dict[str, Scalar] = {"count": len(checked.files), "mib": _sum_mib(checked.files), "place": checked.place}
    findings = [*_report_wrong(checked.wrong, checked.files)]
    if not checked.wrong:
        key, status = ("STO504.sizes", Status.SKIPPED) if quick else ("STO501.verified", Status.OK)
        findings.append(Finding(key.partition(".")[0], status, key, args, weight=1))
    if checked.beside:
        beside: dict[str, Scalar] = {"count": len(checked.beside), "first": checked.beside[0]}
        findings.append(Finding("STO502", Status.NOTE, "STO502.beside", beside))
    return _make_report("verify", findings, checked.files, checked.wrong)


def _report_wrong(wrong: Wrong, files: Mapping[str, Entry]) -> list[Finding]:
    return [
        Finding("STO503", Status.FAIL, "STO503.wrong", {"name": name, "why": _why_wrong(name, wrong, files)})
        for name in sorted(wrong)
    ]


def _why_wrong(name: str, wrong: Wrong, files: Mapping[str, Entry]) -> Scalar:
    key, bytes_found = wrong[name]
    return Sentence(key, bytes=files[name].bytes, found=bytes_found)


def _make_report(
    verb: str, findings: list[Finding], files: Mapping[str, Entry], wrong: Wrong, **facts: Scalar
) -> Report:
    names = sorted(files, key=lambda name: (name not in wrong, name))[:MOST_ROWS]
    why = {name: _why_wrong(name, wrong, files) for name in wrong}
    rows = tuple((name, files[name].bytes, files[name].sha256[:12] or None, why.get(name)) for name in names)
    table = Table((Column("file"), Column("bytes", "B", digits=16), Column("sha256"), Column("why")), rows)
    return Report(STAGE, verb, tuple(findings), table if rows else None, facts={"files": len(files), **facts})


def _sum_mib(files: Mapping[str, Entry]) -> float:
    return to_mib(sum(entry.bytes for entry in files.values()))
