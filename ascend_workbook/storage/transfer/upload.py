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

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.names import Address, check, check_together
from ascend_workbook.storage.requests import Bucket
from ascend_workbook.storage.retrying import Patience
from ascend_workbook.storage.transfer import manifest
from ascend_workbook.storage.transfer.digests import Digest, compute_stamp
from ascend_workbook.storage.transfer.manifest import Entry, Manifest
from ascend_workbook.storage.transfer.pool import run_jobs
from ascend_workbook.storage.transfer.progress import Progress, Tell
from ascend_workbook.storage.transfer.sending import PART_BYTES, FileUpload

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


def send_files(
    source: str | os.PathLike[str],
    place: str,
    *,
    workers: int = WORKERS,
    part_bytes: int = PART_BYTES,
    patience: Patience | None = None,
    tell: Tell | None = None,
) -> Sent:
    """Send a folder below the address, or a file to it (below it where it ends in `/`).

    Raises WorkbookError: `storage.…` for names, credentials and the service's answers, `storage.changed_here` where a
    file is written to meanwhile; OSError where one cannot be read. What has arrived by then is used by the next start.
    """
    root, address = Path(source), Address.parse(place)
    whole = root.is_dir()
    if not whole:
        address = address.join(root.name) if place.endswith("/") or not address.key else address
    files = dict(_list_files(root)) if whole else {"": root}
    check_together(files, str(root), fold=False)
    bucket = Bucket(address.bucket, patience)
    prefix = address.prefix if whole else address.key
    there = {stored.key: stored for stored in bucket.list_objects(prefix)}
    if whole and address.prefix + manifest.NAME in there:
        bucket.delete_object(address.prefix + manifest.NAME)
    uploads = _unfinished_uploads(bucket, prefix)
    sizes = {name: path.stat().st_size for name, path in files.items()}
    progress = Progress("storage.sending", len(files), sum(sizes.values()), tell)
    jobs = [
        FileUpload(
            bucket, path, prefix + name, part_bytes, there.get(prefix + name), uploads.pop(prefix + name, []), progress
        )
        for name, path in files.items()
    ]
    unfinished_keys = tuple(sorted(uploads)) if whole else ()
    run_jobs((job.begin_upload for job in jobs), workers)
    digests = {name: job.digest for name, job in zip(files, jobs) if job.digest is not None}
    _refuse_changed_files(files, digests)
    entries = {name or address.name: Entry(stored.bytes, stored.sha256) for name, stored in digests.items()}
    if whole:
        bucket.write_object(address.prefix + manifest.NAME, Manifest(entries).to_json().encode("utf-8"))
    return Sent(str(address), entries, progress.requests, progress.moved, progress.kept, unfinished_keys)


def _list_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and path of each file of a folder, without what is half written and an earlier manifest.

    Raises WorkbookError for a link that leads away, for what is no file, and for a name that is refused; OSError for a
    folder that cannot be listed.
    """
    inside = root.resolve()
    for folder, folders, names in os.walk(root, onerror=_raise_error):
        for name in sorted(
            [*names, *(folder_name for folder_name in folders if (Path(folder) / folder_name).is_symlink())]
        ):
            path = Path(folder) / name
            own_name = path.relative_to(root).as_posix()
            if name.endswith(".part") or own_name == manifest.NAME:
                continue
            check(own_name, str(root))
            if not path.resolve().is_relative_to(inside) or not stat.S_ISREG(path.stat().st_mode):
                raise WorkbookError("storage.no_file", path=str(path))
            yield own_name, path


def _raise_error(error: OSError) -> None:
    raise error


def _unfinished_uploads(bucket: Bucket, prefix: str) -> dict[str, list[str]]:
    uploads: dict[str, list[str]] = defaultdict(list)
    for key, upload in bucket.unfinished_uploads(prefix):
        uploads[key].append(upload)
    return uploads


def _refuse_changed_files(files: dict[str, Path], digests: dict[str, Digest]) -> None:
    for name, path in files.items():
        if compute_stamp(path) != digests[name].stamp:
            raise WorkbookError("storage.changed_here", path=str(path))
