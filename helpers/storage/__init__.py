"""Where runs are kept: folders, and `obs://bucket/prefix`, behind one small interface.

local.py and obs.py keep it (interface.py). Whole folders go up and down through transfer, with a manifest of sizes and
SHA-256 that is written last; requests.py asks the service, again where it fails (retrying.py).
The SDK, esdk-obs-python, is optional and imported by the first request.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from helpers.errors import WorkbookError
from helpers.storage.interface import Storage
from helpers.storage.local import LocalStorage, natural, refuse_unwritable, write_file
from helpers.storage.names import Address, is_address
from helpers.storage.obs import ObsStorage

#: As the command has them, and imported when used: `storage.upload("runs/demo", "obs://bucket/runs/demo")`.
_VERBS = {"list": "contents", "upload": "upload", "download": "download", "verify": "verify"}
__all__ = ["Address", "LocalStorage", "ObsStorage", "Storage", "is_address", "natural", "open_storage",
           "refuse_unwritable", "write_file", *_VERBS]  # fmt: skip


def open_storage(place: str | os.PathLike[str]) -> Storage:
    """A folder path, or `obs://bucket/prefix`. Raises WorkbookError `storage.scheme` for another scheme,
    `storage.address` for an address that names no bucket or could leave its prefix. Asks nothing of the service yet."""
    if is_address(place):
        return ObsStorage(Address.of(os.fspath(place)))
    scheme, separator, _ = os.fspath(place).partition("://")
    if separator:
        raise WorkbookError("storage.scheme", place=os.fspath(place), scheme=scheme)
    return LocalStorage(place)


def __getattr__(name: str) -> Any:
    if name not in _VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("helpers.storage.verb"), _VERBS[name])
