"""What a plan tells while it goes: a line per event, a status line on a terminal, and status.json in its folder.

Also the bound of that folder on disk: dumps of good runs go, oldest first, before a run is refused or ended.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ascend_workbook.batch.campaign.ended import GOOD, Ended, load_ended, save_ended
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.storage import open_storage

#: Seconds between two status.json, and between two status lines.
REFRESH_S, LINE_S = 2.0, 0.5
ERASE = "\r\x1b[K"


@dataclass
class Running:
    """A run that goes: since when (seconds of the epoch), with which cards, its tries and what memory it holds."""

    since: float
    cards: tuple[int, ...] = ()
    attempt: int = 1
    held_mb: int = 0


class Progress:
    """All threads of a start tell it; `line` receives each event as text."""

    def __init__(self, folder: Path, total: int, lang: str, line: Callable[[str], None]) -> None:
        self.folder, self.total, self.lang, self._line = folder, total, lang, line
        self.running: dict[str, Running] = {}
        self.dropped: dict[str, Ended] = {}
        self.states: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._waiting: set[str] = set()
        self._saved = self._shown = 0.0
        self._terminal = sys.stderr.isatty()

    def tell_event(self, key: str, args: dict[str, Scalar]) -> None:
        """Write one event as one line."""
        with self._guard:
            if key == "plan.retry" and str(args["run"]) in self.running:
                self.running[str(args["run"])].attempt += 1
            self._erase_line()
            self._line(say(key, self.lang, **args))

    def note_start(self, run: str, cards: tuple[int, ...]) -> None:
        self.running[run] = Running(time.time(), cards)
        args: dict[str, Scalar] = {"run": run, "number": self.done_count + len(self.running), "of": self.total}
        more: dict[str, Scalar] = {"cards": ", ".join(map(str, cards))} if cards else {}
        self.tell_event("plan.run_started_on" if cards else "plan.run_started", {**args, **more})

    def note_waiting(self, run: str, key: str, args: dict[str, Scalar]) -> None:
        """Tell that a run waits, once per run and reason."""
        if f"{run}\0{key}" not in self._waiting:
            self._waiting.add(f"{run}\0{key}")
            self.tell_event(key, {"run": run, **args})

    def note_end(self, ended: Ended) -> None:
        self.running.pop(ended.name, None)
        self.states[ended.state] += 1
        count: dict[str, Scalar] = {"number": self.done_count, "of": self.total, "run": ended.name}
        result: dict[str, Scalar] = {"state": Sentence(f"plan.state.{ended.state}"), "seconds": ended.seconds}
        self.tell_event("plan.run_reused" if ended.reused else "plan.run_ended", {**count, **result})

    def add_notes(self, ended: Ended) -> Ended:
        """Return how a run ended, with what happened to its results since."""
        later = self.dropped.get(ended.name)
        return replace(ended, notes=later.notes) if later else ended

    @property
    def done_count(self) -> int:
        return sum(self.states.values())

    def refresh_status(self, *, now: bool = False) -> None:
        """Write status.json and the status line, where it is time for them."""
        moment = time.monotonic()
        if now or moment - self._saved > REFRESH_S:
            self._saved = moment
            running = {name: asdict(running) for name, running in list(self.running.items())}
            status = {"at": time.time(), "runs": self.total, "ended": dict(self.states), "running": running}
            open_storage(str(self.folder)).write_text("status.json", json.dumps(status, ensure_ascii=False))
        if self._terminal and moment - self._shown > LINE_S:
            self._shown = moment
            with self._guard:
                going = "  ".join(
                    f"{name} {max(0.0, time.time() - running.since):.0f} s {running.held_mb} MiB"
                    for name, running in list(self.running.items())
                )
                text = say("plan.status", self.lang, done=self.done_count, of=self.total, going=going)
                print(ERASE + text[:150], end="", file=sys.stderr, flush=True)

    def close_status(self) -> None:
        self._erase_line()
        self.refresh_status(now=True)

    def _erase_line(self) -> None:
        if self._terminal:
            print(ERASE, end="", file=sys.stderr, flush=True)


MIB = 1 << 20
#: Stages whose folders hold dumps, traces and rehearsals in folders of their own; reports and notebooks lie beside
#: those and stay.
DUMPING = ("precision", "profiling", "planning")
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
                run = self.folder / ended.name
                freed = 0
                for stage in DUMPING:
                    for place in (run / stage).glob("*/"):
                        if place.is_dir() and not place.is_symlink():
                            freed += sum(_file_sizes(str(place)))
                            shutil.rmtree(place)
                if freed:
                    used -= freed
                    note: Scalar = Sentence("plan.dumps_dropped", mib=-(-freed // MIB))
                    dropped.append(replace(ended, notes=(*ended.notes, note)))
                    save_ended(self.folder / ended.name, dropped[-1])
                if used <= self.limit_mb * MIB:
                    break
        self._over = -(-max(0, used - self.limit_mb * MIB) // MIB)
        self._next = time.monotonic() + max(LOOK_S, (time.monotonic() - began) / PART)
        return self._over, dropped

    def _find_droppable(self, running: set[str]) -> list[Ended]:
        """Return the good runs whose dumps may be dropped, the one that ended first before the others. Only a run's own
        folder counts, which is no link."""
        paths = sorted(self.folder.glob("*/ended.json"), key=lambda path: path.stat().st_mtime)
        places = [path.parent for path in paths if not path.parent.is_symlink() and path.parent.name not in running]
        ended_runs = [ended for place in places if (ended := load_ended(place)) and ended.name == place.name]
        return [ended for ended in ended_runs if ended.state == GOOD]


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
