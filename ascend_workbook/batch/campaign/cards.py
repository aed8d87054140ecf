"""Devices and cards given out to runs: never one to two, also of other runners on this machine."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ascend_workbook.batch.fingerprint import versions_of
from ascend_workbook.batch.plan.model import Item
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import TIERS
from ascend_workbook.machine import device

#: Seconds between tries where a lock is waited for.
AGAIN_S = 0.1


def take_lock(path: Path, *, mode: int = 0o644) -> int | None:
    """Take a lock and return the descriptor that holds it until it and its copies in children are closed. None where
    another has it. The file stays, with `mode` whatever the umask is. Raises OSError where it cannot be made."""
    handle = _open_lock_file(path, mode)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return handle


def _open_lock_file(path: Path, mode: int) -> int:
    """Open the lock file, and create it only where it is not there. Linux opens no other user's file with O_CREAT in a
    folder of all users (fs.protected_regular of proc(5))."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileNotFoundError):
        return os.open(path, flags)
    try:
        handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:  # another made it in between
        return os.open(path, flags)
    os.fchmod(handle, mode)
    return handle


def wait_for_lock(path: Path, ends: Callable[[], object]) -> int | None:
    """Take a lock once it is free and return its descriptor; None where `ends` says so before."""
    handle = take_lock(path)
    while handle is None and not ends():
        time.sleep(AGAIN_S)
        handle = take_lock(path)
    return handle


def sign_lock(handle: int, text: str) -> None:
    """Write into the locked file who holds it."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode("utf-8"), 0)


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
        """Take `count` cards at once, or None: never some of them, so that no two runs wait for each other."""
        handles: dict[int, int] = {}
        for card in self.ids:
            if len(handles) < count:
                handle = take_lock(lock_folder() / f"{self.kind}-{card}.lock", mode=0o666)
                handles |= {} if handle is None else {card: handle}
        taken = Taken(tuple(handles), tuple(handles.values()))
        if len(handles) == count:
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
    """Return the cards of this machine: those that the environment shows, else the first `count`. Raises WorkbookError
    where it names them otherwise than by number: 0 may be a card that it does not show."""
    words = [word.strip() for word in os.environ.get(VISIBLE[kind], "").split(",")]
    if any(words) and not all(re.fullmatch(r"\d{1,4}", word, re.ASCII) for word in words):
        raise WorkbookError("plan.cards_by_name", name=VISIBLE[kind], value=os.environ[VISIBLE[kind]][:80])
    return tuple(dict.fromkeys(map(int, words))) if any(words) else tuple(range(count))


def make_visibility_variables(kind: str, ids: Sequence[int]) -> dict[str, str]:
    """Make the environment variables that show a run these cards and no other; empty for none."""
    return {VISIBLE[kind]: ",".join(map(str, ids))} if ids else {}


@dataclass(frozen=True)
class Here:
    """The device of a wish: `tier`, how many, and the versions that a result depends on."""

    tier: str
    count: int
    versions: dict[str, str]


def probe_device(device_name: str) -> Here:
    """Probe a device once; it takes seconds, as children import torch. Raises WorkbookError where it is not here."""
    device_here = _probe_once(device_name)
    if isinstance(device_here, WorkbookError):
        raise device_here
    return device_here


@cache
def _probe_once(device_name: str) -> Here | WorkbookError:
    try:
        found_device = device.find(device_name)
        return Here(found_device.tier, found_device.count, versions_of(found_device))
    except WorkbookError as error:
        return error


def requested_device(item: Item) -> str:
    """Return the device that the run asks for."""
    return item.parameters.get("device", "auto")


def is_lower_tier(tier: str, required: str) -> bool:
    """Return whether a tier is below the required one."""
    return bool(required) and TIERS.index(tier) > TIERS.index(required)


def cards_for(item: Item, here: Here, ids: tuple[int, ...]) -> Cards | None:
    """Return the cards from which a run is given its own, or None where it needs none. A simulated NPU is as many as
    one likes: it is shared unless the plan names `ids`."""
    kind = "npu" if here.tier.startswith("npu") else here.tier
    if item.cards == 0 or kind == "cpu" or (here.tier == "npu-simulated" and not ids):
        return None
    return Cards(kind, ids or find_visible_cards(kind, here.count))


def check_enough_cards(item: Item, cards: Cards) -> None:
    """Raise WorkbookError where a run needs more cards than there are."""
    if len(cards.ids) < item.cards:
        raise WorkbookError("plan.too_few_cards", run=item.name, wanted=item.cards, found=len(cards.ids))
