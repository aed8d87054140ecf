"""One file on its way to object storage."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.storage.requests import Bucket, Part, Stored
from helpers.storage.transfer.digests import Digest, digest
from helpers.storage.transfer.pool import Job
from helpers.storage.transfer.progress import Progress

PART_BYTES = 16 << 20
#: https://support.huaweicloud.com/intl/en-us/api-obs/obs_04_0098.html: parts are numbered up to this.
MOST_PARTS = 10_000


class FileUpload:
    """`there` is the object of that key, `uploads` are the ids of its unfinished ones; `digest` is known once begun."""

    def __init__(
        self, bucket: Bucket, path: Path, key: str, part_bytes: int, there: Stored | None, uploads: Sequence[str],
        progress: Progress,
    ) -> None:  # fmt: skip
        self.bucket, self.path, self.key, self.there, self.progress = bucket, path, key, there, progress
        self.uploads = list(uploads)
        self.part_bytes = part_bytes
        self.digest: Digest | None = None
        self._upload, self._parts, self._again = "", dict[int, Part](), False
        self._lock = threading.Lock()

    def begin(self) -> list[Job]:
        """Reads the file for its sums; the jobs that remain."""
        size = self.path.stat().st_size
        self.digest = found = digest(self.path, max(self.part_bytes, -(-size // MOST_PARTS)))
        if self.there and self.there.bytes == found.bytes and self.bucket.head(self.key).sha256 == found.sha256:
            self._abort(self.uploads)
            self.progress.file(kept=True)
            return []
        if len(found.md5) == 1:
            self._abort(self.uploads)
            return [self._send_whole]
        self._resume(found)
        return self._missing(found)

    def _send_whole(self) -> list[Job]:
        found = self._known()
        self.bucket.put(self.key, self._read(1), found.sha256)
        self.progress.part(found.bytes)
        self.progress.file()
        return []

    def _resume(self, found: Digest) -> None:
        """Takes up the unfinished upload that has most of our parts; one that has a part of other content is another
        file's. The others are given up."""
        best: dict[int, Part] = {}
        for upload in self.uploads:
            parts = {one.number: one for one in self.bucket.parts(self.key, upload)}
            if len(parts) > len(best) and all(self._ours(found, one) for one in parts.values()):
                self._upload, best = upload, parts
        self._parts = best
        self._abort([upload for upload in self.uploads if upload != self._upload])
        self._upload = self._upload or self.bucket.begin(self.key, found.sha256)

    @staticmethod
    def _ours(found: Digest, part: Part) -> bool:
        if part.number > len(found.md5):
            return False
        return (part.bytes, part.etag) == (found.part(part.number)[1], found.md5[part.number - 1])

    def _missing(self, found: Digest) -> list[Job]:
        numbers = [number for number in range(1, len(found.md5) + 1) if number not in self._parts]
        return [partial(self._send_part, number) for number in numbers] or [self._complete]

    def _send_part(self, number: int) -> list[Job]:
        found, data = self._known(), self._read(number)
        etag = self.bucket.send(self.key, self._upload, number, data)
        self.progress.part(len(data))
        with self._lock:
            self._parts[number] = Part(number, len(data), etag)
            last = len(self._parts) == len(found.md5)
        return [self._complete] if last else []

    def _complete(self) -> list[Job]:
        """Looks at what became of it: an answer may be lost, and an upload begun for an earlier content of the file,
        whose parts so far were the same, bears that content's sum: then all is sent anew, once."""
        found = self._known()
        with contextlib.suppress(FileNotFoundError):  # the service knows the upload no longer: it may be complete
            self.bucket.complete(self.key, self._upload, [self._parts[number] for number in sorted(self._parts)])
        about = self.bucket.head(self.key)
        if (about.bytes, about.sha256) == (found.bytes, found.sha256):
            self.progress.file()
            return []
        if self._again:
            raise WorkbookError("storage.not_as_sent", path=str(self.path), name=self.key)
        self._again, self._parts = True, {}
        self._upload = self.bucket.begin(self.key, found.sha256)
        return self._missing(found)

    def _read(self, number: int) -> bytes:
        """The part's bytes, if they still are what was summed up."""
        found = self._known()
        first, count = found.part(number)
        with self.path.open("rb") as stream:
            stream.seek(first)
            data = stream.read(count)
        if hashlib.md5(data, usedforsecurity=False).hexdigest() != found.md5[number - 1]:
            raise WorkbookError("storage.changed_here", path=str(self.path))
        return data

    def _abort(self, uploads: Sequence[str]) -> None:
        for upload in uploads:
            with contextlib.suppress(FileNotFoundError):
                self.bucket.abort(self.key, upload)

    def _known(self) -> Digest:
        if self.digest is None:
            raise RuntimeError("begin() comes first")
        return self.digest
