"""Choose among the fonts of this machine the one in which a chart writes Chinese."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.font_manager import FontEntry

#: Beginnings of the names of files that carry Chinese; matplotlib's own cache does not see fonts installed later.
FILES = (
    *("NotoSansCJK", "NotoSansSC", "SourceHanSans", "wqy-microhei", "wqy-zenhei", "msyh", "simhei", "PingFang", "Deng"),
)
FOLDERS = (
    *("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts"),
    *("/System/Library/Fonts", "C:/Windows/Fonts"),
)
REGULAR = 400
#: Weights so near to it are read as it: Medium, and WenQuanYi's only one, are 500.
NEARLY = 100
#: Families that draw Chinese as another region writes it; others are simplified Chinese or have all forms in one.
ELSEWHERE = re.compile(r"\b(?:JP|KR|TC|HK|TW|HC|J|K)\b")
MONOSPACED = re.compile(r"\b(?:Mono|HW)\b")


@lru_cache(maxsize=1)
def find_cjk_font() -> str | None:
    """Return the family name of an installed font that carries Chinese, or None: a regular, simplified face if any."""
    from matplotlib import font_manager

    faces: list[FontEntry] = []
    font_entries = font_manager.fontManager.ttflist
    for file in font_files():
        before = len(font_entries)
        font_manager.fontManager.addfont(str(file if sees_all_faces() else extract_simplified(file)))
        faces += font_entries[before:]
    if not faces:
        return None
    face = min(faces, key=_font_distance)
    if weight_of(face) != REGULAR:  # there is no regular one: it stands for it, so that matplotlib does not warn
        font_entries.append(replace(face, weight=REGULAR))
    return str(face.name)


def sees_all_faces() -> bool:
    """Return whether matplotlib reads every face of a collection: before 3.11 the first alone, Japanese in Noto's."""
    from matplotlib.font_manager import FontEntry

    return any(field.name == "index" for field in fields(FontEntry))


def font_files() -> Iterator[Path]:
    """Yield the files of FOLDERS whose names begin as one of FILES does."""
    for folder in FOLDERS:
        for file in sorted(Path(folder).expanduser().rglob("*.[to]t[fc]")):
            if file.name.startswith(FILES):
                yield file


def extract_simplified(file: Path) -> Path:
    """Return a file of its own of a collection's regular face for simplified Chinese, kept beside matplotlib's cache;
    the file itself where it has none, or where nothing can be written."""
    import matplotlib
    from fontTools.ttLib import TTCollection

    if file.suffix.lower() not in (".ttc", ".otc"):
        return file
    target = Path(matplotlib.get_cachedir()) / f"{file.stem}-SC{file.stat().st_size}.otf"
    if target.is_file():
        return target
    with TTCollection(str(file), lazy=True) as collection, suppress(OSError):
        for face in collection.fonts:
            name = str(face["name"].getDebugName(1))
            if name.endswith(" SC") and not MONOSPACED.search(name):
                if abs(face["OS/2"].usWeightClass - REGULAR) <= NEARLY:
                    part = target.with_suffix(f".{os.getpid()}")
                    face.save(str(part))
                    return part.replace(target)
                break
    return file


def weight_of(face: FontEntry) -> int:
    """Return the weight as a number: matplotlib has some by name."""
    from matplotlib.font_manager import weight_dict

    return face.weight if isinstance(face.weight, int) else weight_dict[face.weight]


def _font_distance(face: FontEntry) -> tuple[bool, bool, bool, bool, int]:
    """Return how far a face is from the one wanted: upright, regular, of the reader's region, proportional."""
    off, elsewhere = abs(weight_of(face) - REGULAR), bool(ELSEWHERE.search(face.name))
    return face.style != "normal", off > NEARLY, elsewhere, bool(MONOSPACED.search(face.name)), off
