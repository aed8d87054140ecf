"""`list`, `upload`, `download` and `verify` as reports: a row per file, the verdict in a sentence."""

from __future__ import annotations

import os
from collections.abc import Mapping

from helpers.finding import Finding, Status
from helpers.report import Column, Report, Table
from helpers.storage.names import Address
from helpers.storage.obs import ObsStorage
from helpers.storage.transfer.checking import check
from helpers.storage.transfer.download import receive
from helpers.storage.transfer.manifest import NAME, Entry
from helpers.storage.transfer.progress import Tell, mib
from helpers.storage.transfer.sending import PART_BYTES
from helpers.storage.transfer.upload import WORKERS, send
from helpers.words import Scalar

STAGE, CODE = "storage", "STO501"
#: So many rows are shown; the manifest has all.
MOST_ROWS = 200
MOST_NAMES = 5
PART_MIB = PART_BYTES >> 20
Wrong = Mapping[str, "tuple[str, int]"]


def contents(place: str) -> Report:
    """The files below an address with their sizes, and whether a manifest vouches for them."""
    address = Address.of(place)
    found = {name: Entry(one.bytes) for name, one in ObsStorage(address).entries()}
    complete = found.pop(NAME, None) is not None
    args: dict[str, Scalar] = {"count": len(found), "mib": _mib(found), "place": str(address)}
    key = "STO501.listed" if complete else "STO501.listed_bare" if found else "STO501.listed_nothing"
    return _report("list", [Finding(CODE, Status.OK if complete else Status.NOTE, key, args)], found, {})


def upload(
    source: str | os.PathLike[str], place: str, *, workers: int = WORKERS, part_mib: int = PART_MIB,
    tell: Tell | None = None,
) -> Report:  # fmt: skip
    """Sends a folder below the address, its manifest last, or a file to it. What is there already is not sent again.

    Raises WorkbookError and OSError as `helpers.storage.transfer.upload.send` does.
    """
    sent = send(source, place, workers=workers, part_bytes=part_mib << 20, tell=tell)
    args: dict[str, Scalar] = {"count": len(sent.files), "mib": _mib(sent.files), "place": sent.place,
                               "kept": sent.kept, "moved": mib(sent.moved)}  # fmt: skip
    findings = [Finding(CODE, Status.OK, "STO501.uploaded", args, weight=1)]
    if sent.left:
        left: dict[str, Scalar] = {"count": len(sent.left), "names": list(sent.left[:MOST_NAMES])}
        findings.append(Finding("STO502", Status.NOTE, "STO502.left", left))
    return _report("upload", findings, sent.files, {}, requests=sent.requests, moved_bytes=sent.moved, kept=sent.kept)


def download(
    place: str, folder: str | os.PathLike[str], *, unverified: bool = False, workers: int = WORKERS,
    part_mib: int = PART_MIB, tell: Tell | None = None,
) -> Report:  # fmt: skip
    """Fetches a folder, checked by its manifest, or one object. FAIL names each file that is not what was sent.

    Raises WorkbookError and OSError as `helpers.storage.transfer.download.receive` does.
    """
    got = receive(place, folder, workers=workers, part_bytes=part_mib << 20, unverified=unverified, tell=tell)
    args: dict[str, Scalar] = {"count": len(got.files) - len(got.wrong), "mib": _mib(got.files), "place": got.place,
                               "kept": got.kept, "moved": mib(got.moved), "path": str(got.path)}  # fmt: skip
    findings = [Finding(CODE, Status.OK, "STO501.downloaded", args, weight=1), *_wrong(got.wrong, got.files)]
    if got.unchecked:
        findings.append(Finding("STO504", Status.SKIPPED, "STO504.unchecked", {"count": got.unchecked}))
    return _report("download", findings, got.files, got.wrong, requests=got.requests, moved_bytes=got.moved,
                   kept=got.kept, path=str(got.path))  # fmt: skip


def verify(place: str | os.PathLike[str], *, quick: bool = False, tell: Tell | None = None) -> Report:
    """Whether a folder, at an address or fetched, is what its manifest tells; `quick` looks at sizes alone and says so.

    Raises WorkbookError `storage.incomplete` where there is no manifest.
    """
    found = check(os.fspath(place), read=not quick, tell=tell)
    args: dict[str, Scalar] = {"count": len(found.files), "mib": _mib(found.files), "place": found.place}
    findings = [*_wrong(found.wrong, found.files)]
    if not found.wrong:
        key, status = ("STO504.sizes", Status.SKIPPED) if quick else ("STO501.verified", Status.OK)
        findings.append(Finding(key.partition(".")[0], status, key, args, weight=1))
    if found.beside:
        beside: dict[str, Scalar] = {"count": len(found.beside), "first": found.beside[0]}
        findings.append(Finding("STO502", Status.NOTE, "STO502.beside", beside))
    return _report("verify", findings, found.files, found.wrong)


def _wrong(wrong: Wrong, files: Mapping[str, Entry]) -> list[Finding]:
    return [Finding("STO503", Status.FAIL, "STO503.wrong", {"name": name, "why": _why(name, wrong, files)})
            for name in sorted(wrong)]  # fmt: skip


def _why(name: str, wrong: Wrong, files: Mapping[str, Entry]) -> Scalar:
    key, found = wrong[name]
    return {"say": key, "args": {"bytes": files[name].bytes, "found": found}}


def _report(
    verb: str, findings: list[Finding], files: Mapping[str, Entry], wrong: Wrong, **facts: Scalar
) -> Report:
    names = sorted(files, key=lambda name: (name not in wrong, name))[:MOST_ROWS]
    rows = tuple((name, files[name].bytes, files[name].sha256[:12] or None,
                  _why(name, wrong, files) if name in wrong else None) for name in names)  # fmt: skip
    table = Table((Column("file"), Column("bytes", "B", digits=16), Column("sha256"), Column("why")), rows)
    return Report(STAGE, verb, tuple(findings), table if rows else None, facts={"files": len(files), **facts})


def _mib(files: Mapping[str, Entry]) -> float:
    return mib(sum(one.bytes for one in files.values()))
