"""A launch plugin: stand-ins for files and folders that are not on this machine.

    file      a text, tokens or a folder of pictures that the launch was told to make (configuration `files`); guessed
    pictures  pictures in a folder that a pattern names and that is not there (configuration `pictures`); guessed
    download  a text that the program downloads itself; guessed
    archive   a packed folder that it downloads: it holds nothing, and what is missed of it is made up; guessed

What a program asks for and does not find is written down (asked.jsonl), for one that gives up often names no file.
Runs in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import glob
import gzip
import io
import json
import os
import random
import sys
import tarfile
import urllib.request
import zipfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

#: This file's frames stand between the program and what it asks; whose line it is must not change by that.
PASSES_THROUGH = True
#: Pictures of a folder that is read by the program's own code, and their size.
FOUND, PICTURE = 64, (256, 256)
#: Questions for files that are kept.
MOST_QUESTIONS = 200
#: Names of single pictures end so.
PHOTOGRAPHS = (".jpg", ".jpeg", ".png", ".bmp", ".ppm")
#: Packed folders end so.
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")
#: Texts without a suffix.
PLAIN = ("enwik8", "text8")
#: The words of a made-up text and how many different ones there are; tokens of a made-up list and the largest.
WORDS, DIFFERENT, TOKENS, LARGEST = 400_000, 10_000, 1_000_000, 255

_open = builtins.open
#: Where stand-ins may lie: the launch's folder with the copy of the program's, and where that copy runs.
_own_folders: list[Path] = []
#: Files that the program names outside of those, and where their stand-ins lie.
_moved: dict[str, str] = {}


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for files that the program does not find from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    aside = Path(observer.out) / "stand_ins"
    _own_folders.extend((Path(observer.out).resolve(), Path.cwd().resolve()))
    make_files(notes, config.get("files", ()), aside)
    patch_downloads(observer, notes, aside)
    watch_questions(observer, Path(observer.out) / "asked.jsonl")
    if config.get("pictures"):
        patch_glob(notes, aside)


def make_picture(size: tuple[int, int]) -> Any:
    """Return a picture of a size, as pillow has it."""
    from PIL import Image

    return Image.new("RGB", size)


def make_files(notes: Any, files: Sequence[str], aside: Path) -> None:
    """Make the files that a run before did not find; those outside of the run's own folder lie elsewhere."""
    for name in files:
        path = Path(name)
        if path.exists():
            continue
        if path.suffix.lower() in PHOTOGRAPHS:
            with contextlib.suppress(OSError):
                refuse_outside(path)
                path.parent.mkdir(parents=True, exist_ok=True)
                make_picture(PICTURE).save(path)
                notes.add("picture", name, guessed=True, size=[*PICTURE])
            continue
        if not path.suffix and path.name not in PLAIN:
            with contextlib.suppress(OSError):
                notes.add("folder", name, guessed=True, **make_folder(path))
            continue
        content, facts = make_content(path)
        put_file(path, content, aside)
        notes.add("file", name, guessed=True, **facts)


def put_file(path: Path, content: bytes, aside: Path) -> None:
    """Write a stand-in to the run's own folder; what lies outside of it lies aside, and is opened there."""
    try:
        refuse_outside(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError:
        aside.mkdir(parents=True, exist_ok=True)
        other = aside / f"{len(_moved)}{path.suffix}"
        other.write_bytes(content)
        if not _moved:
            redirect_files()
        _moved[os.path.normpath(path)] = str(other)


def refuse_outside(path: Path) -> None:
    """Raise PermissionError for a path outside of the run's own folders: nothing of ours is put into a user's, even
    where no enclosure would stop it, nor behind a link."""
    if not any(folder in path.resolve().parents for folder in _own_folders):
        raise PermissionError(f"{path} is outside of the run's folders")


def make_folder(folder: Path) -> dict[str, object]:
    """Put pictures into a folder, and return what they are. Raises OSError where it is not the run's own."""
    refuse_outside(folder)
    return _draw_pictures(folder)


def _draw_pictures(folder: Path) -> dict[str, object]:
    folder.mkdir(parents=True, exist_ok=True)
    picture = make_picture(PICTURE)
    for number in range(FOUND):
        picture.save(folder / f"picture_{number}.jpg")  # a class and a number, as many a script takes it apart
    return {"examples": FOUND, "size": [*PICTURE], "classes": 1}


def patch_glob(notes: Any, aside: Path) -> None:
    """Let a pattern find pictures, where the folder that it names is not there."""
    ordinary = glob.glob

    @functools.wraps(ordinary)
    def find(pattern: Any, *args: Any, **kwargs: Any) -> Any:
        files = ordinary(pattern, *args, **kwargs)
        folder = Path(os.fspath(pattern)).parent
        if files or folder.exists() or any(letter in str(folder) for letter in "*?["):
            return files
        try:
            facts = make_folder(folder)
        except OSError:
            folder = aside / str(folder).replace(os.sep, "_")
            facts = _draw_pictures(folder)
        notes.add("pictures", os.fspath(pattern), guessed=True, **facts)
        return ordinary(str(folder / Path(os.fspath(pattern)).name)) or ordinary(str(folder / "*.jpg"))

    glob.glob = find  # type: ignore[assignment]


def patch_downloads(observer: Any, notes: Any, aside: Path) -> None:
    """Give the program a text where it downloads one itself and cannot."""

    def stand_in(url: Any, problem: OSError, through: str = "") -> bytes:
        name = str(getattr(url, "full_url", url))
        kind = name.split("?")[0].lower()
        by_library = observer.is_library(find_asker_outside(through) if through else observer.find_asker())
        if kind.endswith(ARCHIVES) and not by_library:
            notes.add("archive", name, guessed=True)
            return make_archive(kind)
        if not kind.endswith(".txt") or by_library:
            raise problem
        content, facts = make_content(Path("text.txt"))
        notes.add("download", name, guessed=True, **facts)
        return content

    ordinary_open, ordinary_fetch = urllib.request.urlopen, urllib.request.urlretrieve

    @functools.wraps(ordinary_open)
    def urlopen(url: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary_open(url, *args, **kwargs)
        except OSError as problem:
            return io.BytesIO(stand_in(url, problem))

    @functools.wraps(ordinary_fetch)
    def urlretrieve(url: str, filename: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary_fetch(url, filename, *args, **kwargs)
        except OSError as problem:
            content = stand_in(url, problem)
            target = filename or "text.txt"
            put_file(Path(target), content, aside)
            return target, None

    def patch_requests(module: Any) -> None:
        ordinary_get = module.get

        @functools.wraps(ordinary_get)
        def get(url: str, *args: Any, **kwargs: Any) -> Any:
            try:
                return ordinary_get(url, *args, **kwargs)
            except OSError as problem:
                response = module.Response()
                response._content, response.status_code, response.encoding = stand_in(url, problem), 200, "utf-8"
                return response

        module.get = get

    def patch_fsspec(module: Any) -> None:
        ordinary_find = module.HTTPFileSystem._open

        @functools.wraps(ordinary_find)
        def _open(self: Any, path: str, *args: Any, **kwargs: Any) -> Any:
            try:
                return ordinary_find(self, path, *args, **kwargs)
            except OSError as problem:
                return io.BytesIO(stand_in(path, problem, through="fsspec"))

        module.HTTPFileSystem._open = _open

    urllib.request.urlopen, urllib.request.urlretrieve = urlopen, urlretrieve
    observer.after_import({"requests": patch_requests, "fsspec.implementations.http": patch_fsspec})


def find_asker_outside(package: str) -> str:
    """Return the file of the innermost frame that is neither this plugin's nor of the package's."""
    frame = sys._getframe(1)
    while frame is not None:
        top = frame.f_globals.get("__name__", "").partition(".")[0]
        if not frame.f_globals.get("PASSES_THROUGH") and top != package:
            return frame.f_code.co_filename
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def make_archive(kind: str) -> bytes:
    """Return an archive of its kind that holds nothing: what the program misses of it then is made up by itself."""
    content = io.BytesIO()
    if kind.endswith(".zip"):
        zipfile.ZipFile(content, "w").close()
    else:
        tarfile.open(fileobj=content, mode="w" if kind.endswith(".tar") else "w:gz").close()
    return content.getvalue()


def redirect_files() -> None:
    """Open the stand-ins of files that the program names outside of the run's folders."""

    def find_other(file: Any) -> Any:
        return _moved.get(os.path.normpath(file), file) if isinstance(file, (str, os.PathLike)) else file

    def wrap(ordinary: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(ordinary)(lambda file, *args, **kwargs: ordinary(find_other(file), *args, **kwargs))

    builtins.open = io.open = wrap(builtins.open)
    for name in ("exists", "isfile", "getsize"):
        setattr(os.path, name, wrap(getattr(os.path, name)))


def watch_questions(observer: Any, path: Path) -> None:
    """Write down which files the program asks for and does not find: one that gives up then often names none."""
    asked: set[tuple[str, str, int]] = set()

    def wrap(ordinary: Callable[..., bool]) -> Callable[..., bool]:
        @functools.wraps(ordinary)
        def ask(name: Any, **kwargs: Any) -> bool:
            there = ordinary(name, **kwargs)
            if there or len(asked) >= MOST_QUESTIONS or not isinstance(name, (str, os.PathLike)):
                return there
            entry = (str(name), *observer.find_caller())
            if entry not in asked and not observer.is_library(observer.find_asker()):
                asked.add(entry)
                with _open(path, "a", encoding="utf-8") as out:
                    out.write(json.dumps(dict(zip(("name", "file", "line"), entry))) + "\n")
            return there

        return ask

    for name in ("exists", "isfile", "isdir"):
        setattr(os.path, name, wrap(getattr(os.path, name)))
    for name in ("exists", "is_file", "is_dir"):
        setattr(Path, name, wrap(getattr(Path, name)))


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
