"""The verbs as commands: one file each with NAME, `configure(parser)` and `run(args) -> Report`."""

from __future__ import annotations


def behind(words: list[str]) -> list[str]:
    """What stands behind our own options: a script's or command's words, without the `--` that may come before them."""
    return words[1:] if words[:1] == ["--"] else words
