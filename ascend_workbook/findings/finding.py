"""What a rule found: a status, a code with its arguments, a place and, where it can be mended, the edits."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

from ascend_workbook.findings.sentence import LANGUAGES, REPLACED, Scalar, complete_arguments, hint, say

#: Keys of a finding in JSON that repeat what `place`, `args` and `key` say.
PLAIN = ("path", "line", "column", "class", "message", "remedy", "remark")


class Status(IntEnum):
    """From good to bad; the status of many is their `max`. NOTE is Good with a remark, and its word is Good's.
    NOT_LOOKED is not known to be clean."""

    GOOD = 0
    NOTE = 1
    NOT_LOOKED = 2
    LOOK = 3
    FIX = 4

    @property
    def json(self) -> str:
        """Return the word that JSON keeps, which is English."""
        return "Good" if self is Status.NOTE else self.name.capitalize().replace("_", " ")

    def word(self, lang: str | None = None) -> str:
        """Return the word that a reader sees."""
        return say(f"status.{Status.GOOD.name if self is Status.NOTE else self.name}", lang)

    @classmethod
    def from_json(cls, word: object, *, remark: bool = False) -> Status:
        """Return the status that JSON of ours keeps, also that of older versions. Raises KeyError for another word."""
        status = STATUS_OF_WORD[str(word)]
        return cls.NOTE if remark and status is cls.GOOD else status


#: The words of JSON, and those of reports before schema 2.
STATUS_OF_WORD = {
    **{status.json: status for status in reversed(Status)},
    **dict(zip(("OK", "NOTE", "SKIPPED", "WARN", "FAIL"), Status)),
}


@dataclass(frozen=True)
class Remarks:
    """Findings of a stage that are told in another way, by their rules' codes or their sentences' keys.

    `answers` are notes that a reader asked for, so they are listed like what is wrong. `summaries` are rules that sum
    a report up: its first line says their sentence, and only their next step is left to say. `asks` are notes whose
    next step a reader has to see.
    """

    answers: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where: a file, and in it a line and column, both counted from 1 (0 = the whole file)."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part)


@dataclass(frozen=True)
class Edit:
    """Replace the characters `start:end` of the file's text (offsets in code points) by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Finding:
    """One thing a rule has to say. `rule` is its code (ENV010), `key` the sentence (`ENV010.missing`).

    `weight` orders findings of equal status; the heaviest of the worst is the report's verdict.
    """

    rule: str
    status: Status
    key: str
    args: dict[str, Scalar] = field(default_factory=dict)
    place: Place | None = None
    weight: float = 0.0
    edits: tuple[Edit, ...] = ()

    def message(self, lang: str | None = None) -> str:
        return say(self.key, lang, **self.args)

    def hint(self, lang: str | None = None) -> str:
        return hint(self.key, lang, **self.args)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON keeps it; what a reader's script asks first stands plainly beside it (PLAIN)."""
        place = self.place or Place("")
        plain = {
            "path": place.path,
            "line": place.line,
            "column": place.column,
            "class": str(self.args.get("class", "")),
            "message": {lang: self.message(lang) for lang in LANGUAGES},
            "remedy": {lang: self.hint(lang) for lang in LANGUAGES},
            **({"remark": True} if self.status is Status.NOTE else {}),
        }
        return {**asdict(self), "status": self.status.json, **plain}

    @property
    def cause(self) -> dict[str, Any]:
        """Return what it says as JSON keeps a cause: {"key", "args", "place"}."""
        return {"key": self.key, "args": self.args, "place": asdict(self.place) if self.place else None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        place = Place(**data["place"]) if data.get("place") else None
        edits = tuple(Edit(**edit) for edit in data.get("edits", ()))
        fields = {name: value for name, value in data.items() if name not in PLAIN}
        key = REPLACED.get(data["key"], data["key"])
        args = complete_arguments(key, data.get("args", {}))
        status = Status.from_json(data["status"], remark=bool(data.get("remark")))
        return cls(**{**fields, "key": key, "args": args, "status": status, "place": place, "edits": edits})
