"""Whether what lies at a place is what its manifest tells: sizes, and by reading every byte the sums."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.local import LocalStorage
from ascend_workbook.storage.names import Address, is_address
from ascend_workbook.storage.requests import Bucket
from ascend_workbook.storage.retrying import Patience
from ascend_workbook.storage.transfer import manifest
from ascend_workbook.storage.transfer.download import MISSING, SIZE, SUM
from ascend_workbook.storage.transfer.files import sha256_of
from ascend_workbook.storage.transfer.jobs import Job, Progress, Tell, run_jobs
from ascend_workbook.storage.transfer.manifest import Entry, Manifest
from ascend_workbook.storage.transfer.upload import PART_BYTES, WORKERS


@dataclass
class Checked:
    """`wrong` as of a download; `beside` are files of no manifest."""

    place: str
    files: dict[str, Entry]
    wrong: dict[str, tuple[str, int]] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)


def check(
    place: str, *, read_contents: bool = True, patience: Patience | None = None, tell: Tell | None = None
) -> Checked:
    """Check a folder at an address, or a local one that was fetched, against its manifest. `read=False` looks at sizes
    alone.

    Raises WorkbookError `storage.incomplete` where there is no manifest, `storage.nothing` where nothing is, for a
    local folder the same with `_here`.
    """
    look = _look_at_address(place, patience) if is_address(place) else _look_at_folder(Path(place))
    manifest_found, sizes, total = look
    if manifest_found is None and not sizes:
        raise WorkbookError("storage.nothing" if is_address(place) else "storage.nothing_here", place=place)
    if manifest_found is None:
        key = "storage.incomplete" if is_address(place) else "storage.incomplete_here"
        raise WorkbookError(key, place=place, name=manifest.NAME, files=len(sizes))
    checked = Checked(place, dict(manifest_found.files))
    checked.beside = sorted(sizes.keys() - manifest_found.files.keys() - {manifest.NAME})
    for name, entry in manifest_found.files.items():
        if sizes.get(name) != entry.bytes:
            checked.wrong[name] = (SIZE, sizes[name]) if name in sizes else (MISSING, 0)
    if read_contents:
        whole = {name: entry for name, entry in manifest_found.files.items() if name not in checked.wrong}
        progress = Progress("storage.receiving", len(whole), Manifest(whole).bytes, tell)
        run_jobs((partial(_check_sum, name, entry, total, checked, progress) for name, entry in whole.items()), WORKERS)
    return checked


#: What tells the SHA-256 of a file by its name.
Sum = Callable[[str, Entry], str]


def _check_sum(name: str, entry: Entry, total: Sum, checked: Checked, progress: Progress) -> list[Job]:
    if total(name, entry) != entry.sha256:
        checked.wrong[name] = (SUM, entry.bytes)
    progress.count_part(entry.bytes)
    progress.count_file()
    return []


def _look_at_address(place: str, patience: Patience | None) -> tuple[Manifest | None, dict[str, int], Sum]:
    address = Address.parse(place)
    bucket = Bucket(address.bucket, patience)
    sizes = {stored.key[len(address.prefix) :]: stored.bytes for stored in bucket.list_objects(address.prefix)}

    def compute_sum(name: str, entry: Entry) -> str:
        whole = hashlib.sha256()
        for first in range(0, entry.bytes, PART_BYTES):
            whole.update(bucket.read_object(address.prefix + name, first, min(PART_BYTES, entry.bytes - first)))
        return whole.hexdigest()

    return manifest.find_manifest(bucket, address), sizes, compute_sum


def _look_at_folder(root: Path) -> tuple[Manifest | None, dict[str, int], Sum]:
    storage = LocalStorage(root)
    sizes = {name: storage.resolve_name(name).stat().st_size for name in storage.list_files()}
    manifest_found = None
    if manifest.NAME in sizes:
        manifest_found = manifest.parse_manifest(
            storage.read_start(manifest.NAME, manifest.MOST_BYTES), storage.describe_place(manifest.NAME)
        )
    return manifest_found, sizes, lambda name, entry: sha256_of(storage.resolve_name(name))
