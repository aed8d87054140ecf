"""Step and rank folders: `step<N>/{rank<R>|proc<PID>}/`. A run without a process group has `proc<PID>`, before msprobe
8.2 a bare `rank`: either is rank 0 of its run."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.record import Run
from ascend_workbook.storage import Storage

RANKS, STEP = ("rank", "proc"), "step"


def number_in_name(name: str, prefix: str) -> int:
    """Return the number behind a prefix, 3 of `step3`; 0 where the name has no such number."""
    digits = name[len(prefix) :]
    return int(digits) if name.startswith(prefix) and digits.isdecimal() else 0


def find_rank_folders(storage: Storage, name: str = "") -> Iterator[str]:
    """Yield the rank folders of a folder that holds steps, or is a step: names with `/` at their end."""
    for folder in _list_folders(storage, name):
        if folder.startswith(STEP):
            ranks = (rank for rank in _list_folders(storage, f"{name}{folder}") if rank.startswith(RANKS))
            yield from (f"{name}{folder}{rank}" for rank in ranks)
        elif folder.startswith(RANKS):
            yield f"{name}{folder}"


def step_and_rank_of(storage: Storage, name: str) -> tuple[int, int]:
    """Return the step and the rank that a rank folder's own name and its parent's tell."""
    path = Path(os.path.abspath(storage.describe_place(name)))  # noqa: PTH100 (a link keeps its own name)
    return number_in_name(path.parent.name, STEP), number_in_name(path.name, "rank")


def reject_ambiguous(
    storage: Storage, names: list[str], key: Callable[[str], object]
) -> tuple[list[str], list[WorkbookError]]:
    """Return the folders of a step and rank that no other folder claims too, and an error for each step and rank that
    several do: none of those is taken. Two names of one folder are one."""
    groups: dict[object, dict[str, str]] = defaultdict(dict)
    for name in names:
        groups[key(name)].setdefault(storage.identify(name), name)
    single = [next(iter(group.values())) for group in groups.values() if len(group) == 1]
    troubles = [
        WorkbookError("precision.same_rank", paths=[storage.describe_place(name) for name in group.values()])
        for group in groups.values()
        if len(group) > 1
    ]
    return single, troubles


def read_each_run(
    names_and_troubles: tuple[list[str], list[WorkbookError]], run: Callable[[str, list[WorkbookError]], Run]
) -> tuple[list[Run], list[WorkbookError]]:
    """Read the run of every name; one that cannot be read goes to the troubles, and the rest goes on."""
    names, troubles = names_and_troubles
    runs: list[Run] = []
    for name in names:
        try:
            runs.append(run(name, troubles))
        except WorkbookError as cause:
            troubles.append(cause)
    return runs, troubles


def _list_folders(storage: Storage, name: str) -> list[str]:
    return [child for child in storage.list_children(name) if child.endswith("/")]
