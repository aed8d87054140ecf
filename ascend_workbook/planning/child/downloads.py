"""What a program downloads and cannot, itself, by a library or by wget or curl. Loaded by files.py, by path.

    download  a text or a picture; guessed
    archive   a packed folder: it holds nothing, and what is missed of it is made up; guessed

Imports nothing of the workbook.
"""

from __future__ import annotations

import functools
import io
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from email.message import Message
from pathlib import Path
from typing import Any

#: This file's frames stand between the program and what it asks; whose line it is must not change by that.
PASSES_THROUGH = True
#: Packages whose data and weights are made up elsewhere, where a download fails: they hear that it did.
ANSWERED = frozenset(
    {
        *("torch", "torchvision", "torchaudio", "torch_geometric", "timm", "tiktoken", "huggingface_hub"),
        *("transformers", "datasets", "diffusers", "evaluate", "sentence_transformers"),
    }
)
#: Modules that download for whoever asks them, without more.
CARRIERS = ("requests", "urllib", "fsspec", "torch.hub", "torchvision.datasets.utils")
#: The last parts of addresses that something stood in for: nobody knows its checksum.
_downloaded: set[str] = set()
#: The modules beside this one.
contents: Any = None
redirects: Any = None


def attach(observer: Any, notes: Any, aside: Path, questions: Any, offline: bool) -> None:
    """Stand in for what the program downloads from now on; what cannot be made up is a question that nobody answers."""
    patch_downloads(observer, notes, aside, questions)
    if offline:
        patch_commands(notes, aside)


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
    if name.endswith(contents.ARCHIVES):
        notes.add("archive", url, guessed=True)
        content = contents.make_archive(name)
    elif suffix in contents.PLAIN_TEXTS or name.removesuffix(".gz") in contents.PLAIN:
        content, facts = contents.make_content(Path("text.gz" if name.endswith(".gz") else "text.txt"))
        notes.add("download", url, guessed=True, **facts)
    elif suffix in contents.PHOTOGRAPHS and not name.endswith(".gz"):
        packed = io.BytesIO()
        contents.make_picture(contents.PICTURE).save(packed, "JPEG")
        notes.add("picture", url, guessed=True, size=[*contents.PICTURE])
        content = packed.getvalue()
    else:
        return None
    _downloaded.add(name)
    return bytes(content)


def patch_downloads(observer: Any, notes: Any, aside: Path, questions: Any) -> None:
    """Give the program a text, a picture or an empty archive where it downloads one and cannot."""

    retrieving: list[str] = []

    def stand_in(url: Any, problem: OSError) -> bytes:
        content = None if retrieving or find_asking_package() in ANSWERED else make_download(notes, str(url))
        if content is None:
            questions.write(str(url), address=True)
            raise problem
        redirects.keep_writes(aside)
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
            redirects.put_file(Path(target), content, aside)
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

    def patch_hub(module: Any) -> None:
        ordinary_fetch = getattr(module, "_hf_hub_download_to_cache_dir", None)
        if ordinary_fetch is None:
            return

        @functools.wraps(ordinary_fetch)
        def fetch(*args: Any, **kwargs: Any) -> Any:
            try:
                return ordinary_fetch(*args, **kwargs)
            except Exception:
                wanted = f"{kwargs.get('repo_id')}/{kwargs.get('filename')}"  # the library's error names neither
                questions.write(f"https://huggingface.co/{wanted}", address=True)
                raise

        module._hf_hub_download_to_cache_dir = fetch

    urllib.request.urlopen, urllib.request.urlretrieve = urlopen, urlretrieve
    observer.after_import(
        {
            "requests": patch_requests,
            "fsspec.implementations.http": patch_fsspec,
            "huggingface_hub.file_download": patch_hub,
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
        redirects.put_file(place / (target or url.split("?")[0].rpartition("/")[2]), content or b"", aside)
    return True
