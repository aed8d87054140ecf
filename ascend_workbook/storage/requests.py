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

from ascend_workbook.findings.errors import WorkbookError, install_line
from ascend_workbook.storage.credentials import Access, find_access
from ascend_workbook.storage.names import SCHEME, Address, check, printable_name
from ascend_workbook.storage.retrying import ETAG, SUM, Patience, ask_service, check_content, check_mark

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

    def __init__(self, name: str, patience: Patience | None = None, access: Access | None = None) -> None:
        self.name = name
        self.patience = patience or Patience()
        self._access = access or find_access()
        try:
            module = import_module("obs")
            module.ObsClient  # noqa: B018 - other packages have that name too
        except (ImportError, AttributeError) as cause:
            command = install_line(PACKAGE, python=sys.executable)
            raise WorkbookError("storage.no_sdk", package=PACKAGE, command=command, error=str(cause)) from cause
        self._sdk = module
        self._client = self._connect_client()

    def head_object(self, key: str) -> Stored:
        """Return what the service tells of an object."""
        answer = self._ask_service(key, partial(self._client.getObjectMetadata, self.name, key), ETAG)
        headers = dict(answer.header)
        return Stored(key, int(answer.body.contentLength or 0), _strip_quotes(answer.body.etag), headers.get(SUM, ""))

    def read_object(self, key: str, first: int = 0, count: int | None = None, etag: str = "") -> bytes:
        """Read `count` bytes of an object from `first` on, or all that follow. They are of the content with this `etag`
        where one is given. Raises WorkbookError `storage.changed_there` where the object has another one by now."""
        if count == 0:
            return b""
        span = None if not first and count is None else f"bytes={first}-{'' if count is None else first + count - 1}"
        headers = self._sdk.GetObjectHeader(range=span)
        call = partial(self._client.getObject, self.name, key, headers=headers, loadStreamInMemory=True)
        answer = self._ask_service(key, partial(check_content, call, count, tail=first > 0 and count is None))
        if etag and _strip_quotes(dict(answer.header).get("etag")) != etag:
            raise WorkbookError("storage.changed_there", place=self._describe_key(key))
        return bytes(answer.body.buffer or b"")

    def write_object(self, key: str, data: bytes, sha256: str = "") -> None:
        """Write an object; the service refuses it where other bytes arrive than were sent (Content-MD5)."""
        headers = self._sdk.PutObjectHeader(md5=_encode_md5(data))
        about = {SUM: sha256 or hashlib.sha256(data).hexdigest()}
        call = partial(self._client.putContent, self.name, key, data, metadata=about, headers=headers)
        self._ask_service(key, call, ETAG)

    def delete_object(self, key: str) -> None:
        self._ask_service(key, partial(self._client.deleteObject, self.name, key))

    def list_objects(self, prefix: str) -> Iterator[Stored]:
        """List all objects whose keys begin with the prefix, without the marks of consoles for folders (`x/`)."""
        for body in self._list_pages(prefix, None):
            for item in body.contents or ():
                if not item.key.endswith("/"):
                    yield Stored(item.key, int(item.size), _strip_quotes(item.etag))

    def list_level(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return the keys of the objects directly below a prefix (empty, or ending in `/`), and the prefixes there."""
        objects: list[str] = []
        folders: list[str] = []
        for body in self._list_pages(prefix, "/"):
            objects += [item.key for item in body.contents or () if item.key != prefix]
            folders += [item.prefix for item in body.commonPrefixs or ()]
        return objects, folders

    def any_below(self, prefix: str) -> bool:
        """Return whether there is an object whose key begins with the prefix."""
        call = partial(self._client.listObjects, self.name, prefix=prefix, max_keys=1)
        return bool(self._ask_service(prefix, call, "name").body.contents)

    def _list_pages(self, prefix: str, delimiter: str | None) -> Iterator[Any]:
        marker: str | None = None
        while True:
            span = {"prefix": prefix, "marker": marker, "delimiter": delimiter}
            call = partial(self._client.listObjects, self.name, **span, encoding_type="url")
            body = self._ask_service(prefix, call, "name").body
            yield body
            if not body.is_truncated:
                return
            last = [item.key for item in body.contents or ()] + [item.prefix for item in body.commonPrefixs or ()]
            marker = self._next_page(prefix, marker, body.next_marker or max(last, default=None))

    def begin_upload(self, key: str, sha256: str) -> str:
        """Begin an upload in parts and return its id."""
        call = partial(self._client.initiateMultipartUpload, self.name, key, metadata={SUM: sha256})
        return str(self._ask_service(key, call, "uploadId").body.uploadId)

    def send_part(self, key: str, upload: str, number: int, data: bytes) -> str:
        """Send one part and return its ETag."""
        call = partial(self._client.uploadPart, self.name, key, number, upload, content=data, md5=_encode_md5(data))
        return _strip_quotes(dict(self._ask_service(key, call, ETAG).header).get("etag"))

    def list_parts(self, key: str, upload: str) -> Iterator[Part]:
        """List the parts of an upload that have arrived."""
        marker: int | None = None
        while True:
            call = partial(self._client.listParts, self.name, key, upload, partNumberMarker=marker)
            body = self._ask_service(key, call, "uploadId").body
            for item in body.parts or ():
                yield Part(int(item.partNumber), int(item.size), _strip_quotes(item.etag))
            if not body.isTruncated:
                return
            marker = self._next_page(key, marker, body.nextPartNumberMarker)

    def unfinished_uploads(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield (key, id) of uploads below a prefix that were begun and neither finished nor given up."""
        key: str | None = None
        upload: str | None = None
        while True:
            page_request = self._sdk.ListMultipartUploadsRequest(prefix=prefix, key_marker=key, upload_id_marker=upload)
            call = partial(self._client.listMultipartUploads, self.name, page_request, encoding_type="url")
            body = self._ask_service(prefix, call, "bucket").body
            yield from ((item.key, item.uploadId) for item in body.upload or ())
            if not body.isTruncated:
                return
            key, upload = self._next_page(prefix, (key, upload), (body.nextKeyMarker, body.nextUploadIdMarker))

    def complete_upload(self, key: str, upload: str, parts: Sequence[Part]) -> None:
        """Make the object of the parts of an upload."""
        sdk_parts = [self._sdk.CompletePart(part.number, f'"{part.etag}"') for part in parts]
        request = self._sdk.CompleteMultipartUploadRequest(sdk_parts)
        self._ask_service(key, partial(self._client.completeMultipartUpload, self.name, key, upload, request))

    def abort_upload(self, key: str, upload: str) -> None:
        """Give an upload up: its parts are no longer kept, nor paid for."""
        self._ask_service(key, partial(self._client.abortMultipartUpload, self.name, key, upload))

    def _ask_service(self, key: str, request: Callable[[], object], mark: str = "") -> Any:
        return ask_service(partial(check_mark, request, mark), self._describe_key(key), self._access, self.patience)

    def _next_page(self, key: str, before: object, after: object) -> Any:
        """Return where the next page of a listing begins. Raises WorkbookError where that is no further on: it would
        never end."""
        if not any(after if isinstance(after, tuple) else (after,)) or after == before:
            why = f"a listing says that there is more and not where, after {before!r}"
            place, server = self._describe_key(key), self._access.server
            raise WorkbookError("storage.listing", place=place, server=server, error=why)
        return after

    def _describe_key(self, key: str) -> str:
        return printable_name(f"{SCHEME}{self.name}/{key}")

    def _connect_client(self) -> Any:
        """Connect a client without the SDK's own retries (ours are told), and with certificates checked."""
        access = self._access
        path_style = bool(os.environ.get("OBS_PATH_STYLE")) or _is_number(urlsplit(access.server).hostname or "")
        client = self._sdk.ObsClient(
            access.key,
            access.secret,
            server=access.server,
            security_token=access.token or None,
            path_style=path_style,
            max_retry_count=0,
            timeout=self.patience.timeout_s,
            max_redirect_count=3,
        )
        client.context = ssl.create_default_context()
        return client


def _is_number(host: str) -> bool:
    """Return whether a host is a number, before which no bucket's name can stand."""
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return host == "localhost"


def _encode_md5(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def _strip_quotes(etag: str | None) -> str:
    return (etag or "").strip('"')


def entries_below(bucket: Bucket, address: Address, prefix: str = "") -> Iterator[tuple[str, Stored]]:
    """Yield each object below the address with its name there. Raises WorkbookError for a name that could leave it."""
    for stored in bucket.list_objects(address.join(prefix).prefix):
        name = stored.key[len(address.prefix) :]
        check(name, str(address))
        yield name, stored
