"""Cards given out to runs: never one to two, also of other runners on this machine. Each has a lock file."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.batch.campaign.pool import locks
from ascend_workbook.findings.errors import WorkbookError

#: The variable that shows a run its cards, by torch's device type.
VISIBLE = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "cuda": "CUDA_VISIBLE_DEVICES"}
#: Where another folder than the machine's shall hold the lock files.
FOLDER = "ASCEND_WORKBOOK_CARDS"


@dataclass(frozen=True)
class Taken:
    """Cards that are held until `give_back`, or until the processes that have copies of `handles` ended."""

    ids: tuple[int, ...]
    handles: tuple[int, ...]

    def give_back(self) -> None:
        for handle in self.handles:
            os.close(handle)


NONE = Taken((), ())


@dataclass(frozen=True)
class Cards:
    """The cards `ids` of one kind (`npu`, `cuda`), in the order in which they are given out."""

    kind: str
    ids: tuple[int, ...]

    def take_cards(self, count: int) -> Taken | None:
        """Take `count` cards at once, or None. It never takes only some of them, so that two runs cannot wait for each
        other.
        """
        ids: list[int] = []
        handles: list[int] = []
        for card in self.ids:
            if len(ids) == count:
                break
            handle = locks.take_lock(lock_folder() / f"{self.kind}-{card}.lock", mode=0o666)
            if handle is not None:
                ids.append(card)
                handles.append(handle)
        taken = Taken(tuple(ids), tuple(handles))
        if len(ids) == count:
            return taken
        taken.give_back()
        return None


def lock_folder() -> Path:
    """Return the folder of this machine's card locks; all its users can write there."""
    place = Path(os.environ.get(FOLDER) or Path(tempfile.gettempdir(), "ascend-workbook-cards"))
    if not place.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError):  # another user's runner made it in between, with these bits
            place.chmod(0o1777)
    return place


def find_visible_cards(kind: str, count: int) -> tuple[int, ...]:
    """Return the cards of this machine: those that the environment shows, else the first `count`.

    Raises WorkbookError where it names them otherwise than by number: 0 may be a card that it does not show.
    """
    words = [word.strip() for word in os.environ.get(VISIBLE[kind], "").split(",")]
    if any(words) and not all(re.fullmatch(r"\d{1,4}", word, re.ASCII) for word in words):
        raise WorkbookError("plan.cards_by_name", name=VISIBLE[kind], value=os.environ[VISIBLE[kind]][:80])
    return tuple(dict.fromkeys(map(int, words))) if any(words) else tuple(range(count))


def make_visibility_variables(kind: str, ids: Sequence[int]) -> dict[str, str]:
    """Make the environment variables that show a run these cards and no other; empty for none."""
    return {VISIBLE[kind]: ",".join(map(str, ids))} if ids else {}
