"""Whether what lies at a place is what its manifest tells: sizes, and by reading every byte the sums."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.storage.local import LocalStorage
from helpers.storage.names import Address, is_address
from helpers.storage.requests import Bucket
from helpers.storage.retrying import Patience
from helpers.storage.transfer import manifest
from helpers.storage.transfer.digests import sha256_of
from helpers.storage.transfer.manifest import Entry, Manifest
from helpers.storage.transfer.pool import Job, work_off
from helpers.storage.transfer.progress import Progress, Tell
from helpers.storage.transfer.receiving import MISSING, SIZE, SUM
from helpers.storage.transfer.sending import PART_BYTES
from helpers.storage.transfer.upload import WORKERS


@dataclass
class Checked:
    """`wrong` as of a download; `read` says whether the contents were looked at; `beside` are files of no manifest."""

    place: str
    files: dict[str, Entry]
    read: bool
    wrong: dict[str, tuple[str, int]] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)


def check(place: str, *, read: bool = True, patience: Patience | None = None, tell: Tell | None = None) -> Checked:
    """Of a folder at an address, or of a local one that was fetched. `read=False` looks at sizes alone.

    Raises WorkbookError `storage.incomplete` where there is no manifest, `storage.nothing` where nothing is, for a
    local folder the same with `_here`.
    """
    told, sizes, total = _remote(place, patience) if is_address(place) else _local(Path(place))
    if told is None:
        key = ("storage.incomplete" if sizes else "storage.nothing") + ("" if is_address(place) else "_here")
        raise WorkbookError(key, **({"place": place} if not sizes else
                                    {"place": place, "name": manifest.NAME, "files": len(sizes)}))  # fmt: skip
    found = Checked(place, dict(told.files), read)
    found.beside = sorted(sizes.keys() - told.files.keys() - {manifest.NAME})
    for name, entry in told.files.items():
        if sizes.get(name) != entry.bytes:
            found.wrong[name] = (SIZE, sizes[name]) if name in sizes else (MISSING, 0)
    if read:
        whole = {name: entry for name, entry in told.files.items() if name not in found.wrong}
        progress = Progress("storage.receiving", len(whole), sum(one.bytes for one in whole.values()), tell)
        work_off((partial(_sum, name, entry, total, found, progress) for name, entry in whole.items()), WORKERS)
    return found


#: What tells the SHA-256 of a file by its name.
Sum = Callable[[str, Entry], str]


def _sum(name: str, entry: Entry, total: Sum, found: Checked, progress: Progress) -> list[Job]:
    if total(name, entry) != entry.sha256:
        found.wrong[name] = (SUM, entry.bytes)
    progress.part(entry.bytes)
    progress.file()
    return []


def _remote(place: str, patience: Patience | None) -> tuple[Manifest | None, dict[str, int], Sum]:
    address = Address.of(place)
    bucket = Bucket(address.bucket, patience)
    sizes = {one.key[len(address.prefix) :]: one.bytes for one in bucket.list(address.prefix)}

    def total(name: str, entry: Entry) -> str:
        whole = hashlib.sha256()
        for first in range(0, entry.bytes, PART_BYTES):
            whole.update(bucket.get(address.prefix + name, first, min(PART_BYTES, entry.bytes - first)))
        return whole.hexdigest()

    return manifest.find(bucket, address), sizes, total


def _local(root: Path) -> tuple[Manifest | None, dict[str, int], Sum]:
    storage = LocalStorage(root)
    sizes = {name: storage.path(name).stat().st_size for name in storage.list()}
    told = None
    if manifest.NAME in sizes:
        told = manifest.parsed(storage.start(manifest.NAME, manifest.MOST_BYTES), storage.shown(manifest.NAME))
    return told, sizes, lambda name, entry: sha256_of(storage.path(name))
