"""What a mistyped command line may have meant: the nearest verb or option, or the verb that has the option."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_workbook.cli.parser import Parser

#: Options that mean the same in different verbs: switches, and what takes a value.
SWITCHES = (("--dry-run", "--list", "--check", "--preview", "--validate"), ("--force", "--overwrite", "--replace"))
VALUES = (("--out", "--output", "--output-dir", "--save", "--to"), ("--device", "--npu", "--tier"))
#: Verbs by what others call them.
MEANT = {
    "batch": "run",
    "convert": "rewrite",
    "diff": "compare",
    "doctor": "check",
    "install": "setup",
    "migrate": "rewrite",
    "obs": "storage",
    "trace": "profile",
}
#: Verbs that are named where several have the option.
MOST = 4


def near_verb(parser: Parser, word: str) -> str:
    """Return the verb or action that was meant, an action with its verb before it; empty where none is near."""
    near = get_close_matches(word, parser.below, 1, 0.6)
    near += [f"{verb} {word}" for verb, below in parser.below.items() if word in below.below]
    near += [MEANT[word]] if MEANT.get(word) in parser.below else []
    return next(iter(near), "")


def near_option(parser: Parser, option: str) -> str:
    """Return the parser's own option that is spelled nearly so, or means the same; empty where there is none."""
    own_options = {
        flag: own_option
        for flag, own_option in parser.by_flag().items()
        if flag.startswith("--") and not own_option.row.hidden
    }
    spelled = get_close_matches(option[2:], [flag[2:] for flag in own_options], 1, 0.6)
    if spelled:
        return f"--{spelled[0]}"
    alike = [(group, takes) for groups, takes in ((SWITCHES, False), (VALUES, True)) for group in groups]
    synonyms = [flag for group, takes in alike if option in group for flag in group]
    takes_value = {flag for group, takes in alike if takes for flag in group}
    return next(
        (flag for flag in synonyms if flag in own_options and own_options[flag].takes_value is (flag in takes_value)),
        "",
    )


def verbs_with_option(root: Parser, option: str) -> list[str]:
    """Return verbs, with their action where it is the action's, that take this very option."""
    return [name for name, parser in root.walk_leaves() if option in parser.by_flag()][:MOST]
