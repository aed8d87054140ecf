"""The bound of a plan's folder on disk: dumps of good runs go, oldest first, before a run is refused or ended."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ascend_workbook.batch.campaign.ended import GOOD, Ended, load_ended, save_ended
from ascend_workbook.batch.campaign.progress import Progress
from ascend_workbook.findings.sentence import Scalar, Sentence

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

    def free_and_measure(self, running: Iterable[str], *, now: bool = False) -> tuple[int, list[Ended]]:
        """Drop dumps where the folder is beyond its bound, and return the MiB still too many and the runs that lost
        dumps. Looks only as often as it may, unless `now`: in between it says what it saw last."""
        if not self.limit_mb or (not now and time.monotonic() < self._next):
            return self._over, []
        began = time.monotonic()
        used, dropped = sum(_file_sizes(str(self.folder))), []
        if used > self.limit_mb * MIB:
            for ended in self._find_droppable(set(running)):
                freed = _drop_dumps(self.folder / ended.name)
                if freed:
                    used -= freed
                    dropped.append(self._note_drop(ended, freed))
                if used <= self.limit_mb * MIB:
                    break
        self._over = -(-max(0, used - self.limit_mb * MIB) // MIB)
        self._next = time.monotonic() + max(LOOK_S, (time.monotonic() - began) / PART)
        return self._over, dropped

    def _find_droppable(self, running: set[str]) -> list[Ended]:
        """Return the good runs whose dumps may be dropped, the one that ended first before the others. Only a run's own
        folder counts, which is no link."""
        run_folders = [
            path.parent
            for path in sorted(self.folder.glob("*/ended.json"), key=_modified_at)
            if not path.parent.is_symlink() and path.parent.name not in running
        ]
        ended_runs = [
            ended for place in run_folders if (ended := load_ended(place)) is not None and ended.name == place.name
        ]
        return [ended for ended in ended_runs if ended.state == GOOD]

    def _note_drop(self, run: Ended, freed: int) -> Ended:
        note: Scalar = Sentence("plan.dumps_dropped", mib=-(-freed // MIB))
        ended = replace(run, notes=(*run.notes, note))
        save_ended(self.folder / run.name, ended)
        return ended


def make_room(quota: Quota, progress: Progress, *, now: bool = False) -> int:
    """Make room on disk where possible, report it, and return how many MiB are still too many."""
    over, dropped = quota.free_and_measure(progress.running, now=now)
    for ended in dropped:
        progress.dropped[ended.name] = ended
        progress.tell_event("plan.dropped", {"run": ended.name, "limit_mb": quota.limit_mb})
    return over


def _file_sizes(folder: str) -> Iterator[int]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        yield from _file_sizes(entry.path)
                    else:
                        yield entry.stat(follow_symlinks=False).st_size
                except FileNotFoundError:
                    continue
    except FileNotFoundError:
        return


def _drop_dumps(run: Path) -> int:
    """Remove the dumps of a run and return the bytes that were freed."""
    freed = 0
    for stage in DUMPING:
        for place in (run / stage).glob("*/"):
            if place.is_dir() and not place.is_symlink():
                freed += sum(_file_sizes(str(place)))
                shutil.rmtree(place)
    return freed


def _modified_at(path: Path) -> float:
    return path.stat().st_mtime
