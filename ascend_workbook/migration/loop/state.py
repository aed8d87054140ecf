"""What the loop has done so far, kept in the result so that a second call goes on where the first ended."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Place
from ascend_workbook.findings.sentence import Scalar, Sentence, restore_sentence
from ascend_workbook.migration.dry_run import judge
from ascend_workbook.redaction.exits import redact
from ascend_workbook.storage import write_file

NAME, VERSION = "migrate.json", 2
#: How a round ended: a side failed, its losses part from the baseline's, they agree, nothing could be compared; or
#: somebody edited the result.
FAILED, DIFFERS, AGREES, UNPROVEN, EDITED = "failed", "differs", "agrees", "unproven", "edited"


@dataclass(frozen=True)
class Round:
    """One run of a side: what came of it and, where it failed, its cause and what was done about it.

    `place` is in the user's own file. `cure` names the file of the cure, `reason` says what it did, `source` rests on
    what; `files` were changed by `commit`."""

    number: int
    side: str
    outcome: str
    seconds: float = 0.0
    cause: Scalar = ""
    place: Place | None = None
    code: str = ""
    signature: str = ""
    cure: str = ""
    reason: Scalar = ""
    source: str = ""
    commit: str = ""
    files: tuple[str, ...] = ()
    losses: dict[str, list[float | None]] = field(default_factory=dict)

    @property
    def compared(self) -> int:
        """Return in how many steps both sides have a loss."""
        pairs = judge.pair_losses(self.losses.get("baseline", []), self.losses.get("target", []))
        return sum(pair.error is not None for pair in pairs)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Round:
        place = data.get("place")
        restored = {name: restore_sentence(data[name]) for name in ("cause", "reason")}
        return cls(**{**data, **restored, "place": Place(**place) if place else None, "files": tuple(data["files"])})


@dataclass
class State:
    """`source` says what the result was made of and how. `stage` is original, then rewritten; `tip` the commit of the
    result when this was written, `writing` whether more was about to be. `by_hand`: places that the rewrite left to a
    person; `head`: the commit that trained and agreed, with what it was `asked`: arguments, steps, devices."""

    source: dict[str, str]
    stage: str = "original"
    tip: str = ""
    writing: bool = False
    rounds: list[Round] = field(default_factory=list)
    rewritten: list[dict[str, Any]] = field(default_factory=list)
    left: dict[str, list[str]] = field(default_factory=dict)
    by_hand: list[Place] = field(default_factory=list)
    head: str = ""
    asked: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write it into a folder, whole or not at all."""
        content = {"version": VERSION, **asdict(self)}
        write_file(folder / NAME, json.dumps(content, ensure_ascii=False, indent=1))


def load_state(folder: Path) -> State | None:
    """Load what an earlier call kept; None where there was none. Raises WorkbookError where it cannot be read."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("version") != VERSION:
            raise ValueError("version")
        rounds = [Round.from_dict(entry) for entry in content.pop("rounds")]
        by_hand = [Place(**place) for place in content.pop("by_hand")]
        return State(rounds=rounds, by_hand=by_hand, **content)
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("loop.no_state", path=str(path), error=str(cause)) from cause


@contextmanager
def hold_alone(folder: Path) -> Iterator[None]:
    """Let no second call work on the same result. Raises WorkbookError where one does."""
    with (folder / "lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as cause:
            raise WorkbookError("loop.busy", path=str(folder.parents[1])) from cause
        yield


def describe_cause(kind: str, message: str) -> Scalar:
    """Say an error as a cause; what is cut has no credential any more, of which a part would stay."""
    shown = redact(message)[:300]
    return Sentence("loop.error", kind=kind, message=shown) if kind else shown
