"""What became of one run of a plan, kept in its folder so that a second start knows it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from helpers.storage import open_storage
from helpers.words import Scalar

#: How a run ended. GOOD and RED are its own verdict; of the others nothing vouches for it. EXPECTED is a red that the
#: plan knows of, LEFT_OUT one that this start was told to leave out.
GOOD, RED, DIED, STOPPED, NOT_RUN = "good", "red", "died", "stopped", "not_run"
TIMED_OUT, OUT_OF_MEMORY, EXPECTED, LEFT_OUT = "timed_out", "out_of_memory", "expected", "left_out"
FILE = "ended.json"


@dataclass(frozen=True)
class Ended:
    """`verdict` is a sentence of the catalogue or a text; `attempts` counts tries, `reused` says that an earlier start
    of the plan had ended it."""

    name: str
    state: str
    status: str
    verdict: Scalar = ""
    tier: str = ""
    simulated: bool = False
    seconds: float = 0.0
    attempts: int = 1
    reused: bool = False

    @property
    def red(self) -> bool:
        """Whether the night is red by it."""
        return self.state not in (GOOD, NOT_RUN, EXPECTED, LEFT_OUT)


def save(folder: Path, ended: Ended) -> None:
    """Whole or not at all."""
    open_storage(str(folder)).write_text(FILE, json.dumps(asdict(ended), ensure_ascii=False, indent=1))


def load(folder: Path) -> Ended | None:
    """What is kept in the folder; None where nothing whole is."""
    try:
        content: dict[str, Any] = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return Ended(**content)
    except (OSError, ValueError, TypeError):
        return None
