"""What a mistyped command line may have meant: the nearest verb or option, or the verb that has the option."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from difflib import get_close_matches

#: Options that mean the same in different verbs: switches, and what takes a value.
SWITCHES = (("--dry-run", "--list", "--check", "--preview", "--validate"), ("--force", "--overwrite", "--replace"))
VALUES = (("--out", "--output", "--output-dir", "--save", "--to"), ("--device", "--npu", "--tier"))
#: Verbs by what others call them.
MEANT = {"batch": "run", "convert": "rewrite", "diff": "compare", "doctor": "check", "install": "setup",
         "migrate": "rewrite", "obs": "storage", "trace": "profile"}  # fmt: skip
#: Verbs that are named where several have the option.
MOST = 4


def actions_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of its verbs or of a verb's actions, by name."""
    groups = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    return {name: each for group in groups for name, each in group.choices.items()}


def near_verb(parser: argparse.ArgumentParser, word: str) -> str:
    """The verb or action of `parser` that was meant, an action with its verb before it; empty where none is near."""
    known = actions_of(parser)
    found = [f"{verb} {word}" for verb, each in known.items() if word in actions_of(each)]
    found += [MEANT[word]] if MEANT.get(word) in known else []
    return next(iter([*get_close_matches(word, known, 1, 0.6), *found]), "")


def near_option(parser: argparse.ArgumentParser, option: str) -> str:
    """The parser's own option that is spelled nearly so, or means the same; empty where there is none."""
    own = {word: each for each in parser._actions for word in each.option_strings if word.startswith("--")}
    spelled = get_close_matches(option[2:], [word[2:] for word in own], 1, 0.6)
    if spelled:
        return f"--{spelled[0]}"
    alike = [(group, each) for groups, each in ((SWITCHES, True), (VALUES, False)) for group in groups]
    meant = [word for group, switch in alike if option in group for word in group
             if word in own and (own[word].nargs == 0) is switch]  # fmt: skip
    return next(iter(meant), "")


def that_have(root: argparse.ArgumentParser, option: str) -> list[str]:
    """Verbs, with their action where it is the action's, that take this very option."""
    return [name for name, parser in _leaves(root) if option in parser._option_string_actions][:MOST]


def _leaves(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    below = actions_of(parser)
    if not below:
        yield name, parser
    for word, each in below.items():
        yield from _leaves(each, f"{name} {word}".strip())
