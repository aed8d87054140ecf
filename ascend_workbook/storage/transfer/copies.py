"""Copies of what lies in object storage, for readers that need a path; they go with the process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from ascend_workbook.storage.names import Address
from ascend_workbook.storage.requests import Bucket
from ascend_workbook.storage.transfer.download import raise_wrong, receive_files


def fetch_copy(address: Address, bucket: Bucket) -> Path:
    """Fetch a copy of the file or folder; an earlier copy is used where its sums still are those told. What an earlier
    call fetched is used where its sums still are those told.

    Raises WorkbookError: `storage.wrong`, and what `receive_files` does.
    """
    path = _make_copies_folder() / address.bucket / (address.key or ".")
    path.parent.mkdir(parents=True, exist_ok=True)
    received = receive_files(str(address), path, bucket=bucket)
    raise_wrong(received)
    return path


@cache
def _make_copies_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="workbook-obs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
