"""Every record measured once, in bounded memory; then which ones are the same as, or near to, an earlier one."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say
from ascend_workbook.precision.corpus import measures
from ascend_workbook.precision.corpus.reading import Record, open_bytes, read_records

#: What a record may be, in the order in which it is told; the first three are broken records.
ODDITIES = (
    *("encoding", "syntax", "field", "duplicate", "near", "language", "short", "long", "repeats", "symbols"),
    *("markup", "words", "test"),
)
BIT = {name: 1 << at for at, name in enumerate(ODDITIES)}
BROKEN = BIT["encoding"] | BIT["syntax"] | BIT["field"]
#: Records whose bands are kept (64 bytes each), and earlier ones whose pieces are (2 KiB each).
MOST_NEAR, MOST_SKETCHES = 6_000_000, 50_000
#: Pieces of a test set that are kept: of a larger one each second, third ... by their number.
MOST_TEST_PIECES = 16 << 20
TELL_EVERY = 100_000


@dataclass(frozen=True)
class Settings:
    """What counts as odd."""

    field: str = ""
    languages: tuple[str, ...] = ()
    shortest: int = 20
    longest: int = 100_000
    repeats: float = 0.3
    symbols: float = 0.3
    markup: float = 0.2
    near: float = 0.8


@dataclass
class Corpus:
    """What is kept of each record, in order: a few bytes each."""

    files: tuple[Path, ...]
    settings: Settings
    starts: list[int] = field(default_factory=list)
    flags: array[int] = field(default_factory=lambda: array("H"))
    hashes: array[int] = field(default_factory=lambda: array("Q"))
    lines: array[int] = field(default_factory=lambda: array("Q"))
    lengths: array[int] = field(default_factory=lambda: array("I"))
    languages: array[int] = field(default_factory=lambda: array("B"))
    near_places: array[int] = field(default_factory=lambda: array("Q"))
    bands: array[int] = field(default_factory=lambda: array("Q"))
    not_near: int = 0
    unverified: int = 0
    errors: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.flags)

    def place(self, at: int) -> tuple[Path, int]:
        """Return the file and line of a record."""
        number = int(np.searchsorted(self.starts, at, side="right")) - 1
        return self.files[number], self.lines[at]

    def oddities(self, at: int) -> list[str]:
        """Name what a record is."""
        return [name for name, bit in BIT.items() if self.flags[at] & bit]

    def counts(self) -> dict[str, int]:
        flags = np.frombuffer(self.flags, np.uint16) if len(self) else np.empty(0, np.uint16)
        return {name: int(((flags & bit) != 0).sum()) for name, bit in BIT.items()}

    def first_places(self, name: str, most: int = 3) -> list[str]:
        """Return where the first records of an oddity stand."""
        flags = np.frombuffer(self.flags, np.uint16)
        places = (self.place(int(at)) for at in np.flatnonzero(flags & BIT[name])[:most])
        return [f"{path}:{line}" for path, line in places]


class TestSet:
    """The pieces of a test set, and its short records whole."""

    __test__ = False

    def __init__(self, files: Sequence[Path], field_name: str) -> None:
        size = 0
        for path in files:
            with open_bytes(path) as file:
                while data := file.read(1 << 20):
                    size += len(data)
        self.every = np.uint64(max(1, -(-size // MOST_TEST_PIECES)))
        self.records = self.short = 0
        pieces: list[measures.Numbers] = [np.empty(0, np.uint64)]
        whole: set[int] = set()
        for path in files:
            for record in read_records(path, field_name):
                if record.broken:
                    continue
                self.records += 1
                codes = measures.bare_codes(record.text)
                if codes.size < measures.CONTAMINATED:
                    self.short += 1
                    whole.add(measures.hash_text(codes.tobytes().hex()))
                else:
                    pieces.append(self._choose(codes))
        self.pieces, self.whole = np.unique(np.concatenate(pieces)), frozenset(whole)

    def _choose(self, codes: NDArray[np.uint32]) -> measures.Numbers:
        pieces = measures.hash_pieces(codes, measures.CONTAMINATED)
        return pieces if self.every == 1 else pieces[pieces % self.every == 0]

    def holds(self, text: str) -> bool:
        """Return whether a text has a piece of the test set, or is a short record of it."""
        codes = measures.bare_codes(text)
        if codes.size < measures.CONTAMINATED:
            return bool(codes.size) and measures.hash_text(codes.tobytes().hex()) in self.whole
        if not self.pieces.size:
            return False
        pieces = self._choose(codes)
        at = np.minimum(np.searchsorted(self.pieces, pieces), self.pieces.size - 1)
        return bool((self.pieces[at] == pieces).any())


def read_words(path: Path) -> re.Pattern[str]:
    """Read forbidden words, one a line, as a pattern. Raises WorkbookError where there is none."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbookError("data.unreadable", path=str(path), error=str(error)) from error
    words = sorted({line.strip().lower() for line in lines if line.strip()}, key=len, reverse=True)
    if not words:
        raise WorkbookError("data.no_words", path=str(path))
    pieces = (rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in words)
    return re.compile("|".join(pieces))


def measure_corpus(
    files: Sequence[Path],
    settings: Settings,
    words: re.Pattern[str] | None = None,
    test: TestSet | None = None,
    progress: Callable[[str], None] | None = None,
) -> Corpus:
    """Measure every record of the files; a file that cannot be read is named and the others are."""
    corpus = Corpus(tuple(files), settings)
    for path in files:
        corpus.starts.append(len(corpus))
        try:
            for record in read_records(path, settings.field):
                _add_record(corpus, record, words, test)
                if progress and len(corpus) % TELL_EVERY == 0:
                    progress(say("data.told", None, records=len(corpus)))
        except WorkbookError as error:
            if error.key == "data.no_column" or (len(files) == 1 and not len(corpus)):
                raise
            corpus.errors[str(path)] = error.message()
    if corpus.errors and not len(corpus):
        raise WorkbookError("data.nothing", errors="; ".join(corpus.errors.values()))
    _flag_duplicates(corpus)
    return corpus


def _add_record(corpus: Corpus, record: Record, words: re.Pattern[str] | None, test: TestSet | None) -> None:
    at = len(corpus)
    corpus.lines.append(record.line)
    corpus.lengths.append(min(len(record.text), 0xFFFFFFFF))
    if record.broken:
        corpus.flags.append(BIT[record.broken])
        corpus.hashes.append(0)
        corpus.languages.append(0)
        return
    settings, text = corpus.settings, record.text
    plain = measures.normalise(text)
    codes = measures.code_points(plain)
    language = measures.find_language(text)
    odd = {
        "language": bool(settings.languages) and language != measures.UNKNOWN and language not in settings.languages,
        "short": len(text.strip()) < settings.shortest,
        "long": len(text) > settings.longest,
        "repeats": measures.repeated_share(codes) > settings.repeats,
        "symbols": measures.symbol_share(measures.code_points(text)) > settings.symbols,
        "markup": measures.markup_share(text) > settings.markup,
        "words": words is not None and words.search(text.lower()) is not None,
        "test": test is not None and test.holds(text),
    }
    corpus.flags.append(sum(BIT[name] for name, is_odd in odd.items() if is_odd))
    corpus.hashes.append(measures.hash_text(plain))
    corpus.languages.append(measures.LANGUAGES.index(language))
    if len(plain) >= measures.SHORTEST_NEAR:
        if len(corpus.near_places) >= MOST_NEAR:
            corpus.not_near += 1
            return
        corpus.near_places.append(at)
        corpus.bands.frombytes(measures.band_hashes(measures.hash_pieces(codes, measures.NEAR)).tobytes())


def _flag_duplicates(corpus: Corpus) -> None:
    """Flag each record whose text an earlier one has."""
    flags = np.frombuffer(corpus.flags, np.uint16).copy()
    whole = np.flatnonzero((flags & BROKEN) == 0)
    hashes = np.frombuffer(corpus.hashes, np.uint64)[whole]
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    flags[whole[order[1:][same]]] |= BIT["duplicate"]
    corpus.flags = array("H", flags.tobytes())


def find_leaders(corpus: Corpus) -> dict[int, int]:
    """Return candidates: a record -> the earliest record that it has a band in common with. Duplicates are none."""
    count = len(corpus.near_places)
    if not count:
        return {}
    bands = np.frombuffer(corpus.bands, np.uint64).reshape(count, measures.BANDS)
    leader = np.arange(count)
    for band in range(measures.BANDS):
        column = np.ascontiguousarray(bands[:, band])
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        sizes = np.diff(np.append(starts, count))
        firsts = np.repeat(order[starts], sizes)
        leader[order] = np.minimum(leader[order], firsts)
    places = np.frombuffer(corpus.near_places, np.uint64)
    flags = np.frombuffer(corpus.flags, np.uint16)
    led = np.flatnonzero(leader != np.arange(count))
    return {int(places[at]): int(places[leader[at]]) for at in led if not flags[int(places[at])] & BIT["duplicate"]}


def walk_again(corpus: Corpus, only: int | None = None) -> Iterator[tuple[int, Path, Record]]:
    """Yield the records once more with their numbers, as far as each file could be read; of one file where `only`."""
    for number, path in enumerate(corpus.files):
        if only is not None and number != only:
            continue
        at = corpus.starts[number]
        end = corpus.starts[number + 1] if number + 1 < len(corpus.starts) else len(corpus)
        try:
            for record in read_records(path, corpus.settings.field):
                if at >= end or record.line != corpus.lines[at]:
                    raise WorkbookError("data.changed", path=str(path))
                yield at, path, record
                at += 1
        except WorkbookError:
            if str(path) not in corpus.errors:
                raise


def flag_near(corpus: Corpus, progress: Callable[[str], None] | None = None) -> None:
    """Compare each candidate with the record that it is like, and flag it where enough of both is common."""
    leaders = find_leaders(corpus)
    if not leaders:
        return
    wanted, sketches = set(leaders.values()), dict[int, measures.Numbers]()
    if progress:
        progress(say("data.told_near", None, count=len(leaders)))
    for at, _, record in walk_again(corpus):
        if at not in wanted and at not in leaders:
            continue
        codes = measures.code_points(measures.normalise(record.text))
        own = measures.sketch(measures.hash_pieces(codes, measures.NEAR))
        if at in leaders:
            first = sketches.get(leaders[at])
            if first is None:
                corpus.unverified += 1
            elif measures.likeness(own, first) >= corpus.settings.near:
                corpus.flags[at] |= BIT["near"]
        if at in wanted and len(sketches) < MOST_SKETCHES:
            sketches[at] = own
