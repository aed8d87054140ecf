"""What argparse says about a command line, as sentences of ours: in the reader's language, not in English alone."""

from __future__ import annotations

import re

from helpers.words import Scalar

#: Ends of the keys `command.usage.*`, with argparse's sentence.
SENTENCES = (
    ("required", re.compile(r"the following arguments are required: (?P<names>.+)")),
    ("unknown", re.compile(r"unrecognized arguments: (?P<given>.+)")),
    ("choice", re.compile(r"argument (?P<option>\S+): invalid choice: (?P<given>.+?) \(choose from (?P<known>.+)\)")),
    ("value", re.compile(r"argument (?P<option>\S+): invalid (?P<kind>\w+) value: (?P<given>.+)")),
    ("no_value", re.compile(r"argument (?P<option>\S+): expected (?:one|at least one|\d+) arguments?")),
    ("one_of", re.compile(r"one of the arguments (?P<option>.+) is required")),
    ("both", re.compile(r"argument (?P<option>\S+): not allowed with argument (?P<other>\S+)")),
)  # fmt: skip
#: Groups that are lists.
LISTS = ("names", "known")
#: Types that have words.
KINDS = ("int", "float")


def told(message: str) -> Scalar:
    """The sentence for argparse's message, to be an argument of another; argparse's own words where none is ours."""
    for name, sentence in SENTENCES:
        found = sentence.fullmatch(message)
        if found:
            args: dict[str, Scalar] = {key: _said(key, text) for key, text in found.groupdict().items()}
            return {"say": f"command.usage.{name}", "args": args}
    return message


def _said(key: str, text: str) -> Scalar:
    if key == "kind" and text in KINDS:
        return {"say": f"command.usage.{text}", "args": {}}
    if key not in LISTS:
        return text.strip("'")
    parts: list[Scalar] = [each.strip("'") for each in text.split(", ")]
    return parts
