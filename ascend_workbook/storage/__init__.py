"""Where runs are kept: folders, and `obs://bucket/prefix`, behind one small interface.

local.py and obs.py keep it. Whole folders go up and down through transfer, with a manifest of sizes and
SHA-256 that is written last; requests.py asks the service, again where it fails (retrying.py).
The SDK, esdk-obs-python, is optional and imported by the first request.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.local import LocalStorage, natural_key, refuse_unwritable, write_file
from ascend_workbook.storage.names import Address, is_address
from ascend_workbook.storage.obs import ObsStorage


class Storage(Protocol):
    """What LocalStorage says of each; "" names the root itself. A name that is not there raises FileNotFoundError (of
    `local_path` it may give a path at which nothing is); what the reader can mend, WorkbookError."""

    def local_path(self, name: str) -> Path: ...
    def identify(self, name: str) -> str: ...
    def read_bytes(self, name: str) -> bytes: ...
    def read_start(self, name: str, count: int) -> bytes: ...
    def read_text(self, name: str) -> str: ...
    def write_bytes(self, name: str, data: bytes) -> None: ...
    def write_text(self, name: str, text: str) -> None: ...
    def exists(self, name: str) -> bool: ...
    def list_children(self, name: str = "") -> Sequence[str]: ...
    def describe_place(self, name: str) -> str: ...
    def list_files(self, prefix: str = "") -> Iterator[str]: ...


#: As the command has them, and imported when used: `storage.upload("runs/demo", "obs://bucket/runs/demo")`.
_VERBS = {"list": "contents", "upload": "upload", "download": "download", "verify": "verify"}
__all__ = [
    "Address",
    "LocalStorage",
    "ObsStorage",
    "Storage",
    "is_address",
    "natural_key",
    "open_storage",
    "refuse_unwritable",
    "write_file",
    *_VERBS,
]


def open_storage(place: str | os.PathLike[str]) -> Storage:
    """A folder path, or `obs://bucket/prefix`. Raises WorkbookError `storage.scheme` for another scheme,
    `storage.address` for an address that names no bucket or could leave its prefix. Asks nothing of the service yet."""
    if is_address(place):
        return ObsStorage(Address.parse(os.fspath(place)))
    scheme, separator, _ = os.fspath(place).partition("://")
    if separator:
        raise WorkbookError("storage.scheme", place=os.fspath(place), scheme=scheme)
    return LocalStorage(place)


def __getattr__(name: str) -> Any:
    if name not in _VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("ascend_workbook.storage.verb"), _VERBS[name])
