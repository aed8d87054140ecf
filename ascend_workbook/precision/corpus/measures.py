"""What is measured of a text: its language, its signs, the pieces that repeat, its likeness to others."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]
#: Signs of a piece: of what repeats within a record; of near records; and of a test set, as GPT-4's report counts them.
REPEATED, NEAR, CONTAMINATED = 24, 9, 50
#: Of MinHash: bands of so many rows. Of two texts of which 0.8 of the pieces are common 77 in 100 pairs are seen, of
#: 0.9 99 in 100; what is seen is then counted.
BANDS, ROWS = 8, 8
#: A text of fewer signs has too few pieces to be near another.
SHORTEST_NEAR = 100
#: Signs by which a language is told.
LOOKED = 2000
FEWEST_LETTERS = 20
LETTER, DIGIT, SPACE, SYMBOL = range(4)
UNKNOWN = "?"
SCRIPTS = (
    (0x0370, 0x0400, "el"),
    (0x0400, 0x0530, "ru"),
    (0x0590, 0x0600, "he"),
    (0x0600, 0x0780, "ar"),
    (0x0900, 0x0980, "hi"),
    (0x0E00, 0x0E80, "th"),
    (0x1100, 0x1200, "ko"),
    (0x3040, 0x3100, "ja"),
    (0x3400, 0x4DC0, "zh"),
    (0x4E00, 0xA000, "zh"),
    (0xAC00, 0xD7B0, "ko"),
    (0xF900, 0xFB00, "zh"),
)
STOP_WORDS = {
    "en": "the of and to in is that it for was on are with as this be have not you at by from or an they which",
    "de": "der die und das ist nicht ein eine zu den mit von auf für dem sich des auch als wird sind oder werden",
    "fr": "le la les et des est une un du dans que qui pour pas sur au avec ce sont il elle nous vous par plus",
    "es": "el la los las de y en que es un una por con para no se del su como más pero al fue son este",
    "pt": "o a os as de e em que é um uma por com para não se do da no na mais como mas foi são ao",
    "it": "il lo la gli di e che è un una per con non si del della nel sono come più ma anche al da",
    "nl": "de het een en van is dat niet in op te zijn met voor die aan er ook als maar om bij wordt",
}
LANGUAGES = (UNKNOWN, *STOP_WORDS, *dict.fromkeys(name for _, _, name in SCRIPTS))
WORD = re.compile(r"[^\W\d_]+")
TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]*(?:\s[^<>]{0,200})?/?>|&(?:nbsp|amp|lt|gt|quot);")
LINK = re.compile(r"(?:https?://|www\.)[^\s<>\"']+")
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@cache
def _classes() -> NDArray[np.uint8]:
    """Return the class of each sign of the basic plane."""
    of_category = {"L": LETTER, "M": LETTER, "N": DIGIT, "Z": SPACE, "C": SPACE}
    kinds = (of_category.get(unicodedata.category(chr(code))[0], SYMBOL) for code in range(0x10000))
    return np.fromiter(kinds, np.uint8, 0x10000)


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    return {name: frozenset(words.split()) for name, words in STOP_WORDS.items()}


def code_points(text: str) -> NDArray[np.uint32]:
    """Return the text's signs as numbers."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def symbol_share(codes: NDArray[np.uint32]) -> float:
    """Return which share of the signs that are no blanks is neither letter nor digit."""
    if not codes.size:
        return 0.0
    plain = _classes()[np.minimum(codes, 0xFFFF)]
    plain = np.where((codes >= 0x1F000) & (codes < 0x20000), SYMBOL, np.where(codes > 0xFFFF, LETTER, plain))
    seen = int((plain != SPACE).sum())
    return float((plain == SYMBOL).sum()) / seen if seen else 0.0


def markup_share(text: str) -> float:
    """Return which share of the text is tags of HTML and links."""
    if "<" not in text and "&" not in text and "http" not in text and "www." not in text:
        return 0.0
    signs = sum(len(match.group()) for pattern in (TAG, LINK) for match in pattern.finditer(text))
    return min(1.0, signs / max(1, len(text)))


def find_language(text: str) -> str:
    """Return the language by its script, of Latin letters by their commonest words; UNKNOWN where neither tells."""
    text = LINK.sub(" ", TAG.sub(" ", text[:LOOKED]))
    codes = code_points(text)
    letters = int(((codes < 0x10000) & (_classes()[np.minimum(codes, 0xFFFF)] == LETTER)).sum())
    if letters < FEWEST_LETTERS and not (codes >= 0x3040).sum() * 2 >= FEWEST_LETTERS // 2:
        return UNKNOWN
    counts: dict[str, int] = {}
    if codes.max(initial=0) >= SCRIPTS[0][0]:
        for first, last, name in SCRIPTS:
            counts[name] = counts.get(name, 0) + int(((codes >= first) & (codes < last)).sum())
    if counts.get("ja", 0) * 20 > counts.get("zh", 0) > 0:  # Japanese has both
        counts["ja"] += counts.pop("zh")
    if counts and max(counts.values()) * 4 >= letters:
        return max(counts, key=lambda name: counts[name])
    words = WORD.findall(text.lower())
    hits = {name: sum(map(listed.__contains__, words)) for name, listed in _stop_words().items()}
    best = max(hits, key=lambda name: hits[name])
    others = max(count for name, count in hits.items() if name != best)
    return best if hits[best] >= max(2, len(words) // 12) and hits[best] > others else UNKNOWN


def normalise(text: str) -> str:
    """Return the text in lower case and one form of each sign, blanks as one."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def bare_codes(text: str) -> NDArray[np.uint32]:
    """Return the letters and digits alone, as a test set is compared."""
    codes = code_points(unicodedata.normalize("NFKC", text).lower())
    return codes[_classes()[np.minimum(codes, 0xFFFF)] <= DIGIT]


def hash_text(text: str) -> int:
    """Return 64 bits of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def hash_pieces(codes: NDArray[np.uint32], width: int) -> Numbers:
    """Return a number for each run of `width` signs; none where the text is shorter."""
    count = codes.size - width + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    hashes = np.zeros(count, np.uint64)
    for at in range(width):
        hashes *= MULTIPLIER
        hashes += codes[at : at + count]
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(32)
    return hashes


def repeated_share(codes: NDArray[np.uint32]) -> float:
    """Return which share of the pieces stands in the record before already."""
    pieces = hash_pieces(codes, REPEATED)
    return 1.0 - np.unique(pieces).size / pieces.size if pieces.size >= REPEATED else 0.0


@cache
def _permutations() -> tuple[Numbers, Numbers]:
    random = np.random.default_rng(20261128)
    size = BANDS * ROWS
    odd = random.integers(0, 1 << 62, size, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return odd[:, None], random.integers(0, 1 << 62, size, dtype=np.uint64)[:, None]


def band_hashes(pieces: Numbers) -> Numbers:
    """Return a number a band: two texts that have one in common are candidates to be near each other."""
    factors, offsets = _permutations()
    lowest = np.full(BANDS * ROWS, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, pieces.size, 4096):
        part = pieces[None, start : start + 4096] * factors + offsets
        part ^= part >> np.uint64(31)
        np.minimum(lowest, part.min(axis=1), out=lowest)
    bands = np.zeros(BANDS, np.uint64)
    for row in lowest.reshape(BANDS, ROWS).T:
        bands = (bands ^ row) * MULTIPLIER
        bands ^= bands >> np.uint64(30)
    return bands


def sketch(pieces: Numbers, size: int = 256) -> Numbers:
    """Return the lowest numbers of a text's pieces."""
    return np.unique(pieces)[:size]


def likeness(first: Numbers, other: Numbers, size: int = 256) -> float:
    """Estimate from two sketches which share of the pieces of both is common; exact for short texts."""
    both = np.union1d(first, other)[:size]
    common = np.intersect1d(np.intersect1d(first, other, assume_unique=True), both, assume_unique=True)
    return float(common.size) / max(1, both.size)
