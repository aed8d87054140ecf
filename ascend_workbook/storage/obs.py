"""Object storage behind the same interface as a folder. Names are what stands behind the prefix."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_workbook.redaction.exits import redact_file
from ascend_workbook.storage.local import natural_key
from ascend_workbook.storage.names import Address, check

if TYPE_CHECKING:
    from ascend_workbook.storage.requests import Bucket, Stored


class ObsStorage:
    """Below an address. Keys that could leave a folder are refused by name, as are names given."""

    def __init__(self, address: Address, bucket: Bucket | None = None) -> None:
        self.address = address
        if bucket is not None:
            self.bucket = bucket

    @cached_property
    def bucket(self) -> Bucket:
        """Return the bucket, connected when it is first asked for."""
        from ascend_workbook.storage.requests import Bucket

        return Bucket(self.address.bucket)

    def local_path(self, name: str) -> Path:
        """Copy the file or folder here, checked by its manifest or sum; the copy lasts as long as this process."""
        from ascend_workbook.storage.transfer.download import fetch_copy

        return fetch_copy(self.address.join(name), self.bucket)

    def identify(self, name: str) -> str:
        return str(self.address.join(name))

    def read_bytes(self, name: str) -> bytes:
        return self.bucket.read_object(self._key_of(name))

    def read_start(self, name: str, count: int) -> bytes:
        about = self.bucket.head_object(self._key_of(name))
        return self.bucket.read_object(about.key, 0, min(count, about.bytes), about.etag)

    def read_text(self, name: str) -> str:
        return self.read_bytes(name).decode("utf-8")

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write an object, which the service itself replaces whole."""
        self.bucket.write_object(self._key_of(name), data)

    def write_text(self, name: str, text: str) -> None:
        self.write_bytes(name, redact_file(name, text).encode("utf-8"))

    def delete_file(self, name: str) -> None:
        """Delete an object; one that is not there is no error of the service's."""
        self.bucket.delete_object(self._key_of(name))

    def exists(self, name: str) -> bool:
        """Return whether a file exists, or a folder that holds one."""
        address = self.address.join(name)
        try:
            return bool(address.key and self.bucket.head_object(address.key)) or self.bucket.any_below(address.prefix)
        except FileNotFoundError:
            return self.bucket.any_below(address.prefix)

    def list_children(self, name: str = "") -> Sequence[str]:
        prefix = self.address.join(name).prefix
        objects, folders = self.bucket.list_level(prefix)
        names = [key[len(prefix) :] for key in (*objects, *folders)]
        for child in names:
            check(child.rstrip("/") if child != "/" else child, self.describe_place(name))
        return sorted(set(names), key=natural_key)

    def describe_place(self, name: str) -> str:
        return str(self.address.join(name))

    def list_files(self, prefix: str = "") -> Iterator[str]:
        yield from (name for name, _ in self.list_entries(prefix))

    def list_entries(self, prefix: str = "") -> Iterator[tuple[str, Stored]]:
        """Yield all files below the prefix, with what the service tells of each."""
        from ascend_workbook.storage.requests import entries_below

        return entries_below(self.bucket, self.address, prefix)

    def compute_stamp(self) -> str:
        """Compute a stamp that changes when a file changes: the service's marks of the contents."""
        try:
            return self.bucket.head_object(self._key_of("")).etag
        except (FileNotFoundError, IsADirectoryError):
            return "\n".join(f"{name} {stored.etag}" for name, stored in self.list_entries())

    def _key_of(self, name: str) -> str:
        """Return the key of a file. Raises IsADirectoryError for the root, which is no file."""
        address = self.address.join(name)
        if not address.key:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(address))
        return address.key
