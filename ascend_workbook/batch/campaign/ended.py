"""What became of one run of a plan, and each try of it, kept in its folder, so that a second start knows it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.storage import open_storage

#: How a run ended. GOOD and RED are its own verdict; of the others nothing vouches for it. EXPECTED is a red that the
#: plan knows of, LEFT_OUT one that this start was told to leave out.
GOOD, RED, DIED, STOPPED, NOT_RUN = "good", "red", "died", "stopped", "not_run"
TIMED_OUT, OUT_OF_MEMORY, DISK_FULL = "timed_out", "out_of_memory", "disk_full"
EXPECTED, LEFT_OUT = "expected", "left_out"
#: Good by its own verdict, but not as its blessed reference.
DIFFERS = "differs"
#: The note of a run that is as its reference.
HELD = "plan.reference_same"
FILE = "ended.json"


@dataclass(frozen=True)
class Ended:
    """`verdict` is a sentence of the catalogue or a text; `attempts` counts tries, `reused` says that an earlier start
    of the plan had ended it. `key` is the hash of all that its result depends on; `peak_mb` the most memory its
    processes were seen to hold together (0: not measured); `cards` the NPUs or GPUs it had; `where` the machine;
    `notes` are sentences: what earlier tries ended with, what was dropped."""

    name: str
    state: str
    status: str
    verdict: Scalar = ""
    tier: str = ""
    simulated: bool = False
    seconds: float = 0.0
    attempts: int = 1
    reused: bool = False
    key: str = ""
    peak_mb: int = 0
    cards: tuple[int, ...] = ()
    where: str = ""
    notes: tuple[Scalar, ...] = ()

    @property
    def red(self) -> bool:
        """Return whether this run makes the night red."""
        return self.state not in (GOOD, NOT_RUN, EXPECTED, LEFT_OUT)


def save_ended(folder: Path, ended: Ended) -> None:
    """Save how a run ended, whole or not at all."""
    open_storage(str(folder)).write_text(FILE, json.dumps(asdict(ended), ensure_ascii=False, indent=1))


def load_ended(folder: Path) -> Ended | None:
    """Read how a run ended from its folder, or None where nothing whole is kept."""
    try:
        content: dict[str, object] = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return restore_ended(content)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def restore_ended(content: dict[str, Any]) -> Ended:
    """Restore an Ended from what `asdict` and JSON made of one. Raises TypeError or KeyError for other fields."""
    lists = {name: tuple(content.get(name) or ()) for name in ("cards", "notes")}
    return Ended(**{**content, **lists, "status": Status.from_json(content["status"]).json})


TRIES_FILE = "tries.jsonl"


@dataclass(frozen=True)
class Try:
    """One that began on the machine `where`, in the start `start` of the plan; `state` is how it ended, empty where
    nothing says so."""

    start: str
    where: str
    state: str = ""


def tries_since_end(folder: Path) -> list[Try]:
    """Return the tries since the run last ended. A line that was cut is the last thing a lost machine wrote."""
    tries: list[Try] = []
    path = folder / TRIES_FILE
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if "where" in line:
            tries.append(Try(line["start"], line["where"]))
        elif line.get("last"):
            tries = []
        elif tries:
            tries[-1] = Try(tries[-1].start, tries[-1].where, line["state"])
    return tries


def note_try(folder: Path, **line: object) -> None:
    """Note that a try starts (`start`, `where`), on the disk before it does, or how the one that began last ended
    (`state`; `last`: the run has ended with it). On a line of its own also behind one that was cut."""
    with (folder / TRIES_FILE).open("a+b") as stream:
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            cut = stream.read(1) != b"\n"
            stream.write(b"\n" if cut else b"")
        stream.write(json.dumps(line).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())
