"""What a plan tells while it goes: a line per event, a status line on a terminal, and status.json in its folder."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ascend_workbook.batch.campaign.ended import Ended
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
        if cards:
            self.tell_event("plan.run_started_on", {**args, "cards": ", ".join(map(str, cards))})
        else:
            self.tell_event("plan.run_started", args)

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
            open_storage(str(self.folder)).write_text(
                "status.json", json.dumps(self.status_content(), ensure_ascii=False)
            )
        if self._terminal and moment - self._shown > LINE_S:
            self._shown = moment
            with self._guard:
                print(ERASE + self._describe_status()[:150], end="", file=sys.stderr, flush=True)

    def status_content(self) -> dict[str, object]:
        """Return what status.json says."""
        return {
            "at": time.time(),
            "runs": self.total,
            "ended": dict(self.states),
            "running": {name: asdict(running) for name, running in list(self.running.items())},
        }

    def close_status(self) -> None:
        self._erase_line()
        self.refresh_status(now=True)

    def _describe_status(self) -> str:
        going = "  ".join(
            f"{name} {max(0.0, time.time() - running.since):.0f} s {running.held_mb} MiB"
            for name, running in list(self.running.items())
        )
        return say("plan.status", self.lang, done=self.done_count, of=self.total, going=going)

    def _erase_line(self) -> None:
        if self._terminal:
            print(ERASE, end="", file=sys.stderr, flush=True)
