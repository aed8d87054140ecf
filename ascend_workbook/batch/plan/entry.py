"""A value of a plan together with where it stands, so that every mistake can be named by its line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence

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

    def make_error(self, key: str, **args: Scalar) -> WorkbookError:
        """Make the error `key` with the file, the place and the line filled in."""
        place: Scalar = self.place or Sentence("plan.top")
        return WorkbookError(key, path=self.file, place=place, line=self.line, **args)

    def unknown_word_error(self, name: str, words: Sequence[str]) -> WorkbookError:
        """Make the error for a word that is not among the known ones, with the nearest one where there is any."""
        close = nearest_words(name, words)
        if close:
            return self.make_error("plan.unknown", name=shorten_text(name), close=close, known=list(words))
        return self.make_error("plan.strange", name=shorten_text(name), known=list(words))

    def wrong_kind_error(self, expected: str) -> WorkbookError:
        """Make the error for a value of the wrong kind. `expected` is a key of the catalogue below `plan.want.`."""
        return self.make_error("plan.shape", found=self.display_value, wanted=Sentence(f"plan.want.{expected}"))

    @property
    def display_value(self) -> Scalar:
        """Return the value for a reader: a list and a mapping by what they are."""
        if isinstance(self.value, (list, dict)):
            return Sentence("plan.a_list" if isinstance(self.value, list) else "plan.a_mapping")
        if self.value is None:
            return Sentence("plan.nothing")
        text = shorten_text(format_value(self.value))
        return f'"{text}"' if isinstance(self.value, str) else text

    def read_mapping(self, words: Iterable[str] = ()) -> dict[str, Entry]:
        """Return the mapping; with `words`, refuse a name that is not among them."""
        if not isinstance(self.value, dict):
            raise self.wrong_kind_error("mapping")
        names = sorted(words)
        for name, entry in self.value.items() if names else ():
            if name not in names:
                raise replace(self, line=entry.line).unknown_word_error(name, names)
        entries: dict[str, Entry] = self.value
        return entries

    def read_items(self) -> list[Entry]:
        """Return the list; one without entries is refused."""
        if not isinstance(self.value, list) or not self.value:
            raise self.wrong_kind_error("list")
        entries: list[Entry] = self.value
        return entries

    def read_texts(self, words: Sequence[str] = ()) -> tuple[str, ...]:
        """Return one text or a list of them, none twice."""
        entries = self.read_items() if isinstance(self.value, list) else [self]
        texts = [entry.read_choice(words) if words else entry.read_text() for entry in entries]
        for number, entry in enumerate(entries):
            if texts[number] in texts[:number]:
                raise entry.make_error("plan.again", name=texts[number])
        return tuple(texts)

    def read_text(self) -> str:
        """Return a text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.wrong_kind_error("text")
        return self.value

    def read_choice(self, words: Sequence[str]) -> str:
        """Return one of the known words."""
        word = self.read_text()
        if word not in words:
            raise self.unknown_word_error(word, words)
        return word

    def read_number(self, least: int, most: int) -> int:
        """Return a whole number within bounds. true and false are none."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value <= most:
            expected: Scalar = Sentence("plan.want.number", least=least, most=most)
            raise self.make_error("plan.shape", found=self.display_value, wanted=expected)
        return self.value


def format_value(value: Any) -> str:
    """Format a plain value as a plan writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def shorten_text(text: str) -> str:
    """Shorten a text for a message: on one line, without marks that hide or turn it."""
    text = "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text[: LONGEST_SHOWN + 1]
    )
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def nearest_or_all(name: str, words: Sequence[str]) -> list[str]:
    """Return the nearest known word, or all of them where none is near."""
    return nearest_words(name, words) or list(words)


def nearest_words(name: str, words: Sequence[str]) -> list[str]:
    """Return the nearest known word, where one is near."""
    intended = MEANT.get(name.lower())
    return (
        [intended] if intended and intended in words else difflib.get_close_matches(name[:LONGEST_SHOWN], words, 1, 0.5)
    )
