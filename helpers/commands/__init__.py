"""The verbs as commands: one file each with NAME, `configure(parser)` and `run(args) -> Report`."""

from __future__ import annotations

import argparse


def behind(words: list[str]) -> list[str]:
    """What stands behind our own options: a script's or command's words, without the `--` that may come before them."""
    return words[1:] if words[:1] == ["--"] else words


def add_fail_on(parser: argparse.ArgumentParser, classes: tuple[str, ...], where: str) -> None:
    """The option of scan, assess and rewrite that makes a class a failure; `where` is the text that it is sought in."""
    told = f"exit with 1 where a place of this class is in {where} (may be repeated): {', '.join(classes)}"
    parser.add_argument("--fail-on", action="append", default=[], choices=classes, metavar="CLASS", help=told)
