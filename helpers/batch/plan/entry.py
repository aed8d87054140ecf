"""A value of a plan together with where it stands, so that every mistake can be named by its line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from helpers.errors import WorkbookError
from helpers.words import Scalar

#: Shown of a wrong value at most; a name longer than this is not searched for its nearest.
LONGEST_SHOWN = 60
#: What is written for a known word that does not look like it.
MEANT = {"gpu": "cuda"}


@dataclass(frozen=True)
class Entry:
    """`value` is None, bool, int, float or str, a list of Entry, or a dict of them; `place` reads `matrix.steps[2]`,
    `line` counts from 1."""

    file: str
    place: str
    line: int
    value: Any

    def fail(self, key: str, **args: Scalar) -> WorkbookError:
        """The error `key` with the file, the place and the line filled in."""
        place: Scalar = self.place or {"say": "plan.top"}
        return WorkbookError(key, path=self.file, place=place, line=self.line, **args)

    def strange(self, name: str, known: Sequence[str]) -> WorkbookError:
        """It has, or is, a word that is not among the known ones: with the nearest, where one is near."""
        close = near(name, known)
        if close:
            return self.fail("plan.unknown", name=short(name), close=close, known=list(known))
        return self.fail("plan.strange", name=short(name), known=list(known))

    def wrong(self, wanted: str) -> WorkbookError:
        """It is not what is wanted: `wanted` is a key of the catalogue below `plan.want.`."""
        return self.fail("plan.shape", found=self.shown, wanted={"say": f"plan.want.{wanted}"})

    @property
    def shown(self) -> Scalar:
        """The value for a reader: a list and a mapping by what they are."""
        if isinstance(self.value, (list, dict)):
            return {"say": "plan.a_list" if isinstance(self.value, list) else "plan.a_mapping"}
        if self.value is None:
            return {"say": "plan.nothing"}
        text = short(written(self.value))
        return f'"{text}"' if isinstance(self.value, str) else text

    def mapping(self, known: Iterable[str] = ()) -> dict[str, Entry]:
        """The mapping; with `known`, a name that is not among them is refused, with the nearest."""
        if not isinstance(self.value, dict):
            raise self.wrong("mapping")
        names = sorted(known)
        for name, entry in self.value.items() if names else ():
            if name not in names:
                raise replace(self, line=entry.line).strange(name, names)
        found: dict[str, Entry] = self.value
        return found

    def items(self) -> list[Entry]:
        """The list; one of no entries is refused."""
        if not isinstance(self.value, list) or not self.value:
            raise self.wrong("list")
        found: list[Entry] = self.value
        return found

    def texts(self, known: Sequence[str] = ()) -> tuple[str, ...]:
        """One text or a list of them, none twice."""
        entries = self.items() if isinstance(self.value, list) else [self]
        found = [entry.choice(known) if known else entry.text() for entry in entries]
        for number, entry in enumerate(entries):
            if found[number] in found[:number]:
                raise entry.fail("plan.again", name=found[number])
        return tuple(found)

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.wrong("text")
        return self.value

    def choice(self, known: Sequence[str]) -> str:
        """One of the known words."""
        word = self.text()
        if word not in known:
            raise self.strange(word, known)
        return word

    def number(self, least: int, most: int) -> int:
        """A whole number within bounds; true and false are none."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value <= most:
            wanted: Scalar = {"say": "plan.want.number", "args": {"least": least, "most": most}}
            raise self.fail("plan.shape", found=self.shown, wanted=wanted)
        return self.value


def written(value: Any) -> str:
    """A plain value as a plan writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def short(text: str) -> str:
    """The text for a message: on one line, without marks that hide or turn it."""
    text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text[: LONGEST_SHOWN + 1])
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """The nearest known word, or all of them where none is near."""
    return near(name, known) or list(known)


def near(name: str, known: Sequence[str]) -> list[str]:
    """The nearest known word, where one is near."""
    meant = MEANT.get(name.lower())
    return [meant] if meant and meant in known else difflib.get_close_matches(name[:LONGEST_SHOWN], known, 1, 0.5)
