"""One file on its way to object storage."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.requests import Bucket, Part, Stored
from ascend_workbook.storage.transfer.digests import Digest, compute_digest
from ascend_workbook.storage.transfer.pool import Job
from ascend_workbook.storage.transfer.progress import Progress

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
        self.digest: Digest | None = None
        self._upload, self._parts, self._again = "", dict[int, Part](), False
        self._lock = threading.Lock()

    def begin_upload(self) -> list[Job]:
        """Read the file for its sums, and return the jobs that remain."""
        size = self.path.stat().st_size
        self.digest = digest_found = compute_digest(self.path, max(self.part_bytes, -(-size // MOST_PARTS)))
        if (
            self.there
            and self.there.bytes == digest_found.bytes
            and self.bucket.head_object(self.key).sha256 == digest_found.sha256
        ):
            self._abort_uploads(self.uploads)
            self.progress.count_file(was_there=True)
            return []
        if len(digest_found.md5) == 1:
            self._abort_uploads(self.uploads)
            return [self._send_whole]
        self._resume_upload(digest_found)
        return self._missing_jobs(digest_found)

    def _send_whole(self) -> list[Job]:
        file_digest = self._require_digest()
        self.bucket.write_object(self.key, self._read_part(1), file_digest.sha256)
        self.progress.count_part(file_digest.bytes)
        self.progress.count_file()
        return []

    def _resume_upload(self, file_digest: Digest) -> None:
        """Resume the unfinished upload that has most of our parts; one that has a part of other content is another
        file's. The others are given up."""
        best: dict[int, Part] = {}
        for upload in self.uploads:
            parts = {part.number: part for part in self.bucket.list_parts(self.key, upload)}
            if len(parts) > len(best) and all(self._is_our_part(file_digest, part) for part in parts.values()):
                self._upload, best = upload, parts
        self._parts = best
        self._abort_uploads([upload for upload in self.uploads if upload != self._upload])
        self._upload = self._upload or self.bucket.begin_upload(self.key, file_digest.sha256)

    @staticmethod
    def _is_our_part(file_digest: Digest, part: Part) -> bool:
        if part.number > len(file_digest.md5):
            return False
        return (part.bytes, part.etag) == (file_digest.part_span(part.number)[1], file_digest.md5[part.number - 1])

    def _missing_jobs(self, file_digest: Digest) -> list[Job]:
        numbers = [number for number in range(1, len(file_digest.md5) + 1) if number not in self._parts]
        return [partial(self._send_part, number) for number in numbers] or [self._complete_upload]

    def _send_part(self, number: int) -> list[Job]:
        file_digest, data = self._require_digest(), self._read_part(number)
        etag = self.bucket.send_part(self.key, self._upload, number, data)
        self.progress.count_part(len(data))
        with self._lock:
            self._parts[number] = Part(number, len(data), etag)
            last = len(self._parts) == len(file_digest.md5)
        return [self._complete_upload] if last else []

    def _complete_upload(self) -> list[Job]:
        """Complete the upload and check what became of it; where it is not as sent, send all anew, once. An answer may
        be lost, and an upload begun for an earlier content of the file, whose parts so far were the same, bears that
        content's sum."""
        file_digest = self._require_digest()
        with contextlib.suppress(FileNotFoundError):  # the service knows the upload no longer: it may be complete
            self.bucket.complete_upload(self.key, self._upload, [self._parts[number] for number in sorted(self._parts)])
        about = self.bucket.head_object(self.key)
        if (about.bytes, about.sha256) == (file_digest.bytes, file_digest.sha256):
            self.progress.count_file()
            return []
        if self._again:
            raise WorkbookError("storage.not_as_sent", path=str(self.path), name=self.key)
        self._again, self._parts = True, {}
        self._upload = self.bucket.begin_upload(self.key, file_digest.sha256)
        return self._missing_jobs(file_digest)

    def _read_part(self, number: int) -> bytes:
        """Read the part's bytes, if they still are what was summed up."""
        file_digest = self._require_digest()
        first, count = file_digest.part_span(number)
        with self.path.open("rb") as stream:
            stream.seek(first)
            data = stream.read(count)
        if hashlib.md5(data, usedforsecurity=False).hexdigest() != file_digest.md5[number - 1]:
            raise WorkbookError("storage.changed_here", path=str(self.path))
        return data

    def _abort_uploads(self, uploads: Sequence[str]) -> None:
        for upload in uploads:
            with contextlib.suppress(FileNotFoundError):
                self.bucket.abort_upload(self.key, upload)

    def _require_digest(self) -> Digest:
        if self.digest is None:
            raise RuntimeError("begin() comes first")
        return self.digest
