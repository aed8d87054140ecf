"""Where runs are kept: folders, and `obs://bucket/prefix`, behind one small interface.

local.py and obs.py keep it (interface.py). Whole folders go up and down through transfer, with a manifest of sizes and
SHA-256 that is written last; requests.py asks the service, again where it fails (retrying.py).
The SDK, esdk-obs-python, is optional and imported by the first request.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.interface import Storage
from ascend_workbook.storage.local import LocalStorage, natural_key, refuse_unwritable, write_file
from ascend_workbook.storage.names import Address, is_address
from ascend_workbook.storage.obs import ObsStorage

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
