"""Rides in the training process of several ranks: where each rank stands, so that a run that hangs is told. Loaded by
path.

A thread writes `standing.rank<R>.json`: the collective that the script waits in, or the line that it runs. Where every
rank of the run stands still, and one of a collective's ranks has ended or waits in another, none will go on: then what
was recorded is kept and the process ends itself."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

#: Frames of this file stand between the program's line and torch's.
PASSES_THROUGH = True
#: Exit code of a rank that waits for others that never come.
HUNG = 89
EVERY_S = 0.5
#: A rank that waits so long is told to; what it recorded is kept from then on. So long must all wait to be hung.
LONG_S, PATIENCE_S = 3.0, 20.0
#: So long the other ranks have to see it too, before torchrun ends them.
LEAVE_S = 2.0
WAITING, RUNNING, ENDED, FAILED = "waiting", "running", "ended", "failed"
Stand = Mapping[str, Any]


class Standing:
    """`keep` writes what was recorded; `find_line` tells the script's line, of a frame where one is given."""

    def __init__(
        self, folder: Path, rank: int, world_size: int, keep: Callable[[], None], find_line: Callable[..., str]
    ) -> None:
        self.folder, self.rank, self.world_size = folder, rank, world_size
        self.keep, self.find_line = keep, find_line
        self.numbers: dict[tuple[int, ...], int] = {}
        self.call: dict[str, Any] | None = None
        self.status = RUNNING
        self.step = -1
        self.main = threading.main_thread().ident
        self.kept_for: object = None
        self.lock = threading.Lock()

    def start(self) -> None:
        """Begin to write."""
        threading.Thread(target=self._follow, name="standing", daemon=True).start()

    def enter(self, operation: str, group: list[int], step: int, peer: int | None) -> None:
        """The script calls a collective."""
        number = self.numbers.get(tuple(group), 0)
        self.numbers[tuple(group)] = number + 1
        self.step = step
        place = self.find_line()
        call = {"op": operation, "group": group, "number": number, "step": step, "place": place, "peer": peer}
        self.call = {**call, "since": time.time()}

    def leave(self) -> None:
        """It came back."""
        self.call = None

    def end(self, status: str) -> None:
        """The script ended; where a collective failed, what it was stays told."""
        self.status = FAILED if status == "failed" else ENDED
        self.write()

    def write(self) -> None:
        """Write where this rank stands."""
        with self.lock:
            content = self.describe()
            aside = self.folder / f"standing.rank{self.rank}.json.part"
            aside.write_text(json.dumps(content), encoding="utf-8")
            os.replace(aside, aside.with_suffix(""))  # noqa: PTH105

    def describe(self) -> dict[str, Any]:
        """Where this rank stands now."""
        call = self.call
        stand: dict[str, Any] = {"rank": self.rank, "status": self.status, "step": self.step, "now": time.time()}
        if call is not None:
            return {**stand, "status": WAITING if self.status == RUNNING else self.status, **call}
        frame = sys._current_frames().get(self.main or 0)
        return {**stand, "place": self.find_line(frame) if frame is not None else ""}

    def find_hang(self, stands: Mapping[int, Stand]) -> bool:
        """Whether this rank waits for one that will never come: all stand still, and one of its group elsewhere."""
        own = stands.get(self.rank)
        if own is None or own["status"] != WAITING or len(stands) < self.world_size:
            return False
        still = all(
            stand["status"] in (ENDED, FAILED)
            or (stand["status"] == WAITING and stand["now"] - stand["since"] >= PATIENCE_S)
            for stand in stands.values()
        )
        return still and any(not meets(own, stands[rank]) for rank in own["group"] if rank != self.rank)

    def _follow(self) -> None:
        written = 0.0
        while self.status == RUNNING:
            time.sleep(EVERY_S)
            call, now = self.call, time.time()
            waits = call is not None and now - call["since"] >= LONG_S
            if self.status != RUNNING or not (waits or now - written >= LONG_S):
                continue
            try:
                self.write()
                written = now
                if waits and self.kept_for is not call:
                    self.kept_for = call
                    self.keep()
                if waits and self.find_hang(self._read_all()):
                    self.write()
                    time.sleep(LEAVE_S)
                    os._exit(HUNG)
            except (OSError, ValueError, KeyError, RuntimeError):
                continue  # the disk is full, or a list grew while it was written: the next time

    def _read_all(self) -> dict[int, Stand]:
        stands: dict[int, Stand] = {}
        for path in self.folder.glob("standing.rank*.json"):
            content = json.loads(path.read_text(encoding="utf-8"))
            stands[int(content["rank"])] = content
        return stands


def meets(left: Stand, right: Stand) -> bool:
    """Whether two ranks stand in the same collective, or one in what the other sends."""
    if "op" not in right:
        return False
    if {left["op"], right["op"]} == {"send", "recv"}:
        return bool(left["peer"] == right["rank"] and right["peer"] == left["rank"])
    return all(left[key] == right[key] for key in ("op", "group", "number"))
