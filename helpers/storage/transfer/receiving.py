"""One object on its way into a file."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

from helpers.storage.requests import Bucket, Stored
from helpers.storage.transfer.digests import sha256_of
from helpers.storage.transfer.manifest import Entry
from helpers.storage.transfer.partial import PartialFile
from helpers.storage.transfer.pool import Job
from helpers.storage.transfer.progress import Progress

#: What may be wrong with a file, as the words have it.
MISSING, SIZE, SUM = "storage.wrong.missing", "storage.wrong.size", "storage.wrong.sum"


class FileDownload:
    """`entry` is what it should be, `there` what the service has; `wrong` says after all jobs why they are not one."""

    def __init__(
        self, bucket: Bucket, target: Path, entry: Entry, there: Stored | None, part_bytes: int, progress: Progress
    ) -> None:
        self.bucket, self.target, self.entry, self.there, self.progress = bucket, target, entry, there, progress
        self.part_bytes, self.wrong, self.found = part_bytes, "", entry.bytes
        self._file: PartialFile | None = None
        self._left, self._again, self._lock = 0, False, threading.Lock()

    def begin(self) -> list[Job]:
        """The jobs that remain: none for a file that is there already, or that cannot become what it should be."""
        if self._here():
            self.progress.file(kept=True)
            return []
        if self.there is None or self.there.bytes != self.entry.bytes:
            self.wrong, self.found = (SIZE, self.there.bytes) if self.there else (MISSING, 0)
            return []
        return self._jobs(PartialFile(self.target, self.entry.bytes, self.part_bytes, self.there.etag))

    def _here(self) -> bool:
        if not self.entry.sha256 or not self.target.is_file() or self.target.stat().st_size != self.entry.bytes:
            return False
        return sha256_of(self.target) == self.entry.sha256

    def _jobs(self, file: PartialFile) -> list[Job]:
        self._file, missing = file, file.start()
        self._left = len(missing)
        return [partial(self._fetch, file, number) for number in missing] or [partial(self._finish, file)]

    def _fetch(self, file: PartialFile, number: int) -> list[Job]:
        first, count = file.span(number)
        file.write(number, self.bucket.get(self._there().key, first, count, self._there().etag))
        self.progress.part(count)
        with self._lock:
            self._left -= 1
            last = not self._left
        return [partial(self._finish, file)] if last else []

    def _finish(self, file: PartialFile) -> list[Job]:
        """Its sum decides. All is fetched anew once: bytes change on the way, and of parts of an earlier start that
        machine may have lost its power before they were on the disk."""
        if self.entry.sha256 and sha256_of(file.data) != self.entry.sha256:
            file.drop()
            if not self._again:
                self._again = True
                return self._jobs(file)
            self.wrong = SUM
            return []
        file.finish()
        self.progress.file()
        return []

    def _there(self) -> Stored:
        if self.there is None:
            raise RuntimeError("there is nothing to fetch")
        return self.there
