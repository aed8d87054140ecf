"""What the program learns of modelled values: listed once a place, given where told, stopped where endless."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import NamedTuple

from .loops import loop_of
from .places import Place, is_printing, is_reading_for_itself, own_frames, place_of

#: How often a line may decide whether a loop goes on, on modelled values alone and without a step of an optimizer.
MOST_IN_LOOP = 200
#: The same for any line: a program that evaluates a large data set asks often, and comes to an end.
MOST_ANYWHERE = 100_000


class Assumption(NamedTuple):
    """A value for the reads at one place: `train.py:88=2.5`."""

    file: str
    line: int
    value: float

    def holds_at(self, place: Place) -> bool:
        """Return whether the place is meant: the whole path, or its end."""
        return place.line == self.line and (place.file == self.file or place.file.endswith(os.sep + self.file))


def read_assumptions(text: str) -> list[Assumption]:
    """Return the places' values out of ASCEND_WORKBOOK_SIM_ASSUME. Raises ValueError that says what was expected."""
    assumptions = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        place, equals, value = part.rpartition("=")
        if place == "rows":
            if not 0 <= _number(value, part) <= 1:
                raise ValueError(f"ASCEND_WORKBOOK_SIM_ASSUME: {part!r}: expected a share from 0 to 1")
            continue
        file, colon, line = place.rpartition(":")
        if not (equals and colon and file and line.isdecimal()):
            raise ValueError(f"ASCEND_WORKBOOK_SIM_ASSUME: {part!r}: expected FILE:LINE=VALUE or rows=SHARE")
        assumptions.append(Assumption(file, int(line), _number(value, part)))
    return assumptions


def _number(text: str, part: str) -> float:
    try:
        return float({"true": "1", "false": "0"}.get(text.strip().lower(), text))
    except ValueError:
        raise ValueError(f"ASCEND_WORKBOOK_SIM_ASSUME: {part!r}: {text!r} is no number") from None


class EndlessLoop(RuntimeError):
    """A loop that no modelled value ends."""


class Reads:
    """The reads of one process."""

    def __init__(self, file: str, assume: str) -> None:
        self._file = file
        self._assumptions = read_assumptions(assume)
        self._listed: set[tuple[Place, str]] = set()
        self._since_step: dict[Place, int] = {}
        self._lock = threading.Lock()

    def note(self, operator: str, dtype: str, sizes: list[int], value: float | None, sets_shape: bool) -> float | None:
        """Note one read; return what is assumed for it, None where nothing is. Raises EndlessLoop.

        Of what the launcher reads for itself, and the program never sees, nothing is noted."""
        if is_reading_for_itself():
            return None
        frames = own_frames()
        sets_shape = sets_shape and not is_printing()
        place = place_of(frames[0]) if frames else Place("<unknown>", 0)
        assumed = next((each.value for each in self._assumptions if each.holds_at(place)), None)
        shown = value if assumed is None else assumed
        with self._lock:
            if (place, operator) not in self._listed:
                self._listed.add((place, operator))
                self.write(
                    file=place.file,
                    line=place.line,
                    operator=operator,
                    value=shown,
                    dtype=dtype,
                    shape=sizes,
                    sets_shape=sets_shape,
                    assumed=assumed is not None,
                )
            self._since_step[place] = count = self._since_step.get(place, 0) + 1
        if count > MOST_IN_LOOP:
            self._check_loop([place_of(frame) for frame in frames], place, count, shown)
        return assumed

    def _check_loop(self, places: list[Place], place: Place, count: int, value: float | None) -> None:
        loop = next((line for line in map(loop_of, places) if line), 0)
        if loop or count > MOST_ANYWHERE:
            where = f"The loop at line {loop}" if loop else "The program"
            raise EndlessLoop(
                f"shapes only: {where} waits for a value that this run does not compute: {place} was read {count} "
                f"times as {'a stand-in' if value is None else f'{value:g}'} and no optimizer has stepped since. "
                f"Say what it should be: --assume {place}=VALUE"
            )

    def note_step(self) -> None:
        """Note that an optimizer has stepped: the program gets on."""
        self._since_step.clear()

    def write(self, **facts: object) -> None:
        """Append a line to the file, at once: a run that is ended keeps what it has read."""
        if self._file:
            with Path(self._file).open("a", encoding="utf-8") as out:
                out.write(json.dumps(facts) + "\n")
