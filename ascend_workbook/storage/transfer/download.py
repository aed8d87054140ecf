"""A folder or a file from object storage: parallel, in parts, after a kill only what is missing, each sum checked."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.storage.local import LocalStorage, refuse_unwritable
from ascend_workbook.storage.names import Address, check_together
from ascend_workbook.storage.requests import Bucket, Stored, entries_below
from ascend_workbook.storage.retrying import Patience
from ascend_workbook.storage.transfer import manifest
from ascend_workbook.storage.transfer.files import Job, Moved, PartialFile, Progress, Tell, run_jobs, sha256_of, to_mib
from ascend_workbook.storage.transfer.manifest import Entry
from ascend_workbook.storage.transfer.upload import PART_BYTES, WORKERS

# Copies of what lies in object storage, for readers that need a path; they go with the process.


def fetch_copy(address: Address, bucket: Bucket) -> Path:
    """Fetch a copy of the file or folder; what an earlier call fetched is used where its sums still are those told.
    Raises WorkbookError: `storage.wrong`, and what `receive_files` does."""
    path = _make_copies_folder() / address.bucket / (address.key or ".")
    path.parent.mkdir(parents=True, exist_ok=True)
    received = receive_files(str(address), path, bucket=bucket)
    raise_wrong(received)
    return path


@cache
def _make_copies_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="workbook-obs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# One object on its way into a file.

#: What may be wrong with a file, as the words have it.
MISSING, SIZE, SUM = "storage.wrong.missing", "storage.wrong.size", "storage.wrong.sum"


class FileDownload:
    """`entry` is what it should be, `there` what the service has; `wrong` says after all jobs why they are not one."""

    def __init__(
        self, bucket: Bucket, target: Path, entry: Entry, there: Stored | None, part_bytes: int, progress: Progress
    ) -> None:
        self.bucket, self.target, self.entry, self.there, self.progress = bucket, target, entry, there, progress
        self.part_bytes, self.wrong, self.found = part_bytes, "", entry.bytes
        self._left, self._again, self._lock = 0, False, threading.Lock()

    def begin_download(self) -> list[Job]:
        """Return the jobs that remain: none for a file that is there already, or cannot become what it should be."""
        if self._is_complete():
            PartialFile(self.target, 0, self.part_bytes, "").drop_file()  # the record of one that got its name last
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
        missing = file.start_file()
        self._left = len(missing)
        return [partial(self._fetch_part, file, number) for number in missing] or [partial(self._finish_file, file)]

    def _fetch_part(self, file: PartialFile, number: int) -> list[Job]:
        there = self.there
        assert there is not None
        first, count = file.part_span(number)
        file.write_part(number, self.bucket.read_object(there.key, first, count, there.etag))
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
) -> Moved:
    """Fetch the folder at the address into `folder`, or the one object into `folder` (a folder) or to that path. A
    folder needs its manifest, unless `unverified`. Raises WorkbookError: `storage.incomplete` where it has none,
    `storage.nothing` where nothing is there, `storage.no_space`, `storage.…` for names and the service's answers."""
    address = Address.parse(place)
    bucket = bucket or Bucket(address.bucket, patience)
    about = None
    if address.key and not place.endswith("/"):
        with suppress(FileNotFoundError):
            about = bucket.head_object(address.key)
    manifest_found = None if about else manifest.find_manifest(bucket, address)
    root = Path(folder)
    if about is not None:
        target = root / address.name if root.is_dir() or str(folder).endswith("/") else root
        expected_files = {target.name: Entry(about.bytes, about.sha256)}
        root, there, whole = target.parent, {target.name: about}, False
    else:
        whole = manifest_found is not None
        # names that no manifest can hold are of no use and are left where they are
        objects = bucket.list_objects(address.prefix) if whole else ()
        there = {stored.key[len(address.prefix) :]: stored for stored in objects}
        there = there if whole else dict(entries_below(bucket, address))
        if not whole and not there:
            raise WorkbookError("storage.nothing", place=str(address))
        if not whole and not unverified:
            raise WorkbookError("storage.incomplete", place=str(address), name=manifest.NAME, files=len(there))
        expected_files = manifest_found or {name: Entry(stored.bytes) for name, stored in there.items()}
    _refuse_impossible(root, expected_files, there, part_bytes)
    progress = Progress("storage.receiving", len(expected_files), manifest.count_bytes(expected_files), tell)
    jobs = {
        name: FileDownload(bucket, LocalStorage(root).resolve_name(name), entry, there.get(name), part_bytes, progress)
        for name, entry in expected_files.items()
    }
    if whole:
        (root / manifest.NAME).unlink(missing_ok=True)
    run_jobs((job.begin_download for job in jobs.values()), workers)
    wrong = {name: (job.wrong, job.found) for name, job in jobs.items() if job.wrong}
    if whole and not wrong:
        LocalStorage(root).write_bytes(manifest.NAME, manifest.encode_manifest(expected_files).encode())
    path, unchecked = root if about is None else target, sum(not entry.sha256 for entry in expected_files.values())
    done = progress.requests, progress.moved, progress.kept
    return Moved(str(address), expected_files, path, *done, unchecked, wrong)


def _refuse_impossible(root: Path, expected_files: dict[str, Entry], there: dict[str, Stored], part_bytes: int) -> None:
    """Refuse, before anything is fetched, names that cannot stand together, unwritable folders and a full disk."""
    refuse_unwritable(root / "transfer.part")
    root.mkdir(parents=True, exist_ok=True)
    differ_by_case = len({name.casefold() for name in expected_files}) < len(expected_files)
    check_together(expected_files, str(root), fold=differ_by_case and _ignores_case(root))
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


def _ignores_case(root: Path) -> bool:
    """Return whether the file system takes capitals and small letters for the same."""
    with tempfile.NamedTemporaryFile(dir=root, prefix=".case-", suffix=".part") as probe:
        return Path(probe.name.replace(".case-", ".CASE-")).exists()


def raise_wrong(received: Moved) -> None:
    """Raise WorkbookError `storage.wrong` that names the first file that is wrong."""
    for name, (why, bytes_found) in received.wrong.items():
        entry = received.files[name]
        reason = Sentence(why, bytes=entry.bytes, found=bytes_found)
        raise WorkbookError("storage.wrong", place=received.place, count=len(received.wrong), name=name, why=reason)
