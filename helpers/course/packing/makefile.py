"""The project's Makefile, cut to the targets whose files students have."""

from __future__ import annotations

import re

TARGETS = ("help", "setup", "run", "lab", "clean")
HEAD = "# The course. `make setup`, then `make lab`; `make help` lists the rest."


def for_students(text: str) -> str:
    """Paragraphs that make one of TARGETS, and the settings; another first line. A rule is a paragraph of its own."""
    paragraphs = text.split("\n\n")
    kept = [each for each in paragraphs if _target(each) in ("", *TARGETS)]
    made = "\n\n".join(kept)
    made = re.sub(r"^\.PHONY:.*$", f".PHONY: {' '.join(TARGETS)}", made, flags=re.M)
    return re.sub(r"\A#.*$", HEAD, made, count=1, flags=re.M).rstrip("\n") + "\n"


def _target(paragraph: str) -> str:
    """Of the rule that this paragraph is; empty where it is none."""
    found = re.match(r"([a-z][a-z-]*):", paragraph)
    return found[1] if found else ""
