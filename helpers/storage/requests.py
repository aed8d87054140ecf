"""The requests that storage makes of one bucket, through esdk-obs-python. What stands above knows no SDK."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import os
import ssl
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Callable
from urllib.parse import urlsplit

from helpers.errors import WorkbookError
from helpers.storage.answers import ETAG, SUM, marked, onward, whole
from helpers.storage.credentials import Access, access
from helpers.storage.names import SCHEME, printed
from helpers.storage.retrying import Patience, Spoilt, ask
from helpers.words import Scalar

PACKAGE = "esdk-obs-python"


@dataclass(frozen=True)
class Stored:
    """An object as the service lists it: `etag` changes when its content does."""

    key: str
    bytes: int
    etag: str
    sha256: str = ""


@dataclass(frozen=True)
class Part:
    """A part of an upload that the service has: `number` from 1."""

    number: int
    bytes: int
    etag: str


class Bucket:
    """Requests to one bucket; safe to be used by several threads."""

    def __init__(self, name: str, patience: Patience | None = None, given: Access | None = None) -> None:
        self.name = name
        self.patience = patience or Patience()
        self._access = given or access()
        self._sdk = sdk()
        self._client = self._connected()

    def head(self, key: str) -> Stored:
        """Raises FileNotFoundError where there is none."""
        answer = self._ask(key, partial(self._client.getObjectMetadata, self.name, key), ETAG)
        told = dict(answer.header)
        return Stored(key, int(answer.body.contentLength or 0), _plain(answer.body.etag), told.get(SUM, ""))

    def get(self, key: str, first: int = 0, count: int | None = None, etag: str = "") -> bytes:
        """`count` bytes from `first` on, or all that follow; of the content with this `etag` where one is given.

        Raises WorkbookError `storage.changed_there` where the object has another one by now.
        """
        if count == 0:
            return b""
        span = None if not first and count is None else f"bytes={first}-{'' if count is None else first + count - 1}"
        call = partial(self._client.getObject, self.name, key, headers=self._sdk.GetObjectHeader(range=span),
                       loadStreamInMemory=True)  # fmt: skip
        answer = self._ask(key, partial(whole, call, count, tail=first > 0 and count is None))
        if etag and _plain(dict(answer.header).get("etag")) != etag:
            raise WorkbookError("storage.changed_there", place=self._shown(key))
        return bytes(answer.body.buffer or b"")

    def put(self, key: str, data: bytes, sha256: str = "") -> None:
        """The service refuses it where other bytes arrive than were sent (Content-MD5)."""
        headers = self._sdk.PutObjectHeader(md5=_md5(data))
        about = {SUM: sha256 or hashlib.sha256(data).hexdigest()}
        self._ask(key, lambda: self._client.putContent(self.name, key, data, metadata=about, headers=headers), ETAG)

    def delete(self, key: str) -> None:
        self._ask(key, partial(self._client.deleteObject, self.name, key))

    def list(self, prefix: str) -> Iterator[Stored]:
        """All objects whose keys begin so, by key; the marks that consoles make for folders (`x/`) are left out."""
        for body in self._pages(prefix, None):
            for one in body.contents or ():
                if not one.key.endswith("/"):
                    yield Stored(one.key, int(one.size), _plain(one.etag))

    def level(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        """Keys of the objects directly below a prefix that ends in `/` or is empty, and the prefixes there."""
        objects: list[str] = []
        folders: list[str] = []
        for body in self._pages(prefix, "/"):
            objects += [one.key for one in body.contents or () if one.key != prefix]
            folders += [one.prefix for one in body.commonPrefixs or ()]
        return objects, folders

    def any_below(self, prefix: str) -> bool:
        """Whether there is an object whose key begins so."""
        call = partial(self._client.listObjects, self.name, prefix=prefix, max_keys=1)
        body = self._ask(prefix, call, "name").body
        return bool(body.contents)

    def _pages(self, prefix: str, delimiter: str | None) -> Iterator[Any]:
        marker: str | None = None
        while True:
            call = partial(self._client.listObjects, self.name, prefix=prefix, marker=marker, delimiter=delimiter,
                           encoding_type="url")  # fmt: skip
            body = self._ask(prefix, call, "name").body
            yield body
            if not body.is_truncated:
                return
            last = [one.key for one in body.contents or ()] + [one.prefix for one in body.commonPrefixs or ()]
            marker = self._onward(prefix, marker, body.next_marker or max(last, default=None))

    def begin(self, key: str, sha256: str) -> str:
        """The id of a new upload in parts."""
        call = partial(self._client.initiateMultipartUpload, self.name, key, metadata={SUM: sha256})
        return str(self._ask(key, call, "uploadId").body.uploadId)

    def send(self, key: str, upload: str, number: int, data: bytes) -> str:
        """One part; its ETag."""
        call = partial(self._client.uploadPart, self.name, key, number, upload, content=data, md5=_md5(data))
        return _plain(dict(self._ask(key, call, ETAG).header).get("etag"))

    def parts(self, key: str, upload: str) -> Iterator[Part]:
        """What has arrived of an upload."""
        marker: int | None = None
        while True:
            call = partial(self._client.listParts, self.name, key, upload, partNumberMarker=marker)
            body = self._ask(key, call, "uploadId").body
            for one in body.parts or ():
                yield Part(int(one.partNumber), int(one.size), _plain(one.etag))
            if not body.isTruncated:
                return
            marker = self._onward(key, marker, body.nextPartNumberMarker)

    def unfinished(self, prefix: str) -> Iterator[tuple[str, str]]:
        """(key, id) of uploads below a prefix that were begun and neither finished nor given up."""
        key: str | None = None
        upload: str | None = None
        while True:
            wanted = self._sdk.ListMultipartUploadsRequest(prefix=prefix, key_marker=key, upload_id_marker=upload)
            call = partial(self._client.listMultipartUploads, self.name, wanted, encoding_type="url")
            body = self._ask(prefix, call, "bucket").body
            yield from ((one.key, one.uploadId) for one in body.upload or ())
            if not body.isTruncated:
                return
            key, upload = self._onward(prefix, (key, upload), (body.nextKeyMarker, body.nextUploadIdMarker))

    def complete(self, key: str, upload: str, parts: Sequence[Part]) -> None:
        """Makes the object of its parts."""
        named = [self._sdk.CompletePart(one.number, f'"{one.etag}"') for one in parts]
        request = self._sdk.CompleteMultipartUploadRequest(named)
        self._ask(key, partial(self._client.completeMultipartUpload, self.name, key, upload, request))

    def abort(self, key: str, upload: str) -> None:
        """Gives an upload up: its parts are no longer kept, nor paid for."""
        self._ask(key, partial(self._client.abortMultipartUpload, self.name, key, upload))

    def _ask(self, key: str, request: Callable[[], Any], mark: str = "") -> Any:
        return ask(partial(marked, request, mark), self._shown(key), self._access, self.patience)

    def _onward(self, key: str, before: Any, after: Any) -> Any:
        try:
            return onward(before, after)
        except Spoilt as cause:
            told: dict[str, Scalar] = {"place": self._shown(key), "server": self._access.server, "error": str(cause)}
            raise WorkbookError("storage.listing", **told) from cause

    def _shown(self, key: str) -> str:
        return printed(f"{SCHEME}{self.name}/{key}")

    def _connected(self) -> Any:
        """The SDK's own retries are off (ours are told), and certificates are checked, which it does not by itself."""
        own = self._access
        path_style = bool(os.environ.get("OBS_PATH_STYLE")) or _is_number(urlsplit(own.server).hostname or "")
        client = self._sdk.ObsClient(
            own.key, own.secret, server=own.server, security_token=own.token or None, path_style=path_style,
            max_retry_count=0, timeout=self.patience.timeout_s, max_redirect_count=3,
        )  # fmt: skip
        client.context = ssl.create_default_context()
        return client


def sdk() -> Any:
    """The SDK's module. Raises WorkbookError `storage.no_sdk` with the command that installs it."""
    try:
        found = import_module("obs")
        found.ObsClient  # noqa: B018 - other packages have that name too
    except (ImportError, AttributeError) as cause:
        command = f"{sys.executable} -m pip install {PACKAGE}"
        raise WorkbookError("storage.no_sdk", package=PACKAGE, command=command, error=str(cause)) from cause
    return found


def _is_number(host: str) -> bool:
    """A bucket's name can stand before the name of a host, not before its number."""
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return host == "localhost"


def _md5(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def _plain(etag: str | None) -> str:
    return (etag or "").strip('"')
