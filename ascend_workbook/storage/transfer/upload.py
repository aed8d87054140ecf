"""A folder or a file to object storage: parallel, in parts, and after a kill only what is missing.

What has arrived is asked of the service, not remembered here: an object that has our SHA-256 is there; of an unfinished
upload each part with our MD5 is. The folder's manifest is taken away first and written last.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import threading
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.names import USER_OUTPUT, USER_OUTPUT_MARK, Address, check, check_together, is_private
from ascend_workbook.storage.requests import Bucket, Part, Stored
from ascend_workbook.storage.retrying import Patience
from ascend_workbook.storage.transfer import manifest
from ascend_workbook.storage.transfer.files import (
    Digest,
    Job,
    Moved,
    Progress,
    Tell,
    compute_digest,
    compute_stamp,
    run_jobs,
)
from ascend_workbook.storage.transfer.manifest import Entry

# One file on its way to object storage.

PART_BYTES = 16 << 20
#: https://support.huaweicloud.com/intl/en-us/api-obs/obs_04_0098.html: parts are numbered up to this.
MOST_PARTS = 10_000


class FileUpload:
    """`there` is the object of that key, `uploads` are the ids of its unfinished ones; `digest` is known once begun."""

    def __init__(
        self,
        bucket: Bucket,
        path: Path,
        key: str,
        part_bytes: int,
        there: Stored | None,
        uploads: Sequence[str],
        progress: Progress,
    ) -> None:
        self.bucket, self.path, self.key, self.there, self.progress = bucket, path, key, there, progress
        self.uploads = list(uploads)
        self.part_bytes = part_bytes
        self.digest: Digest
        self._upload, self._parts, self._again = "", dict[int, Part](), False
        self._lock = threading.Lock()

    def begin_upload(self) -> list[Job]:
        """Read the file for its sums, and return the jobs that remain."""
        size = self.path.stat().st_size
        self.digest = digest = compute_digest(self.path, max(self.part_bytes, -(-size // MOST_PARTS)))
        alike = self.there is not None and self.there.bytes == digest.bytes
        if alike and self.bucket.head_object(self.key).sha256 == digest.sha256:
            self._abort_uploads(self.uploads)
            self.progress.count_file(was_there=True)
            return []
        if len(digest.md5) == 1:
            self._abort_uploads(self.uploads)
            return [self._send_whole]
        self._resume_upload()
        return self._missing_jobs()

    def _send_whole(self) -> list[Job]:
        self.bucket.write_object(self.key, self._read_part(1), self.digest.sha256)
        self.progress.count_part(self.digest.bytes)
        self.progress.count_file()
        return []

    def _resume_upload(self) -> None:
        """Resume the unfinished upload that has most of our parts; one that has a part of other content is another
        file's. The others are given up."""
        best: dict[int, Part] = {}
        for upload in self.uploads:
            parts = {part.number: part for part in self.bucket.list_parts(self.key, upload)}
            if len(parts) > len(best) and all(map(self._is_our_part, parts.values())):
                self._upload, best = upload, parts
        self._parts = best
        self._abort_uploads([upload for upload in self.uploads if upload != self._upload])
        self._upload = self._upload or self.bucket.begin_upload(self.key, self.digest.sha256)

    def _is_our_part(self, part: Part) -> bool:
        digest, number = self.digest, part.number
        sizes_fit = number <= len(digest.md5) and part.bytes == digest.part_span(number)[1]
        return sizes_fit and part.etag == digest.md5[number - 1]

    def _missing_jobs(self) -> list[Job]:
        numbers = [number for number in range(1, len(self.digest.md5) + 1) if number not in self._parts]
        return [partial(self._send_part, number) for number in numbers] or [self._complete_upload]

    def _send_part(self, number: int) -> list[Job]:
        data = self._read_part(number)
        etag = self.bucket.send_part(self.key, self._upload, number, data)
        self.progress.count_part(len(data))
        with self._lock:
            self._parts[number] = Part(number, len(data), etag)
            last = len(self._parts) == len(self.digest.md5)
        return [self._complete_upload] if last else []

    def _complete_upload(self) -> list[Job]:
        """Complete the upload and check what became of it; where it is not as sent, send all anew, once. An answer may
        be lost, and an upload begun for an earlier content of the file, whose parts so far were the same, bears that
        content's sum."""
        with contextlib.suppress(FileNotFoundError):  # the service knows the upload no longer: it may be complete
            self.bucket.complete_upload(self.key, self._upload, [self._parts[number] for number in sorted(self._parts)])
        about = self.bucket.head_object(self.key)
        if (about.bytes, about.sha256) == (self.digest.bytes, self.digest.sha256):
            self.progress.count_file()
            return []
        if self._again:
            raise WorkbookError("storage.not_as_sent", path=str(self.path), name=self.key)
        self._again, self._parts = True, {}
        self._upload = self.bucket.begin_upload(self.key, self.digest.sha256)
        return self._missing_jobs()

    def _read_part(self, number: int) -> bytes:
        """Read the part's bytes, if they still are what was summed up."""
        first, count = self.digest.part_span(number)
        with self.path.open("rb") as stream:
            stream.seek(first)
            data = stream.read(count)
        if hashlib.md5(data, usedforsecurity=False).hexdigest() != self.digest.md5[number - 1]:
            raise WorkbookError("storage.changed_here", path=str(self.path))
        return data

    def _abort_uploads(self, uploads: Sequence[str]) -> None:
        for upload in uploads:
            with contextlib.suppress(FileNotFoundError):
                self.bucket.abort_upload(self.key, upload)


WORKERS = 8


def send_files(
    source: str | os.PathLike[str],
    place: str,
    *,
    workers: int = WORKERS,
    part_bytes: int = PART_BYTES,
    patience: Patience | None = None,
    user_output: bool = False,
    tell: Tell | None = None,
) -> Moved:
    """Send a folder below the address, or a file to it (below it where it ends in `/`); of a folder not what
    `find_reason` keeps here. Raises WorkbookError:
    `storage.…` for names, credentials and the service's answers, `storage.changed_here` where a file is written to
    meanwhile; OSError where one cannot be read. What has arrived by then is used by the next start."""
    root, address = Path(source), Address.parse(place)
    whole = root.is_dir()
    if not whole:
        address = address.join(root.name) if place.endswith("/") or not address.key else address
    files, kept_here = _list_files(root, user_output) if whole else ({"": root}, {})
    check_together(files, str(root), fold=False)
    bucket = Bucket(address.bucket, patience)
    prefix = address.prefix if whole else address.key
    there = {stored.key: stored for stored in bucket.list_objects(prefix)}
    if whole and address.prefix + manifest.NAME in there:
        bucket.delete_object(address.prefix + manifest.NAME)
    uploads: dict[str, list[str]] = defaultdict(list)
    for key, upload in bucket.unfinished_uploads(prefix):
        uploads[key].append(upload)
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
    for job in jobs:
        if compute_stamp(job.path) != job.digest.stamp:
            raise WorkbookError("storage.changed_here", path=str(job.path))
    entries = {name or address.name: Entry(job.digest.bytes, job.digest.sha256) for name, job in zip(files, jobs)}
    if whole:
        bucket.write_object(address.prefix + manifest.NAME, manifest.encode_manifest(entries).encode("utf-8"))
    done = progress.requests, progress.moved, progress.kept
    return Moved(str(address), entries, root, *done, left=unfinished_keys, skipped=kept_here)


#: Why a file of a folder stays here.
PRINTED, PRIVATE, LINK = "user_output", "private", "link"


def find_reason(inside: Path, path: Path, *, user_output: bool = False) -> str:
    """Return why a file below the folder `inside`, a path without links, stays here; empty for one that is sent.

    LINK: it leads out of the folder, or to no file. PRIVATE: its name, or that of what it leads to, is one that
    credentials have. PRINTED: a user's script printed it, unless `user_output`."""
    target = Path(os.path.realpath(path))
    if path.is_symlink() and not (target.is_relative_to(inside) and target.is_file()):
        return LINK
    if any(
        is_private(there.relative_to(inside).as_posix()) for there in (path, target) if there.is_relative_to(inside)
    ):
        return PRIVATE
    if user_output or not target.is_file():
        return ""
    with target.open("rb") as stream:
        marked = stream.read(len(USER_OUTPUT_MARK)) == USER_OUTPUT_MARK.encode()
    return PRINTED if marked or path.name in USER_OUTPUT else ""


def _list_files(root: Path, user_output: bool) -> tuple[dict[str, Path], dict[str, str]]:
    """Return path of each file of a folder by its name, and why others stay here; without what is half written and an
    earlier manifest. Raises WorkbookError for what is no file, and for a name that is refused; OSError for a folder
    that cannot be listed."""
    inside, files, kept_here = root.resolve(), {}, {}
    for folder, folders, names in os.walk(inside, onerror=_raise_error):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for path in sorted(Path(folder, name) for name in (*names, *links)):
            own_name = path.relative_to(inside).as_posix()
            if path.name.endswith(".part") or own_name == manifest.NAME:
                continue
            check(own_name, str(root))
            if reason := find_reason(inside, path, user_output=user_output):
                kept_here[own_name] = reason
            elif not stat.S_ISREG(path.stat().st_mode):
                raise WorkbookError("storage.no_file", path=str(path))
            else:
                files[own_name] = path
    return files, kept_here


def _raise_error(error: OSError) -> None:
    raise error
