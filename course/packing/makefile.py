"""The project's Makefile, cut to the targets whose files students have."""

from __future__ import annotations

import re

TARGETS = ("help", "setup", "run", "lab", "clean")
HEAD = "# The course. `make setup`, then `make lab`; `make help` lists the rest."


def for_students(text: str) -> str:
    """Return the paragraphs that make one of TARGETS, and the settings, under another first line.

    A rule is a paragraph of its own.
    """
    paragraphs = text.split("\n\n")
    rules_left = [paragraph for paragraph in paragraphs if _target_of(paragraph) in ("", *TARGETS)]
    makefile = "\n\n".join(rules_left)
    makefile = re.sub(r"^\.PHONY:.*$", f".PHONY: {' '.join(TARGETS)}", makefile, flags=re.M)
    return re.sub(r"\A#.*$", HEAD, makefile, count=1, flags=re.M).rstrip("\n") + "\n"


def _target_of(paragraph: str) -> str:
    """Return the target of the rule that this paragraph is; empty where it is none."""
    match = re.match(r"([a-z][a-z-]*):", paragraph)
    return match[1] if match else ""
