"""A folder or a file to object storage: parallel, in parts, and after a kill only what is missing.

What has arrived is asked of the service, not remembered here: an object that has our SHA-256 is there; of an unfinished
upload each part with our MD5 is. The folder's manifest is taken away first and written last.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.storage.names import Address, check, check_together
from helpers.storage.requests import Bucket
from helpers.storage.retrying import Patience
from helpers.storage.transfer import manifest
from helpers.storage.transfer.digests import Digest, stamp
from helpers.storage.transfer.manifest import Entry, Manifest
from helpers.storage.transfer.pool import work_off
from helpers.storage.transfer.progress import Progress, Tell
from helpers.storage.transfer.sending import PART_BYTES, FileUpload

WORKERS = 8


@dataclass
class Sent:
    """`files` as they are there now; `requests` and `moved` bytes went over the wire; `kept` files were there already;
    `left` are keys below a folder's address with unfinished uploads that are none of its files: not touched."""

    place: str
    files: dict[str, Entry] = field(default_factory=dict)
    requests: int = 0
    moved: int = 0
    kept: int = 0
    left: tuple[str, ...] = ()


def send(
    source: str | os.PathLike[str],
    place: str,
    *,
    workers: int = WORKERS,
    part_bytes: int = PART_BYTES,
    patience: Patience | None = None,
    tell: Tell | None = None,
) -> Sent:
    """Sends a folder below the address, or a file to it (below it where it ends in `/`).

    Raises WorkbookError: `storage.…` for names, credentials and the service's answers, `storage.changed_here` where a
    file is written to meanwhile; OSError where one cannot be read. What has arrived by then is used by the next start.
    """
    root, address = Path(source), Address.of(place)
    whole = root.is_dir()
    if not whole:
        address = address.below(root.name) if place.endswith("/") or not address.key else address
    files = dict(_files(root)) if whole else {"": root}
    check_together(files, str(root), fold=False)
    bucket = Bucket(address.bucket, patience)
    prefix = address.prefix if whole else address.key
    there = {one.key: one for one in bucket.list(prefix)}
    if whole and address.prefix + manifest.NAME in there:
        bucket.delete(address.prefix + manifest.NAME)
    uploads = _unfinished(bucket, prefix)
    sizes = {name: path.stat().st_size for name, path in files.items()}
    progress = Progress("storage.sending", len(files), sum(sizes.values()), tell)
    jobs = [FileUpload(bucket, path, prefix + name, part_bytes, there.get(prefix + name),
                       uploads.pop(prefix + name, []), progress) for name, path in files.items()]  # fmt: skip
    left = tuple(sorted(uploads)) if whole else ()
    work_off((job.begin for job in jobs), workers)
    digests = {name: job.digest for name, job in zip(files, jobs) if job.digest is not None}
    _refuse_changed(files, digests)
    entries = {name or address.name: Entry(one.bytes, one.sha256) for name, one in digests.items()}
    if whole:
        bucket.put(address.prefix + manifest.NAME, Manifest(entries).text().encode("utf-8"))
    return Sent(str(address), entries, progress.requests, progress.moved, progress.kept, left)


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Name and path of each file of a folder, without what is half written and an earlier manifest.

    Raises WorkbookError for a link that leads away, for what is no file, and for a name that is refused; OSError for a
    folder that cannot be listed.
    """
    inside = root.resolve()
    for folder, folders, names in os.walk(root, onerror=_raise):
        for name in sorted([*names, *(one for one in folders if (Path(folder) / one).is_symlink())]):
            path = Path(folder) / name
            own = path.relative_to(root).as_posix()
            if name.endswith(".part") or own == manifest.NAME:
                continue
            check(own, str(root))
            if not path.resolve().is_relative_to(inside) or not stat.S_ISREG(path.stat().st_mode):
                raise WorkbookError("storage.no_file", path=str(path))
            yield own, path


def _raise(error: OSError) -> None:
    raise error


def _unfinished(bucket: Bucket, prefix: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for key, upload in bucket.unfinished(prefix):
        found[key].append(upload)
    return found


def _refuse_changed(files: dict[str, Path], digests: dict[str, Digest]) -> None:
    for name, path in files.items():
        if stamp(path) != digests[name].stamp:
            raise WorkbookError("storage.changed_here", path=str(path))
