"""One object on its way into a file."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

from ascend_workbook.storage.requests import Bucket, Stored
from ascend_workbook.storage.transfer.digests import sha256_of
from ascend_workbook.storage.transfer.manifest import Entry
from ascend_workbook.storage.transfer.partial import PartialFile
from ascend_workbook.storage.transfer.pool import Job
from ascend_workbook.storage.transfer.progress import Progress

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

    def begin_download(self) -> list[Job]:
        """Return the jobs that remain: none for a file that is there already, or cannot become what it should be."""
        if self._is_complete():
            self.progress.count_file(was_there=True)
            return []
        if self.there is None or self.there.bytes != self.entry.bytes:
            self.wrong, self.found = (SIZE, self.there.bytes) if self.there else (MISSING, 0)
            return []
        return self._make_jobs(PartialFile(self.target, self.entry.bytes, self.part_bytes, self.there.etag))

    def _is_complete(self) -> bool:
        if not self.entry.sha256 or not self.target.is_file() or self.target.stat().st_size != self.entry.bytes:
            return False
        return sha256_of(self.target) == self.entry.sha256

    def _make_jobs(self, file: PartialFile) -> list[Job]:
        self._file, missing = file, file.start_file()
        self._left = len(missing)
        return [partial(self._fetch_part, file, number) for number in missing] or [partial(self._finish_file, file)]

    def _fetch_part(self, file: PartialFile, number: int) -> list[Job]:
        first, count = file.part_span(number)
        file.write_part(
            number, self.bucket.read_object(self._stored_object().key, first, count, self._stored_object().etag)
        )
        self.progress.count_part(count)
        with self._lock:
            self._left -= 1
            last = not self._left
        return [partial(self._finish_file, file)] if last else []

    def _finish_file(self, file: PartialFile) -> list[Job]:
        """Finish the file if its sum is right, else fetch all anew, once. All is fetched anew once: bytes change on the
        way, and of parts of an earlier start that machine may have lost its power before they were on the disk."""
        if self.entry.sha256 and sha256_of(file.data) != self.entry.sha256:
            file.drop_file()
            if not self._again:
                self._again = True
                return self._make_jobs(file)
            self.wrong = SUM
            return []
        file.finish_file()
        self.progress.count_file()
        return []

    def _stored_object(self) -> Stored:
        if self.there is None:
            raise RuntimeError("there is nothing to fetch")
        return self.there
