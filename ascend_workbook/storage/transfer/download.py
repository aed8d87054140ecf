"""A folder or a file from object storage: parallel, in parts, after a kill only what is missing, each sum checked."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.storage.local import LocalStorage, refuse_unwritable
from ascend_workbook.storage.names import Address, check_together
from ascend_workbook.storage.requests import Bucket, Stored, entries_below
from ascend_workbook.storage.retrying import Patience
from ascend_workbook.storage.transfer import manifest
from ascend_workbook.storage.transfer.manifest import Entry, Manifest
from ascend_workbook.storage.transfer.partial import PartialFile
from ascend_workbook.storage.transfer.pool import run_jobs
from ascend_workbook.storage.transfer.progress import Progress, Tell, to_mib
from ascend_workbook.storage.transfer.receiving import FileDownload
from ascend_workbook.storage.transfer.sending import PART_BYTES
from ascend_workbook.storage.transfer.upload import WORKERS


@dataclass
class Received:
    """`wrong`: name -> (words' key of why, bytes there), none of which got its name. `unchecked` files had no sum to
    be checked by. `requests`, `moved` and `kept` as those of an upload."""

    place: str
    path: Path
    files: dict[str, Entry] = field(default_factory=dict)
    wrong: dict[str, tuple[str, int]] = field(default_factory=dict)
    unchecked: int = 0
    requests: int = 0
    moved: int = 0
    kept: int = 0


def receive_files(
    place: str,
    folder: str | os.PathLike[str],
    *,
    workers: int = WORKERS,
    part_bytes: int = PART_BYTES,
    patience: Patience | None = None,
    unverified: bool = False,
    tell: Tell | None = None,
    bucket: Bucket | None = None,
) -> Received:
    """Fetch the folder at the address into `folder`, or the one object into `folder` (a folder) or to that path.

    A folder needs its manifest, unless `unverified`. Raises WorkbookError: `storage.incomplete` where it has none,
    `storage.nothing` where nothing is there, `storage.no_space`, `storage.…` for names and the service's answers.
    """
    address = Address.parse(place)
    bucket = bucket or Bucket(address.bucket, patience)
    about = None if place.endswith("/") or not address.key else _find_object(bucket, address)
    manifest_found = None if about else manifest.find_manifest(bucket, address)
    root = Path(folder)
    if about is not None:
        target = root / address.name if root.is_dir() or str(folder).endswith("/") else root
        expected_files = {target.name: Entry(about.bytes, about.sha256)}
        root, there, whole = target.parent, {target.name: about}, False
    else:
        there = dict(entries_below(bucket, address)) if manifest_found is None else _list_objects(bucket, address)
        expected_files, whole = _expected_files(address, manifest_found, there, unverified), manifest_found is not None
    _refuse_impossible(root, expected_files, there, part_bytes)
    progress = Progress(
        "storage.receiving", len(expected_files), sum(entry.bytes for entry in expected_files.values()), tell
    )
    jobs = {
        name: FileDownload(bucket, LocalStorage(root).resolve_name(name), entry, there.get(name), part_bytes, progress)
        for name, entry in expected_files.items()
    }
    if whole:
        (root / manifest.NAME).unlink(missing_ok=True)
    run_jobs((job.begin_download for job in jobs.values()), workers)
    wrong = {name: (job.wrong, job.found) for name, job in jobs.items() if job.wrong}
    if whole and not wrong:
        LocalStorage(root).write_text(manifest.NAME, Manifest(expected_files).to_json())
    return Received(
        str(address),
        root if about is None else target,
        expected_files,
        wrong,
        sum(not entry.sha256 for entry in expected_files.values()),
        progress.requests,
        progress.moved,
        progress.kept,
    )


def _find_object(bucket: Bucket, address: Address) -> Stored | None:
    try:
        return bucket.head_object(address.key)
    except FileNotFoundError:
        return None


def _list_objects(bucket: Bucket, address: Address) -> dict[str, Stored]:
    """List the objects by name. Names that no manifest can hold are of no use and are left where they are."""
    return {stored.key[len(address.prefix) :]: stored for stored in bucket.list_objects(address.prefix)}


def _expected_files(
    address: Address, manifest_found: Manifest | None, there: dict[str, Stored], unverified: bool
) -> dict[str, Entry]:
    if manifest_found is not None:
        return dict(manifest_found.files)
    if not there:
        raise WorkbookError("storage.nothing", place=str(address))
    if not unverified:
        raise WorkbookError("storage.incomplete", place=str(address), name=manifest.NAME, files=len(there))
    return {name: Entry(stored.bytes) for name, stored in there.items()}


def _refuse_impossible(root: Path, expected_files: dict[str, Entry], there: dict[str, Stored], part_bytes: int) -> None:
    """Refuse, before anything is fetched, names that cannot stand together here, folders that take no file, and a full
    disk.
    """
    refuse_unwritable(root / "transfer.part")
    root.mkdir(parents=True, exist_ok=True)
    check_together(expected_files, str(root), fold=_ignores_case(root) if _differ_by_case(expected_files) else False)
    local, needed = LocalStorage(root), 0
    for name, entry in expected_files.items():
        target = local.resolve_name(name)
        refuse_unwritable(target)
        if name in there and not (target.is_file() and target.stat().st_size == entry.bytes):
            bytes_held = PartialFile(target, entry.bytes, part_bytes, there[name].etag).held_bytes()
            needed += max(entry.bytes - bytes_held, 0)
    free = shutil.disk_usage(root).free
    if needed > free:
        raise WorkbookError("storage.no_space", path=str(root), needed=to_mib(needed), free=to_mib(free))


def _differ_by_case(names: dict[str, Entry]) -> bool:
    return len({name.casefold() for name in names}) < len(names)


def _ignores_case(root: Path) -> bool:
    """Return whether the file system takes capitals and small letters for the same."""
    with tempfile.NamedTemporaryFile(dir=root, prefix=".case-", suffix=".part") as probe:
        return Path(probe.name.replace(".case-", ".CASE-")).exists()


def raise_wrong(received: Received) -> None:
    """Raise WorkbookError `storage.wrong` that names the first file that is wrong."""
    for name, (why, bytes_found) in received.wrong.items():
        entry = received.files[name]
        raise WorkbookError(
            "storage.wrong",
            place=received.place,
            count=len(received.wrong),
            name=name,
            why=Sentence(why, bytes=entry.bytes, found=bytes_found),
        )
