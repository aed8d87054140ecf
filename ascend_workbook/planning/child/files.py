"""A launch plugin: stand-ins for files and folders that are not on this machine.

    file      a text, tokens or a folder of pictures that the launch was told to make (configuration `files`); guessed
    pictures  pictures in a folder that a pattern names and that is not there (configuration `pictures`); guessed

A folder holds pictures, or folders of them, one a class (configuration `classes`); what a program then looks for
below it, by one of the usual names (train, val, images), is made when it is asked for. A file of weights is empty:
weights.py loads it. What is downloaded is made up by downloads.py.

What a program asks for and does not find is written down (asked.jsonl), for one that gives up often names no file.
Runs in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import glob
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

#: This file's frames stand between the program and what it asks; whose line it is must not change by that.
PASSES_THROUGH = True


def load_beside(name: str) -> Any:
    """Return the module of a file beside this one."""
    spec = importlib.util.spec_from_file_location(f"_workbook_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


contents, redirects, downloads = (load_beside(name) for name in ("contents", "redirects", "downloads"))
#: Pictures of a folder that is read by the program's own code, and how many classes it has.
FOUND, CLASSES = 64, 2
#: Names that parts of a set of pictures usually have.
PARTS = re.compile(
    r"(?:train|val|test|dev|eval|valid|image|img|jpe?g|png|photo|picture|mask|label|annotation|[ab]|hr|lr|input|target)"
    r"(?:s|ing|idation|\d{2,4})?(?:[_-]?(?:set|data|images|imgs|[ab]|hr|lr))?",
    re.IGNORECASE,
)
#: Questions for files that are kept.
MOST_QUESTIONS = 200
#: Files of weights end so.
WEIGHTS = (".pth", ".pt", ".ckpt", ".th", ".pth.tar")

_open, is_there, _stat, _mkdir = open, os.path.exists, os.stat, os.mkdir
#: Folders that pictures were made for, in full: where they lie, and whether classes are folders.
_pictured: dict[str, tuple[str, bool]] = {}


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for files that the program does not find from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    aside = Path(observer.out) / "stand_ins"
    redirects.own_folders.extend((Path(observer.out).resolve(), Path.cwd().resolve()))
    make_files(notes, config.get("files", ()), config.get("classes", ()), aside)
    questions = Questions(observer, Path(observer.out) / "asked.jsonl")
    downloads.contents, downloads.redirects = contents, redirects
    downloads.attach(observer, notes, aside, questions, config.get("offline", True))
    if _pictured:
        grow_folders()
    watch_questions(observer, questions)
    if config.get("pictures"):
        patch_searches(notes, aside)


def make_files(notes: Any, files: Sequence[str], classes: Sequence[str], aside: Path) -> None:
    """Make the files that a run before did not find; those outside of the run's own folder lie elsewhere."""
    for name in files:
        path = Path(name)
        if path.exists():
            continue
        if path.suffix.lower() in contents.PHOTOGRAPHS:
            with contextlib.suppress(OSError):
                redirects.refuse_outside(path)
                path.parent.mkdir(parents=True, exist_ok=True)
                contents.make_picture(contents.PICTURE).save(path)
                notes.add("picture", name, guessed=True, size=[*contents.PICTURE])
        elif name.lower().endswith(WEIGHTS):
            redirects.put_file(path, b"", aside)  # noted by who loads it
        elif not path.suffix and path.name not in contents.PLAIN:
            with contextlib.suppress(OSError):
                notes.add("folder", name, guessed=True, **put_pictures(path, aside, name in classes))
        else:
            content, facts = contents.make_content(path)
            redirects.put_file(path, content, aside)
            notes.add("file", name, guessed=True, **facts)


def make_folder(folder: Path, by_class: bool = False) -> dict[str, object]:
    """Put pictures into a folder, and return what they are. Raises OSError where it is not the run's own."""
    redirects.refuse_outside(folder)
    return _draw_pictures(folder, by_class)


def _draw_pictures(folder: Path, by_class: bool) -> dict[str, object]:
    picture, kinds = contents.make_picture(contents.PICTURE), CLASSES if by_class else 1
    for kind in range(kinds):
        place = folder / f"class{kind}" if by_class else folder
        os.makedirs(place, exist_ok=True)  # noqa: PTH103 - pathlib asks whether it is there, which makes it
        for number in range(FOUND):
            picture.save(place / f"picture_{number}.jpg")  # a class and a number, as many a script takes it apart
    return {"examples": FOUND * kinds, "size": [*contents.PICTURE], "classes": kinds}


def put_pictures(folder: Path, aside: Path, by_class: bool = False) -> dict[str, object]:
    """Put pictures into a folder of the run's own; for one outside of it aside, where it is then looked for."""
    full = os.path.abspath(folder)  # noqa: PTH100
    _pictured[full] = (full, by_class)
    try:
        return make_folder(folder, by_class)
    except OSError:
        other = redirects.put_aside(folder, aside)
        _pictured[full] = (str(other), by_class)
        return _draw_pictures(other, by_class)


def grow_folders() -> None:
    """Make what the program looks for below a made-up folder, by one of the usual names, when it is asked for."""
    growing: list[str] = []

    def grow(path: Any) -> None:
        if growing or not isinstance(path, (str, os.PathLike)) or not isinstance(name := os.fspath(path), str):
            return
        full = os.path.abspath(name)  # noqa: PTH100
        for folder, (place, by_class) in [*_pictured.items()]:
            part = full[len(folder) + 1 :]
            if not full.startswith(f"{folder}{os.sep}") or not all(map(PARTS.fullmatch, Path(part).parts)):
                continue
            growing.append(full)
            try:
                if not is_there(f"{place}/{part}"):
                    _draw_pictures(Path(place, part), by_class)
            finally:
                growing.clear()

    def wrap(ordinary: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(ordinary)
        def ask(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("dir_fd") is None:
                grow(path)
            return ordinary(path, *args, **kwargs)

        return ask

    for name in ("stat", "listdir", "scandir"):
        redirects.set_function(name, wrap(getattr(os, name)))


def patch_searches(notes: Any, aside: Path) -> None:
    """Let a search for pictures, or for whatever there is, find pictures where the folder that it looks through is not
    there. Any other search finds what it finds."""

    def fill(folder: Path, pattern: str) -> bool:
        """Make the folder where it is not there; return whether it holds made-up pictures that the pattern is for."""
        suffix = Path(pattern).suffix.lower()
        if suffix and not fnmatch.filter(contents.PHOTOGRAPHS, suffix):
            return False
        full = os.path.abspath(folder)  # noqa: PTH100
        if full not in _pictured and not folder.exists() and not any(letter in str(folder) for letter in "*?["):
            notes.add("pictures", pattern, guessed=True, **put_pictures(folder, aside))
        return full in _pictured

    ordinary_glob, ordinary_walk, ordinary_scan = glob.iglob, os.walk, Path.rglob

    @functools.wraps(ordinary_glob)
    def iglob(pathname: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(pathname, str) or kwargs.get("root_dir") is not None:
            return ordinary_glob(pathname, *args, **kwargs)
        folder = Path(pathname).parent
        filled = fill(folder, pathname)
        matches = [*ordinary_glob(pathname, *args, **kwargs)]
        return iter(matches) if matches or not filled else ordinary_glob(f"{folder}/*.jpg")

    @functools.wraps(ordinary_walk)
    def walk(top: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(top, (str, os.PathLike)) and isinstance(name := os.fspath(top), str):
            fill(Path(name), f"{name}/*")
        return ordinary_walk(top, *args, **kwargs)

    def search(ordinary: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(ordinary)
        def find(self: Path, pattern: Any, *args: Any, **kwargs: Any) -> Any:
            filled = fill(self, f"{self}/{pattern}")
            matches = [*ordinary(self, pattern, *args, **kwargs)]
            return iter(matches) if matches or not filled else ordinary_scan(self, "*.jpg")

        return find

    setattr(glob, "iglob", iglob)  # noqa: B010
    setattr(glob, "glob", lambda *args, **kwargs: [*iglob(*args, **kwargs)])  # noqa: B010
    setattr(os, "walk", walk)  # noqa: B010
    Path.glob, Path.rglob = search(Path.glob), search(Path.rglob)  # type: ignore[method-assign]


class Questions:
    """What the program asks for and does not find, each question once, a line of JSON each."""

    def __init__(self, observer: Any, path: Path) -> None:
        self._observer, self._path = observer, path
        self._asked: set[tuple[str, str, int]] = set()

    def write(self, name: Any, **facts: object) -> None:
        """Write down a question with the program's line."""
        entry = (str(name), *self._observer.find_caller())
        if entry not in self._asked and len(self._asked) < MOST_QUESTIONS:
            self._asked.add(entry)
            with _open(self._path, "a", encoding="utf-8") as out:
                out.write(json.dumps({**dict(zip(("name", "file", "line"), entry)), **facts}) + "\n")


def watch_questions(observer: Any, questions: Questions) -> None:
    """Write down which files the program asks for and does not find: one that gives up then often names none."""

    def concerns(name: str) -> bool:
        """Return whether the program asks, or a library for what its command names."""
        return is_argument(name) or not observer.is_library(observer.find_asker())

    def wrap(ordinary: Callable[..., bool]) -> Callable[..., bool]:
        @functools.wraps(ordinary)
        def ask(name: Any, **kwargs: Any) -> bool:
            there = ordinary(name, **kwargs)
            if not there and isinstance(name, (str, os.PathLike)) and concerns(os.fsdecode(name)):
                questions.write(name)
            return there

        return ask

    def wrap_search(ordinary: Callable[..., Any], find_folder: Callable[[str], str]) -> Callable[..., Any]:
        @functools.wraps(ordinary)
        def search(name: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(name, (str, os.PathLike)) and isinstance(text := os.fspath(name), str):
                folder = find_folder(text)
                if not is_there(folder) and concerns(folder):
                    questions.write(folder, searched=True)
            return ordinary(name, *args, **kwargs)

        return search

    for name in ("exists", "isfile", "isdir"):
        setattr(os.path, name, wrap(getattr(os.path, name)))
    for name in ("exists", "is_file", "is_dir"):
        setattr(Path, name, wrap(getattr(Path, name)))
    for owner, name, find_folder in SEARCHES:
        setattr(owner, name, wrap_search(getattr(owner, name), find_folder))


#: What looks through a folder: who has it, its name, and the folder of what it is given.
SEARCHES: tuple[tuple[Any, str, Callable[[str], str]], ...] = (
    (glob, "glob", os.path.dirname),
    (glob, "iglob", os.path.dirname),
    (os, "walk", str),
    (Path, "glob", str),
    (Path, "rglob", str),
)


def is_argument(folder: str) -> bool:
    """Return whether a folder is, or lies in, one that the program's command names."""
    return any(argument and f"{folder}/".startswith(f"{argument.rstrip('/')}/") for argument in sys.argv[1:])
