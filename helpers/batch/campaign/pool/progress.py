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
from typing import Any

from helpers.batch.campaign.ended import Ended
from helpers.storage import open_storage
from helpers.words import Scalar, say

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

    def tell(self, key: str, args: dict[str, Scalar]) -> None:
        """One event, one line."""
        with self._guard:
            if key == "plan.retry" and str(args["run"]) in self.running:
                self.running[str(args["run"])].attempt += 1
            self._erase()
            self._line(say(key, self.lang, **args))

    def started(self, run: str, cards: tuple[int, ...], where: str = "") -> None:
        self.running[run] = Running(time.time(), cards)
        args: dict[str, Scalar] = {"run": run, "number": self.done + len(self.running), "of": self.total}
        if cards:
            self.tell("plan.run_started_on", {**args, "cards": ", ".join(map(str, cards))})
        else:
            self.tell("plan.run_started", args)

    def waits(self, run: str, key: str, args: dict[str, Scalar]) -> None:
        """Told once per run and reason."""
        if f"{run}\0{key}" not in self._waiting:
            self._waiting.add(f"{run}\0{key}")
            self.tell(key, {"run": run, **args})

    def ended(self, one: Ended) -> None:
        self.running.pop(one.name, None)
        self.states[one.state] += 1
        key = "plan.run_reused" if one.reused else "plan.run_ended"
        self.tell(key, {"number": self.done, "of": self.total, "run": one.name,
                        "state": {"say": f"plan.state.{one.state}"}, "seconds": one.seconds})  # fmt: skip

    def noted(self, one: Ended) -> Ended:
        """With what happened to its results since it ended."""
        later = self.dropped.get(one.name)
        return replace(one, notes=later.notes) if later else one

    @property
    def done(self) -> int:
        return sum(self.states.values())

    def refresh(self, *, now: bool = False) -> None:
        """status.json and the status line, where it is time for them."""
        moment = time.monotonic()
        if now or moment - self._saved > REFRESH_S:
            self._saved = moment
            open_storage(str(self.folder)).write_text("status.json", json.dumps(self.content(), ensure_ascii=False))
        if self._terminal and moment - self._shown > LINE_S:
            self._shown = moment
            with self._guard:
                print(ERASE + self._status()[:150], end="", file=sys.stderr, flush=True)

    def content(self) -> dict[str, Any]:
        """What status.json says."""
        return {"at": time.time(), "runs": self.total, "ended": dict(self.states),
                "running": {name: asdict(one) for name, one in list(self.running.items())}}  # fmt: skip

    def close(self) -> None:
        self._erase()
        self.refresh(now=True)

    def _status(self) -> str:
        going = "  ".join(f"{name} {max(0.0, time.time() - one.since):.0f} s {one.held_mb} MiB"
                          for name, one in list(self.running.items()))  # fmt: skip
        return say("plan.status", self.lang, done=self.done, of=self.total, going=going)

    def _erase(self) -> None:
        if self._terminal:
            print(ERASE, end="", file=sys.stderr, flush=True)
