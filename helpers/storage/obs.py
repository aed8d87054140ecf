"""Object storage behind the same interface as a folder. Names are what stands behind the prefix."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.storage.local import natural
from helpers.storage.names import Address, check

if TYPE_CHECKING:
    from helpers.storage.requests import Bucket, Stored


class ObsStorage:
    """Below an address. Keys that could leave a folder are refused by name, as are names given."""

    def __init__(self, address: Address, bucket: Bucket | None = None) -> None:
        self.address = address
        if bucket is not None:
            self.bucket = bucket

    @cached_property
    def bucket(self) -> Bucket:
        """Connected when it is first asked for."""
        from helpers.storage.requests import Bucket

        return Bucket(self.address.bucket)

    def local(self, name: str) -> Path:
        """A copy that lasts as long as this process, checked against its manifest or its own sum."""
        from helpers.storage.transfer.copies import copy_of

        return copy_of(self.address.below(name), self.bucket)

    def identity(self, name: str) -> str:
        return str(self.address.below(name))

    def read_bytes(self, name: str) -> bytes:
        return self.bucket.get(self._key(name))

    def start(self, name: str, count: int) -> bytes:
        about = self.bucket.head(self._key(name))
        return self.bucket.get(about.key, 0, min(count, about.bytes), about.etag)

    def read_text(self, name: str) -> str:
        return self.read_bytes(name).decode("utf-8")

    def write_bytes(self, name: str, data: bytes) -> None:
        """An object is replaced whole by the service itself."""
        self.bucket.put(self._key(name), data)

    def write_text(self, name: str, text: str) -> None:
        self.write_bytes(name, text.encode("utf-8"))

    def exists(self, name: str) -> bool:
        """Of a file, or of a folder that has one."""
        address = self.address.below(name)
        try:
            return bool(address.key and self.bucket.head(address.key)) or self.bucket.any_below(address.prefix)
        except FileNotFoundError:
            return self.bucket.any_below(address.prefix)

    def children(self, name: str = "") -> Sequence[str]:
        prefix = self.address.below(name).prefix
        objects, folders = self.bucket.level(prefix)
        found = [key[len(prefix) :] for key in (*objects, *folders)]
        for one in found:
            check(one.rstrip("/") if one != "/" else one, self.shown(name))
        return sorted(set(found), key=natural)

    def shown(self, name: str) -> str:
        return str(self.address.below(name))

    def list(self, prefix: str = "") -> Iterator[str]:
        yield from (name for name, _ in self.entries(prefix))

    def entries(self, prefix: str = "") -> Iterator[tuple[str, Stored]]:
        """The same with what the service tells of each."""
        for one in self.bucket.list(self.address.below(prefix).prefix):
            name = one.key[len(self.address.prefix) :]
            check(name, str(self.address))
            yield name, one

    def stamp(self) -> str:
        """Another one when a file of it is another: the service's marks of the contents."""
        try:
            return self.bucket.head(self._key("")).etag
        except (FileNotFoundError, IsADirectoryError):
            return "\n".join(f"{name} {one.etag}" for name, one in self.entries())

    def _key(self, name: str) -> str:
        """Raises IsADirectoryError for the root, which is no file."""
        address = self.address.below(name)
        if not address.key:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(address))
        return address.key
