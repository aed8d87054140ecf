"""Step and rank folders: `step<N>/{rank<R>|proc<PID>}/`. A run without a process group has `proc<PID>`, before msprobe
8.2 a bare `rank`: either is rank 0 of its run."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.precision.record import Run
from helpers.storage import Storage

RANKS, STEP = ("rank", "proc"), "step"


def number(name: str, prefix: str) -> int:
    """3 of `step3`; 0 where the name has no such number."""
    digits = name[len(prefix) :]
    return int(digits) if name.startswith(prefix) and digits.isdecimal() else 0


def below(storage: Storage, name: str = "") -> Iterator[str]:
    """Rank folders of a folder that holds steps, or is a step: names with `/` at their end."""
    for found in _folders(storage, name):
        if found.startswith(STEP):
            ranks = (rank for rank in _folders(storage, f"{name}{found}") if rank.startswith(RANKS))
            yield from (f"{name}{found}{rank}" for rank in ranks)
        elif found.startswith(RANKS):
            yield f"{name}{found}"


def of(storage: Storage, name: str) -> tuple[int, int]:
    """Step and rank that a rank folder's own name and its parent's tell."""
    path = Path(os.path.abspath(storage.shown(name)))  # noqa: PTH100 (a link keeps its own name)
    return number(path.parent.name, STEP), number(path.name, "rank")


def unambiguous(
    storage: Storage, names: list[str], key: Callable[[str], object]
) -> tuple[list[str], list[WorkbookError]]:
    """Folders of a step and rank that no other folder claims too, and an error for each step and rank that several
    do: none of those is taken. Two names of one folder are one."""
    groups: dict[object, dict[str, str]] = defaultdict(dict)
    for name in names:
        groups[key(name)].setdefault(storage.identity(name), name)
    single = [next(iter(group.values())) for group in groups.values() if len(group) == 1]
    troubles = [WorkbookError("precision.same_rank", paths=[storage.shown(name) for name in group.values()])
                for group in groups.values() if len(group) > 1]  # fmt: skip
    return single, troubles


def each(
    found: tuple[list[str], list[WorkbookError]], run: Callable[[str, list[WorkbookError]], Run]
) -> tuple[list[Run], list[WorkbookError]]:
    """The run of every name; one that cannot be read goes to the troubles, and the rest goes on."""
    names, troubles = found
    runs: list[Run] = []
    for name in names:
        try:
            runs.append(run(name, troubles))
        except WorkbookError as cause:
            troubles.append(cause)
    return runs, troubles


def _folders(storage: Storage, name: str) -> list[str]:
    return [found for found in storage.children(name) if found.endswith("/")]
