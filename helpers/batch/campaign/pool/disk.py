"""The bound of a plan's folder on disk: dumps of good runs go, oldest first, before a run is refused or ended."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from helpers.batch.campaign.ended import GOOD, Ended, load, save
from helpers.batch.campaign.pool.progress import Progress
from helpers.words import Scalar

MIB = 1 << 20
#: Stages whose folders hold dumps and traces in folders of their own; reports and notebooks lie beside those and stay.
DUMPING = ("precision", "profiling")
#: Seconds between looks; a look may take a part of the time at most, however many files there are.
LOOK_S, PART = 5.0, 0.05


class Quota:
    """`limit_mb` of MiB for all below `folder`; 0 is no bound."""

    def __init__(self, folder: Path, limit_mb: int) -> None:
        self.folder, self.limit_mb = folder, limit_mb
        self._next = 0.0
        self._over = 0

    def over_mb(self, running: Iterable[str], *, now: bool = False) -> tuple[int, list[Ended]]:
        """MiB beyond the bound once there is nothing more to drop, and the runs whose dumps were dropped, as they are
        now. Looks only as often as it may, unless `now`: in between it says what it saw last."""
        if not self.limit_mb or (not now and time.monotonic() < self._next):
            return self._over, []
        began = time.monotonic()
        used, dropped = size(self.folder), []
        if used > self.limit_mb * MIB:
            for one in self._droppable(set(running)):
                freed = _drop(self.folder / one.name)
                if freed:
                    used -= freed
                    dropped.append(self._noted(one, freed))
                if used <= self.limit_mb * MIB:
                    break
        self._over = -(-max(0, used - self.limit_mb * MIB) // MIB)
        self._next = time.monotonic() + max(LOOK_S, (time.monotonic() - began) / PART)
        return self._over, dropped

    def _droppable(self, running: set[str]) -> list[Ended]:
        """Good runs, the one that ended first before the others; of no folder but their own, which is no link."""
        own = [path.parent for path in sorted(self.folder.glob("*/ended.json"), key=_age)
               if not path.parent.is_symlink() and path.parent.name not in running]  # fmt: skip
        found = [one for place in own if (one := load(place)) is not None and one.name == place.name]
        return [one for one in found if one.state == GOOD]

    def _noted(self, one: Ended, freed: int) -> Ended:
        note: Scalar = {"say": "plan.dumps_dropped", "args": {"mib": -(-freed // MIB)}}
        ended = replace(one, notes=(*one.notes, note))
        save(self.folder / one.name, ended)
        return ended


def room(quota: Quota, progress: Progress, *, now: bool = False) -> int:
    """Makes room where it can, tells so, and says how many MiB are too many even so."""
    over, dropped = quota.over_mb(progress.running, now=now)
    for one in dropped:
        progress.dropped[one.name] = one
        progress.tell("plan.dropped", {"run": one.name, "limit_mb": quota.limit_mb})
    return over


def size(folder: Path) -> int:
    """Bytes of all files below; links are not followed, and what goes meanwhile counts as nothing."""
    return sum(_sizes(str(folder)))


def _sizes(folder: str) -> Iterator[int]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        yield from _sizes(entry.path)
                    else:
                        yield entry.stat(follow_symlinks=False).st_size
                except FileNotFoundError:
                    continue
    except FileNotFoundError:
        return


def _drop(run: Path) -> int:
    """Bytes that removing the run's dumps gave."""
    freed = 0
    for stage in DUMPING:
        for place in (run / stage).glob("*/"):
            if place.is_dir() and not place.is_symlink():
                freed += size(place)
                shutil.rmtree(place)
    return freed


def _age(path: Path) -> float:
    return path.stat().st_mtime
