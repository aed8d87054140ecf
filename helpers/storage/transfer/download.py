"""A folder or a file from object storage: parallel, in parts, after a kill only what is missing, each sum checked."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.storage.local import LocalStorage, refuse_unwritable
from helpers.storage.names import Address, check_together
from helpers.storage.obs import ObsStorage
from helpers.storage.requests import Bucket, Stored
from helpers.storage.retrying import Patience
from helpers.storage.transfer import manifest
from helpers.storage.transfer.manifest import Entry, Manifest
from helpers.storage.transfer.partial import PartialFile
from helpers.storage.transfer.pool import work_off
from helpers.storage.transfer.progress import Progress, Tell, mib
from helpers.storage.transfer.receiving import FileDownload
from helpers.storage.transfer.sending import PART_BYTES
from helpers.storage.transfer.upload import WORKERS


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


def receive(
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
    """Fetches the folder at the address into `folder`, or the one object into `folder` (a folder) or to that path.

    A folder needs its manifest, unless `unverified`. Raises WorkbookError: `storage.incomplete` where it has none,
    `storage.nothing` where nothing is there, `storage.no_space`, `storage.…` for names and the service's answers.
    """
    address = Address.of(place)
    bucket = bucket or Bucket(address.bucket, patience)
    about = None if place.endswith("/") or not address.key else _one(bucket, address)
    told = None if about else manifest.find(bucket, address)
    root = Path(folder)
    if about is not None:
        target = root / address.name if root.is_dir() or str(folder).endswith("/") else root
        wanted = {target.name: Entry(about.bytes, about.sha256)}
        root, there, whole = target.parent, {target.name: about}, False
    else:
        there = dict(ObsStorage(address, bucket).entries()) if told is None else _listed(bucket, address)
        wanted, whole = _wanted(address, told, there, unverified), told is not None
    _refuse(root, wanted, there, part_bytes)
    progress = Progress("storage.receiving", len(wanted), sum(one.bytes for one in wanted.values()), tell)
    jobs = {name: FileDownload(bucket, LocalStorage(root).path(name), entry, there.get(name), part_bytes, progress)
            for name, entry in wanted.items()}  # fmt: skip
    if whole:
        (root / manifest.NAME).unlink(missing_ok=True)
    work_off((job.begin for job in jobs.values()), workers)
    wrong = {name: (job.wrong, job.found) for name, job in jobs.items() if job.wrong}
    if whole and not wrong:
        LocalStorage(root).write_text(manifest.NAME, Manifest(wanted).text())
    return Received(str(address), root if about is None else target, wanted, wrong,
                    sum(not entry.sha256 for entry in wanted.values()), progress.requests, progress.moved,
                    progress.kept)  # fmt: skip


def _one(bucket: Bucket, address: Address) -> Stored | None:
    try:
        return bucket.head(address.key)
    except FileNotFoundError:
        return None


def _listed(bucket: Bucket, address: Address) -> dict[str, Stored]:
    """Objects by name; names that no manifest can hold are of no use and are left where they are."""
    return {one.key[len(address.prefix) :]: one for one in bucket.list(address.prefix)}


def _wanted(
    address: Address, told: Manifest | None, there: dict[str, Stored], unverified: bool
) -> dict[str, Entry]:
    if told is not None:
        return dict(told.files)
    if not there:
        raise WorkbookError("storage.nothing", place=str(address))
    if not unverified:
        raise WorkbookError("storage.incomplete", place=str(address), name=manifest.NAME, files=len(there))
    return {name: Entry(one.bytes) for name, one in there.items()}


def _refuse(root: Path, wanted: dict[str, Entry], there: dict[str, Stored], part_bytes: int) -> None:
    """Before anything is fetched: names that cannot stand together here, folders that take no file, a full disk."""
    refuse_unwritable(root / "transfer.part")
    root.mkdir(parents=True, exist_ok=True)
    check_together(wanted, str(root), fold=_folds(root) if _alike(wanted) else False)
    local, needed = LocalStorage(root), 0
    for name, entry in wanted.items():
        target = local.path(name)
        refuse_unwritable(target)
        if name in there and not (target.is_file() and target.stat().st_size == entry.bytes):
            held = PartialFile(target, entry.bytes, part_bytes, there[name].etag).held_bytes()
            needed += max(entry.bytes - held, 0)
    free = shutil.disk_usage(root).free
    if needed > free:
        raise WorkbookError("storage.no_space", path=str(root), needed=mib(needed), free=mib(free))


def _alike(names: dict[str, Entry]) -> bool:
    return len({name.casefold() for name in names}) < len(names)


def _folds(root: Path) -> bool:
    """Whether the file system takes capitals and small letters for the same."""
    with tempfile.NamedTemporaryFile(dir=root, prefix=".case-", suffix=".part") as probe:
        return Path(probe.name.replace(".case-", ".CASE-")).exists()


def raise_wrong(received: Received) -> None:
    """For who cannot go on without: raises WorkbookError `storage.wrong` that names the first file."""
    for name, (why, found) in received.wrong.items():
        entry = received.files[name]
        raise WorkbookError("storage.wrong", place=received.place, count=len(received.wrong), name=name,
                            why={"say": why, "args": {"bytes": entry.bytes, "found": found}})  # fmt: skip
