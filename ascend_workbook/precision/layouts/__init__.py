"""Folders that hold the tensors of a run, each layout in a file of its own, known by what lies in them.

A layout is a module with `NAME`, `recognises(storage)`, which looks at names only, and `read(storage, root)`. Whatever
is read comes through the storage, so that a run may lie elsewhere than in a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Union

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.layouts import msprobe, ptdbg, tree
from ascend_workbook.precision.record import Run
from ascend_workbook.storage import LocalStorage, Storage, is_address, open_storage
from ascend_workbook.storage.names import name_original_in_errors

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
    """Read all runs in a folder, by step and rank. `folder` holds step folders, or is a step, or a rank folder.

    Raises WorkbookError where there are none, or where one of its files is cut short (naming file and place)."""
    runs, troubles = read_runs(folder, root)
    if troubles:
        raise troubles[0]
    return runs


def read_runs(folder: Place, root: Path | None = None) -> tuple[list[Run], list[WorkbookError]]:
    """Read what can be read of a folder, by step and rank, and return what could not be read as errors. Raises
    WorkbookError where nothing can."""
    path = open_storage(os.fspath(folder)).local_path("")  # tensors are mapped, which needs files
    with name_original_in_errors(os.fspath(folder).rstrip("/") if is_address(folder) else str(path), str(path)):
        return _read_storage(LocalStorage(path), root)


def _read_storage(storage: LocalStorage, root: Path | None) -> tuple[list[Run], list[WorkbookError]]:
    layout = next((candidate for candidate in LAYOUTS if candidate.recognises(storage)), None)
    if layout is None:
        names = storage.list_children()
        more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
        contents = ", ".join([*names[:SHOWN], *more]) or "nothing"
        raise WorkbookError("precision.no_dump", path=storage.describe_place(""), found=contents)
    runs, troubles = layout.read(storage, root)
    if not runs:
        raise troubles[0]
    return sorted(runs, key=lambda run: (run.step, run.rank)), troubles
