"""A launch plugin: stand-ins for files and folders that are not on this machine.

    file      a text, tokens or a folder of pictures that the launch was told to make (configuration `files`); guessed
    pictures  pictures in a folder that a pattern names and that is not there (configuration `pictures`); guessed
    download  a text or a picture that the program downloads, itself, by a library or by wget or curl; guessed
    archive   a packed folder that it downloads: it holds nothing, and what is missed of it is made up; guessed

What a program asks for and does not find is written down (asked.jsonl), for one that gives up often names no file.
Runs in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

import builtins
import contextlib
import fnmatch
import functools
import glob
import gzip
import io
import itertools
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from email.message import Message
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
#: Packed folders end so, texts so.
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")
PLAIN_TEXTS = (".txt", ".text", ".tokens", ".raw")
#: Packages whose data and weights are made up elsewhere, where a download fails: they hear that it did.
ANSWERED = frozenset(
    {
        *("torch", "torchvision", "torchaudio", "torch_geometric", "timm", "tiktoken", "huggingface_hub"),
        *("transformers", "datasets", "diffusers", "evaluate", "sentence_transformers"),
    }
)
#: Modules that download for whoever asks them, without more.
CARRIERS = ("requests", "urllib", "fsspec", "torch.hub", "torchvision.datasets.utils")
#: Texts without a suffix.
PLAIN = ("enwik8", "text8")
#: The words of a made-up text and how many different ones there are; tokens of a made-up list and the largest.
WORDS, DIFFERENT, TOKENS, LARGEST = 400_000, 10_000, 1_000_000, 255

_open, is_there = builtins.open, os.path.exists
#: Where stand-ins may lie: the launch's folder with the copy of the program's, and where that copy runs.
_own_folders: list[Path] = []
#: The last parts of addresses that something stood in for: nobody knows its checksum.
_downloaded: set[str] = set()
#: Where files are kept that the program would write outside of its own folders, once a download was made up.
_asides: list[Path] = []
#: Files that the program names outside of those, in full, and where their stand-ins lie; numbers for their names.
_moved: dict[str, str] = {}
_numbers = itertools.count()
#: Folders that pictures were made for, in full.
_pictured: set[str] = set()


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for files that the program does not find from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    aside = Path(observer.out) / "stand_ins"
    _own_folders.extend((Path(observer.out).resolve(), Path.cwd().resolve()))
    make_files(notes, config.get("files", ()), aside)
    patch_downloads(observer, notes, aside)
    if config.get("offline", True):
        patch_commands(notes, aside)
    watch_questions(observer, Path(observer.out) / "asked.jsonl")
    if config.get("pictures"):
        patch_searches(notes, aside)


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
                notes.add("folder", name, guessed=True, **put_pictures(path, aside))
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
        put_aside(path, aside).write_bytes(content)


def put_aside(path: Path, aside: Path) -> Path:
    """Let a file that the program names be one that lies aside; return which."""
    aside.mkdir(parents=True, exist_ok=True)
    other = aside.resolve() / f"{next(_numbers)}{path.suffix}"
    redirect(path, other)
    return other


def is_outside(path: Path) -> bool:
    """Return whether a path is outside of the run's own folders, or leads there by a link."""
    return not any(folder in path.resolve().parents for folder in _own_folders)


def refuse_outside(path: Path) -> None:
    """Raise PermissionError for a path outside of the run's own folders: nothing of ours is put into a user's, even
    where no enclosure would stop it."""
    if is_outside(path):
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


def patch_searches(notes: Any, aside: Path) -> None:
    """Let a search for pictures, or for whatever there is, find pictures where the folder that it looks through is not
    there. Any other search finds what it finds."""

    def fill(folder: Path, pattern: str) -> bool:
        """Make the folder where it is not there; return whether it holds made-up pictures that the pattern is for."""
        suffix = Path(pattern).suffix.lower()
        if suffix and not fnmatch.filter(PHOTOGRAPHS, suffix):
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


def put_pictures(folder: Path, aside: Path) -> dict[str, object]:
    """Put pictures into a folder of the run's own; for one outside of it aside, where it is then looked for."""
    _pictured.add(os.path.abspath(folder))  # noqa: PTH100
    try:
        return make_folder(folder)
    except OSError:
        return _draw_pictures(put_aside(folder, aside))


class Answer(io.BytesIO):
    """What a host would have answered."""

    status = code = 200

    def __init__(self, url: str, content: bytes) -> None:
        super().__init__(content)
        self.url, self.length, self.headers = url, len(content), Message()
        self.headers["Content-Length"] = str(len(content))

    def info(self) -> Message:
        return self.headers

    def geturl(self) -> str:
        return self.url

    def getcode(self) -> int:
        return self.status


def make_download(notes: Any, url: str) -> bytes | None:
    """Return what stands in for an address, written down; None where its kind cannot be made up."""
    path = url.split("?")[0].split("#")[0].lower()
    name = path.rpartition("/")[2]
    suffix = Path(name.removesuffix(".gz")).suffix
    if name.endswith(ARCHIVES):
        notes.add("archive", url, guessed=True)
        content = make_archive(name)
    elif suffix in PLAIN_TEXTS or name.removesuffix(".gz") in PLAIN:
        content, facts = make_content(Path("text.gz" if name.endswith(".gz") else "text.txt"))
        notes.add("download", url, guessed=True, **facts)
    elif suffix in PHOTOGRAPHS and not name.endswith(".gz"):
        packed = io.BytesIO()
        make_picture(PICTURE).save(packed, "JPEG")
        notes.add("picture", url, guessed=True, size=[*PICTURE])
        content = packed.getvalue()
    else:
        return None
    _downloaded.add(name)
    return content


def patch_downloads(observer: Any, notes: Any, aside: Path) -> None:
    """Give the program a text, a picture or an empty archive where it downloads one and cannot."""

    retrieving: list[str] = []

    def stand_in(url: Any, problem: OSError) -> bytes:
        content = None if retrieving or find_asking_package() in ANSWERED else make_download(notes, str(url))
        if content is None:
            raise problem
        keep_writes(aside)
        return content

    ordinary_open, ordinary_fetch = urllib.request.urlopen, urllib.request.urlretrieve

    @functools.wraps(ordinary_open)
    def urlopen(url: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary_open(url, *args, **kwargs)
        except OSError as problem:
            address = str(getattr(url, "full_url", url))
            return Answer(address, stand_in(address, problem))

    @functools.wraps(ordinary_fetch)
    def urlretrieve(url: str, filename: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            retrieving.append(url)  # what it opens in turn it would write where it is told
            try:
                return ordinary_fetch(url, filename, *args, **kwargs)
            finally:
                retrieving.pop()
        except OSError as problem:
            content = stand_in(url, problem)
            target = filename or "text.txt"
            put_file(Path(target), content, aside)
            return target, Answer(url, content).headers

    def patch_requests(module: Any) -> None:
        ordinary_request = module.Session.request

        @functools.wraps(ordinary_request)
        def request(self: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
            try:
                return ordinary_request(self, method, url, *args, **kwargs)
            except OSError as problem:
                response = module.Response()
                response._content = stand_in(url, problem)
                response.status_code, response.encoding, response.url = 200, "utf-8", str(url)
                response.headers["content-length"] = str(len(response.content))
                return response

        module.Session.request = request

    def patch_fsspec(module: Any) -> None:
        ordinary_find = module.HTTPFileSystem._open

        @functools.wraps(ordinary_find)
        def _open(self: Any, path: str, *args: Any, **kwargs: Any) -> Any:
            try:
                return ordinary_find(self, path, *args, **kwargs)
            except OSError as problem:
                return Answer(path, stand_in(path, problem))

        module.HTTPFileSystem._open = _open

    urllib.request.urlopen, urllib.request.urlretrieve = urlopen, urlretrieve
    observer.after_import(
        {
            "requests": patch_requests,
            "fsspec.implementations.http": patch_fsspec,
            "torchvision.datasets.utils": trust_downloads,
        }
    )


def trust_downloads(module: Any) -> None:
    """Let torchvision pass a file that something stood in for, though its checksum is another."""
    ordinary = module.check_integrity

    @functools.wraps(ordinary)
    def check_integrity(fpath: Any, md5: str | None = None) -> bool:
        return bool(ordinary(fpath, None if os.path.basename(fpath).lower() in _downloaded else md5))  # noqa: PTH119

    module.check_integrity = check_integrity


def find_asking_package() -> str:
    """Return the package of the innermost frame that is neither a plugin's nor of what downloads for others."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        carries = any(f"{name}.".startswith(f"{carrier}.") for carrier in CARRIERS)
        if not frame.f_globals.get("PASSES_THROUGH") and not carries:
            return str(name).partition(".")[0]
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def patch_commands(notes: Any, aside: Path) -> None:
    """Let wget and curl, which reach nobody, give what they are asked for."""
    ordinary_system, ordinary_popen = os.system, subprocess.Popen

    def replace(command: Any, folder: Any = None) -> Any:
        if isinstance(command, str):
            parts = re.split(r"(\s*(?:&&|;|\n)\s*)", command)
            place = Path(folder or ".")
            for number, part in enumerate(parts):
                try:
                    words = shlex.split(part)
                except ValueError:
                    continue
                if len(words) == 2 and words[0] == "cd":
                    place = place / words[1]
                elif fetch_by_command(notes, aside, words, place):
                    parts[number] = "true"
            return "".join(parts)
        if isinstance(command, (list, tuple)) and all(isinstance(word, (str, os.PathLike)) for word in command):
            words = [*map(os.fspath, command)]
            return ["true"] if fetch_by_command(notes, aside, words, Path(folder or ".")) else command
        return command

    class Popen(ordinary_popen):  # type: ignore[misc,valid-type]
        """Runs a command, but for one that only downloads what is made up."""

        def __init__(self, args: Any, *rest: Any, **kwargs: Any) -> None:
            super().__init__(replace(args, kwargs.get("cwd")), *rest, **kwargs)

    os.system = functools.wraps(ordinary_system)(lambda command: ordinary_system(replace(command)))
    subprocess.Popen = Popen  # type: ignore[misc]


def fetch_by_command(notes: Any, aside: Path, words: Sequence[str], folder: Path) -> bool:
    """Make what a command of wget or curl would download; return whether it was all made up."""
    program = os.path.basename(words[0]) if words else ""  # noqa: PTH119
    urls = [word for word in words[1:] if "://" in word]
    if program not in ("wget", "curl") or not urls:
        return False
    target, place = "", folder
    for flag, value in zip(words, [*words[1:], ""]):
        name, _, assigned = flag.partition("=")
        if (
            name in ("-O", "--output-document")
            and program == "wget"
            or name in ("-o", "--output")
            and program == "curl"
        ):
            target = assigned or value
        elif name in ("-P", "--directory-prefix") and program == "wget":
            place = folder / (assigned or value)
    if program == "curl" and not target and not {"-O", "--remote-name"} & {*words}:
        return False  # to its output
    contents = [make_download(notes, url) for url in urls]
    if None in contents:
        return False
    for url, content in zip(urls, contents):
        put_file(place / (target or url.split("?")[0].rpartition("/")[2]), content or b"", aside)
    return True


def make_archive(kind: str) -> bytes:
    """Return an archive of its kind that holds nothing: what the program misses of it then is made up by itself."""
    content = io.BytesIO()
    if kind.endswith(".zip"):
        zipfile.ZipFile(content, "w").close()
    else:
        tarfile.open(fileobj=content, mode="w" if kind.endswith(".tar") else "w:gz").close()
    return content.getvalue()


def redirect(path: Path, other: Path) -> None:
    """Let a file or a folder that the program names be another one."""
    if not _moved:
        redirect_files()
    _moved[os.path.abspath(path)] = str(other)  # noqa: PTH100


def find_other(file: Any) -> Any:
    """Return the stand-in of a file that the program names, or of what lies in a folder that has one."""
    if not isinstance(file, (str, bytes, os.PathLike)):
        return file
    name = os.path.abspath(os.fsdecode(file))  # noqa: PTH100
    for path, other in _moved.items():
        if name == path or name.startswith(f"{path}{os.sep}"):
            moved = other + name[len(path) :]
            return os.fsencode(moved) if isinstance(os.fspath(file), bytes) else moved
    return file


def keep_writes(aside: Path) -> None:
    """Keep new files out of folders of the user's, once a download was made up: the next run would take it for real."""
    if _asides:
        return
    _asides.append(aside)

    def keep_new(file: Any) -> None:
        if isinstance(file, (str, bytes, os.PathLike)) and not is_there(file):
            path = Path(os.fsdecode(file))
            if find_other(file) is file and is_outside(path):
                put_aside(path, aside)

    ordinary_open, ordinary_low, ordinary_folder = builtins.open, os.open, os.mkdir

    @functools.wraps(ordinary_open)
    def open_aside(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if {*mode} & {*"wxa"}:
            keep_new(file)
        return ordinary_open(find_other(file), mode, *args, **kwargs)

    @functools.wraps(ordinary_low)
    def open_low(path: Any, flags: int, *args: Any, **kwargs: Any) -> Any:
        if flags & os.O_CREAT and kwargs.get("dir_fd") is None and not is_temporary(path):
            keep_new(path)
        return call_redirected(ordinary_low, path, flags, *args, **kwargs)

    @functools.wraps(ordinary_folder)
    def mkdir(path: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("dir_fd") is None and not is_temporary(path):
            keep_new(path)
        call_redirected(ordinary_folder, path, *args, **kwargs)

    builtins.open = io.open = open_aside
    set_function("open", open_low)
    set_function("mkdir", mkdir)


def is_temporary(path: Any) -> bool:
    """Return whether a path lies in the folder for temporary files: compilers that the program starts look there."""
    folder = os.path.abspath(tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp")  # noqa: PTH100
    return os.path.abspath(os.fsdecode(path)).startswith(f"{folder}{os.sep}")  # noqa: PTH100


def set_function(name: str, function: Callable[..., Any]) -> None:
    """Replace a function of os, also where pathlib keeps it (before Python 3.11)."""
    for known in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if getattr(os, name) in known:
            known.add(function)
    setattr(os, name, function)
    accessor = getattr(pathlib, "_normal_accessor", None)
    if hasattr(accessor, name):
        setattr(accessor, name, function)


def call_redirected(ordinary: Callable[..., Any], file: Any, *args: Any, **kwargs: Any) -> Any:
    """Call what takes a file, unless it is relative to an open folder, with the file's stand-in."""
    return ordinary(find_other(file) if kwargs.get("dir_fd") is None else file, *args, **kwargs)


#: Functions of os that take one file, and those that take where it was and where it comes to be.
ASK = ("stat", "lstat", "listdir", "scandir", "access", "chmod", "utime", "listxattr", "getxattr", "setxattr")
CHANGE, MOVE = ("remove", "unlink", "rmdir", "truncate"), ("rename", "replace", "link")


def redirect_files() -> None:
    """Open the stand-ins of files that the program names outside of the run's folders."""

    def wrap(ordinary: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(ordinary)(
            lambda file=".", *args, **kwargs: call_redirected(ordinary, file, *args, **kwargs)
        )

    def wrap_move(ordinary: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(ordinary)
        def move(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("src_dir_fd") is not None or kwargs.get("dst_dir_fd") is not None:
                return ordinary(source, target, *args, **kwargs)
            other, place = find_other(source), Path(os.fsdecode(target))
            is_made = other is not source or _asides and not is_outside(Path(os.fsdecode(source)))
            if is_made and find_other(target) is target and is_outside(place):  # not over a file of the user's
                put_aside(place, _own_folders[0] / "stand_ins")
            return ordinary(other, find_other(target), *args, **kwargs)

        return move

    builtins.open = io.open = wrap(builtins.open)
    for names, wrapper in ((ASK, wrap), (CHANGE, wrap), (MOVE, wrap_move)):
        for name in names:
            if hasattr(os, name):
                set_function(name, wrapper(getattr(os, name)))
    for name in ("exists", "isfile", "isdir", "getsize"):
        setattr(os.path, name, wrap(getattr(os.path, name)))


def watch_questions(observer: Any, path: Path) -> None:
    """Write down which files the program asks for and does not find: one that gives up then often names none."""
    asked: set[tuple[str, str, int]] = set()

    def write(name: Any, **facts: object) -> None:
        entry = (str(name), *observer.find_caller())
        if entry not in asked and len(asked) < MOST_QUESTIONS:
            asked.add(entry)
            with _open(path, "a", encoding="utf-8") as out:
                out.write(json.dumps({**dict(zip(("name", "file", "line"), entry)), **facts}) + "\n")

    def wrap(ordinary: Callable[..., bool]) -> Callable[..., bool]:
        @functools.wraps(ordinary)
        def ask(name: Any, **kwargs: Any) -> bool:
            there = ordinary(name, **kwargs)
            if not there and isinstance(name, (str, os.PathLike)) and not observer.is_library(observer.find_asker()):
                write(name)
            return there

        return ask

    def wrap_search(ordinary: Callable[..., Any], find_folder: Callable[[str], str]) -> Callable[..., Any]:
        @functools.wraps(ordinary)
        def search(name: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(name, (str, os.PathLike)) and isinstance(text := os.fspath(name), str):
                folder = find_folder(text)
                if not is_there(folder) and (is_argument(folder) or not observer.is_library(observer.find_asker())):
                    write(folder, searched=True)
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
