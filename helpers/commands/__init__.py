"""The verbs as commands: one file each with NAME, `configure(parser)` and `run(args) -> Report`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.number_lists import numbers
from helpers.words import LANGUAGES

if TYPE_CHECKING:
    from helpers.launch import Progress

#: What runs: all that stands before one of these belongs to a launcher.
SCRIPTS = (".py", ".pyw", ".ipynb", ".sh", ".bash")
MOST_MODULES, LARGEST_BYTES = 50, 1 << 20


def progress_line(line: str) -> None:
    """What a verb tells while it works: on stderr at once, so that stdout holds the report alone."""
    print(line, file=sys.stderr, flush=True)


def progress_lines(now: Progress) -> None:
    """The same for the lines that the script of a launch has written since."""
    for line in now.lines:
        progress_line(line)


def behind(words: list[str]) -> list[str]:
    """What stands behind our own options: a script's or command's words, without the `--` that may come before them."""
    return words[1:] if words[:1] == ["--"] else words


def swallowed(args: argparse.Namespace, line: list[str]) -> tuple[str, list[str]]:
    """A script, and the words behind it that are options of ours: they went to the script, which does not know them.

    None where the command line has a `--`, which argparse may not keep: all behind it is the script's. Nor for an
    option that the script's text names.
    """
    given = getattr(args, "script", None) or []
    words = [*([given] if isinstance(given, str) else given), *getattr(args, "args", [])]
    at = next((at for at, word in enumerate(words) if word.endswith(SCRIPTS)), len(words))
    if "--" in line or at == len(words):
        return "", []
    asked = [word.partition("=")[0] for word in words[at + 1 :] if word.startswith("--")]
    text = _text(Path(words[at])) if asked else ""
    return words[at], [word for word in dict.fromkeys(asked) if word in args.own and not _names(text, word)]


def _text(script: Path) -> str:
    """The script with the modules of its folder that it imports; empty where it cannot be read."""
    from helpers.migration.closure import closure

    try:
        files = closure(script)[:MOST_MODULES] if script.suffix == ".py" else [script]
        return "\n".join(file.read_bytes()[:LARGEST_BYTES].decode("utf-8", "replace") for file in files)
    except OSError:
        return ""


def _names(text: str, option: str) -> bool:
    """Whether the text has the option: in quotes (argparse, click, absl), as a field or as a function's argument."""
    plain, name = re.escape(option.lstrip("-")), re.escape(option.lstrip("-").replace("-", "_"))
    quoted = rf"['\"]--?(?:{plain}|{name})\b|['\"]{name}['\"]"
    return re.search(rf"{quoted}|^[ \t]+{name}[ \t]*:|\bdef\b[^\n]*\b{name}\b", text, re.MULTILINE) is not None


def add_outputs(action: argparse.ArgumentParser) -> None:
    """Options of every verb, for an action of a verb: they may stand behind the action too."""
    action.add_argument("--json", metavar="FILE", default=argparse.SUPPRESS, help="write the report as JSON")
    action.add_argument("--html", metavar="FILE", default=argparse.SUPPRESS, help="write the report as a page")
    action.add_argument("--junit", metavar="FILE", default=argparse.SUPPRESS, help="write the report as JUnit XML")
    action.add_argument("--lang", choices=LANGUAGES, default=argparse.SUPPRESS, help="language of what is printed")


def add_numbers(
    parser: argparse.ArgumentParser, option: str, what: str, default: Sequence[int] | None, otherwise: str
) -> None:
    """The option that takes a list of ranks, steps or inputs; `otherwise` says what the default is."""
    told = f"{what}: numbers from 0 and ranges, such as 0,3-5 (default: {otherwise})"
    parser.add_argument(option, type=partial(numbers, name=option), default=default, metavar="LIST", help=told)


def add_fail_on(parser: argparse.ArgumentParser, classes: tuple[str, ...], where: str) -> None:
    """The option that makes a class of findings a failure; `where` is what it is sought in."""
    told = f"exit with 1 where a finding of this class is in {where} (may be repeated): {', '.join(classes)}"
    parser.add_argument("--fail-on", action="append", default=[], choices=classes, metavar="CLASS", help=told)
