"""Copies of what lies in object storage, for readers that need a path; they go with the process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from helpers.storage.names import Address
from helpers.storage.requests import Bucket
from helpers.storage.transfer.download import raise_wrong, receive


def copy_of(address: Address, bucket: Bucket) -> Path:
    """The file or folder. What an earlier call fetched is used where its sums still are those told.

    Raises WorkbookError: `storage.wrong`, and what `receive` does.
    """
    path = _folder() / address.bucket / (address.key or ".")
    path.parent.mkdir(parents=True, exist_ok=True)
    received = receive(str(address), path, bucket=bucket)
    raise_wrong(received)
    return path


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="workbook-obs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
