"""What stands in for a file's content: texts, tokens, pictures, packed folders. Loaded by files.py, by path.

Imports nothing of the workbook.
"""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zipfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: This file's frames stand between the program and what it asks; whose line it is must not change by that.
PASSES_THROUGH = True
#: Names of single pictures end so.
PHOTOGRAPHS = (".jpg", ".jpeg", ".png", ".bmp", ".ppm")
#: Packed folders end so, texts so.
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")
PLAIN_TEXTS = (".txt", ".text", ".tokens", ".raw")
#: Texts without a suffix.
PLAIN = ("enwik8", "text8")
#: The size of a picture.
PICTURE = (256, 256)
#: The words of a made-up text and how many different ones there are; tokens of a made-up list and the largest.
WORDS, DIFFERENT, TOKENS, LARGEST = 400_000, 10_000, 1_000_000, 255


def make_picture(size: tuple[int, int]) -> Any:
    """Return a picture of a size, as pillow has it."""
    from PIL import Image

    return Image.new("RGB", size)


def make_archive(kind: str) -> bytes:
    """Return an archive of its kind that holds nothing: what the program misses of it then is made up by itself."""
    content = io.BytesIO()
    if kind.endswith(".zip"):
        zipfile.ZipFile(content, "w").close()
    else:
        tarfile.open(fileobj=content, mode="w" if kind.endswith(".tar") else "w:gz").close()
    return content.getvalue()


def make_content(path: Path) -> tuple[bytes, dict[str, object]]:
    """Return the bytes of a file of its kind, and what they are: a text, or tokens of 16 bits."""
    if path.suffix == ".bin":
        numbers = random.Random(0)
        tokens = array("H", (numbers.randint(0, LARGEST) for _ in range(TOKENS)))
        return tokens.tobytes(), {"tokens": TOKENS, "largest": LARGEST}
    text = "\n".join(make_lines()).encode() + b"\n"
    facts: dict[str, object] = {"words": WORDS, "different": DIFFERENT}
    if path.suffix == ".gz":  # enwik8 and its like are read by the hundred million bytes
        return gzip.compress(text * 40, compresslevel=1), {"words": WORDS * 40, "different": DIFFERENT}
    return text, facts


def make_lines() -> Iterator[str]:
    """Yield lines of words; few words are frequent, and every letter of English is there."""
    numbers = random.Random(0)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(numbers.choice(letters) for _ in range(numbers.randint(2, 9))) for _ in range(DIFFERENT)]
    weights = [1 / rank for rank in range(1, DIFFERENT + 1)]
    drawn = [*words, *numbers.choices(words, weights, k=WORDS - DIFFERENT)]
    for start in range(0, WORDS, 20):
        yield " ".join(drawn[start : start + 20]).capitalize() + numbers.choice(".,;:!?")
