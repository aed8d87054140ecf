"""Folders that hold the tensors of a run, each layout in a file of its own, known by what lies in them.

A layout is a module with `NAME`, `recognises(storage)`, which looks at names only, and `read(storage, root)`. Whatever
is read comes through the storage, so that a run may lie elsewhere than in a folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Union

from helpers.errors import WorkbookError
from helpers.precision.layouts import msprobe, ptdbg, tree
from helpers.precision.record import Run
from helpers.storage import LocalStorage, Storage, is_address, open_storage
from helpers.storage.given import errors_name

#: So many names of what was found are told.
SHOWN = 6
Place = Union[str, "os.PathLike[str]"]


class Layout(Protocol):
    """What a layout's module has. `read` gives the runs and what could not be read, neither raising for one broken
    file nor leaving it out; places of the script are told relative to `root`."""

    NAME: str

    def recognises(self, storage: Storage) -> bool: ...

    def read(self, storage: Storage, root: Path | None) -> tuple[list[Run], list[WorkbookError]]: ...


#: In this order: a folder is read by the first that knows it.
LAYOUTS: Sequence[Layout] = (msprobe, ptdbg, tree)


def read_dump(folder: Place, root: Path | None = None) -> list[Run]:
    """All runs in a folder, by step and rank. `folder` holds step folders, or is a step, or a rank folder.

    Raises WorkbookError where there are none, or where one of its files is cut short (naming file and place).
    """
    runs, troubles = read_runs(folder, root)
    if troubles:
        raise troubles[0]
    return runs


def read_runs(folder: Place, root: Path | None = None) -> tuple[list[Run], list[WorkbookError]]:
    """What can be read of a folder, by step and rank, and what could not. Raises WorkbookError where nothing can."""
    path = open_storage(os.fspath(folder)).local("")  # tensors are mapped, which needs files
    with errors_name(os.fspath(folder).rstrip("/") if is_address(folder) else str(path), str(path)):
        return _read(LocalStorage(path), root)


def _read(storage: LocalStorage, root: Path | None) -> tuple[list[Run], list[WorkbookError]]:
    layout = next((one for one in LAYOUTS if one.recognises(storage)), None)
    if layout is None:
        raise WorkbookError("precision.no_dump", path=storage.shown(""), found=_found(storage))
    runs, troubles = layout.read(storage, root)
    if not runs:
        raise troubles[0]
    return sorted(runs, key=lambda run: (run.step, run.rank)), troubles


def _found(storage: Storage) -> str:
    names = storage.children()
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return ", ".join([*names[:SHOWN], *more]) or "nothing"
