"""`list`, `upload`, `download` and `verify` as reports: a row per file, the verdict in a sentence."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.storage.local import LocalStorage
from ascend_workbook.storage.names import Address, is_address
from ascend_workbook.storage.obs import ObsStorage
from ascend_workbook.storage.requests import Bucket
from ascend_workbook.storage.retrying import Patience
from ascend_workbook.storage.transfer import manifest
from ascend_workbook.storage.transfer.download import MISSING, SIZE, SUM, receive_files
from ascend_workbook.storage.transfer.files import Job, Moved, Progress, Tell, run_jobs, sha256_of, to_mib
from ascend_workbook.storage.transfer.manifest import NAME, Entry
from ascend_workbook.storage.transfer.upload import PART_BYTES, WORKERS, send_files


def check(
    place: str, *, read_contents: bool = True, patience: Patience | None = None, tell: Tell | None = None
) -> Moved:
    """Check a folder at an address, or a local one that was fetched, against its manifest. `read=False` looks at sizes
    alone. Raises WorkbookError `storage.incomplete` where there is no manifest, `storage.nothing` where nothing is, for
    a local folder the same with `_here`."""
    look = _look_at_address(place, patience) if is_address(place) else _look_at_folder(Path(place))
    files, sizes, compute_sum = look
    here = "" if is_address(place) else "_here"
    if files is None and not sizes:
        raise WorkbookError(f"storage.nothing{here}", place=place)
    if files is None:
        raise WorkbookError(f"storage.incomplete{here}", place=place, name=NAME, files=len(sizes))
    checked = Moved(place, files, beside=sorted(sizes.keys() - files.keys() - {NAME}))
    for name, entry in files.items():
        if sizes.get(name) != entry.bytes:
            checked.wrong[name] = (SIZE, sizes[name]) if name in sizes else (MISSING, 0)
    whole = {name: entry for name, entry in files.items() if name not in checked.wrong} if read_contents else {}
    progress = Progress("storage.receiving", len(whole), manifest.count_bytes(whole), tell)

    def check_sum(name: str, entry: Entry) -> list[Job]:
        if compute_sum(name, entry) != entry.sha256:
            checked.wrong[name] = (SUM, entry.bytes)
        progress.count_part(entry.bytes)
        progress.count_file()
        return []

    run_jobs((partial(check_sum, name, entry) for name, entry in whole.items()), WORKERS)
    return checked


#: What tells the SHA-256 of a file by its name.
Sum = Callable[[str, Entry], str]


def _look_at_address(place: str, patience: Patience | None) -> tuple[manifest.Files | None, dict[str, int], Sum]:
    address = Address.parse(place)
    bucket = Bucket(address.bucket, patience)
    sizes = {stored.key[len(address.prefix) :]: stored.bytes for stored in bucket.list_objects(address.prefix)}

    def compute_sum(name: str, entry: Entry) -> str:
        whole = hashlib.sha256()
        for first in range(0, entry.bytes, PART_BYTES):
            whole.update(bucket.read_object(address.prefix + name, first, min(PART_BYTES, entry.bytes - first)))
        return whole.hexdigest()

    return manifest.find_manifest(bucket, address), sizes, compute_sum


def _look_at_folder(root: Path) -> tuple[manifest.Files | None, dict[str, int], Sum]:
    storage = LocalStorage(root)
    sizes = {name: storage.resolve_name(name).stat().st_size for name in storage.list_files()}
    data = storage.read_start(NAME, manifest.MOST_BYTES) if NAME in sizes else None
    files = None if data is None else manifest.parse_manifest(data, storage.describe_place(NAME))
    return files, sizes, lambda name, entry: sha256_of(storage.resolve_name(name))


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
    args: dict[str, Scalar] = {
        "count": len(entries),
        "mib": to_mib(manifest.count_bytes(entries)),
        "place": str(address),
    }
    key = "STO501.listed" if complete else "STO501.listed_bare" if entries else "STO501.listed_nothing"
    return _make_report("list", [Finding(CODE, Status.GOOD if complete else Status.NOTE, key, args)], entries, {})


def upload(
    source: str | os.PathLike[str],
    place: str,
    *,
    workers: int = WORKERS,
    part_mib: int = PART_MIB,
    user_output: bool = False,
    tell: Tell | None = None,
) -> Report:
    """Send a folder below the address, its manifest last, or a file to it. What is there already is not sent again.
    Of a folder, what scripts printed (`output.log`) stays here unless `user_output`; so do files whose names tell of
    credentials, and links that lead out of it. Raises WorkbookError and OSError as
    `ascend_workbook.storage.transfer.upload.send_files` does."""
    result = send_files(source, place, workers=workers, part_bytes=part_mib << 20, user_output=user_output, tell=tell)
    args: dict[str, Scalar] = {"count": len(result.files), "place": result.place}
    args.update(mib=to_mib(manifest.count_bytes(result.files)), kept=result.kept, moved=to_mib(result.moved))
    findings = [Finding(CODE, Status.GOOD, "STO501.uploaded", args, weight=1)]
    if result.left:
        left_args: dict[str, Scalar] = {"count": len(result.left), "names": list(result.left[:MOST_NAMES])}
        findings.append(Finding("STO502", Status.NOTE, "STO502.left", left_args))
    for reason in sorted({*result.skipped.values()}):
        names = [name for name, why in result.skipped.items() if why == reason]
        skipped: dict[str, Scalar] = {"count": len(names), "names": [*names[:MOST_NAMES]]}
        findings.append(Finding("STO502", Status.NOTE, f"STO502.{reason}", skipped))
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
    """Fetch a folder, checked by its manifest, or one object. Fix names each file that is not what was sent. Raises
    WorkbookError and OSError as `ascend_workbook.storage.transfer.download.receive_files` does."""
    received = receive_files(
        place, folder, workers=workers, part_bytes=part_mib << 20, unverified=unverified, tell=tell
    )
    count = len(received.files) - len(received.wrong)
    args: dict[str, Scalar] = {"count": count, "place": received.place, "path": str(received.path)}
    args.update(mib=to_mib(manifest.count_bytes(received.files)), kept=received.kept, moved=to_mib(received.moved))
    findings = [Finding(CODE, Status.GOOD, "STO501.downloaded", args, weight=1)]
    findings += _report_wrong(received.wrong, received.files)
    if received.unchecked:
        findings.append(Finding("STO504", Status.NOT_LOOKED, "STO504.unchecked", {"count": received.unchecked}))
    facts: dict[str, Scalar] = {"requests": received.requests, "moved_bytes": received.moved, "kept": received.kept}
    return _make_report("download", findings, received.files, received.wrong, **facts, path=str(received.path))


def verify(place: str | os.PathLike[str], *, quick: bool = False, tell: Tell | None = None) -> Report:
    """Check whether a folder, at an address or fetched, is what its manifest tells. `quick` looks at sizes alone and
    says so. Raises WorkbookError `storage.incomplete` where there is no manifest."""
    checked = check(os.fspath(place), read_contents=not quick, tell=tell)
    mib = to_mib(manifest.count_bytes(checked.files))
    args: dict[str, Scalar] = {"count": len(checked.files), "mib": mib, "place": checked.place}
    findings = [*_report_wrong(checked.wrong, checked.files)]
    if not checked.wrong:
        key, status = ("STO504.sizes", Status.NOT_LOOKED) if quick else ("STO501.verified", Status.GOOD)
        findings.append(Finding(key.partition(".")[0], status, key, args, weight=1))
    if checked.beside:
        beside: dict[str, Scalar] = {"count": len(checked.beside), "first": checked.beside[0]}
        findings.append(Finding("STO502", Status.NOTE, "STO502.beside", beside))
    return _make_report("verify", findings, checked.files, checked.wrong)


def _report_wrong(wrong: Wrong, files: Mapping[str, Entry]) -> list[Finding]:
    return [
        Finding("STO503", Status.FIX, "STO503.wrong", {"name": name, "why": _why_wrong(name, wrong, files)})
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
