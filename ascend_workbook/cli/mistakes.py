"""What a mistyped command line may have meant: the nearest verb or option, or the verb that has the option.

Also options of ours that stand behind a script: argparse gives them to the script.
"""

from __future__ import annotations

import argparse
import re
from difflib import get_close_matches
from pathlib import Path
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
    "obs": "storage",
    "trace": "profile",
}
#: What runs: all that stands before one of these belongs to a launcher.
SCRIPTS = (".py", ".pyw", ".ipynb", ".sh", ".bash")
MOST_MODULES, LARGEST_BYTES = 50, 1 << 20


def near_verb(parser: Parser, word: str) -> str:
    """Return the verb or action that was meant, an action with its verb before it; empty where none is near."""
    near = [MEANT[word]] if MEANT.get(word) in parser.below else []
    near += [f"{verb} {word}" for verb, below in parser.below.items() if word in below.below]
    near += get_close_matches(word, parser.below, 1, 0.6)
    return next(iter(near), "")


def near_option(parser: Parser, option: str) -> str:
    """Return the parser's own option that is spelled nearly so, or means the same; empty where there is none."""
    flags = parser.by_flag().items()
    own_options = {flag: option for flag, option in flags if flag.startswith("--") and not option.row.hidden}
    spelled = get_close_matches(option[2:], [flag[2:] for flag in own_options], 1, 0.6)
    if spelled:
        return f"--{spelled[0]}"
    alike = [(group, takes) for groups, takes in ((SWITCHES, False), (VALUES, True)) for group in groups]
    synonyms = [flag for group, takes in alike if option in group for flag in group]
    takes_value = {flag for group, takes in alike if takes for flag in group}
    synonyms = [flag for flag in synonyms if flag in own_options]
    return next((flag for flag in synonyms if own_options[flag].takes_value is (flag in takes_value)), "")


def find_swallowed(args: argparse.Namespace, line: list[str]) -> tuple[str, list[str]]:
    """Return a script, and the words behind it that are options of ours: the script got them and does not know them.

    None where the command line has a `--`, which argparse may not keep: all behind it is the script's. Nor for an
    option that the script's text names.
    """
    script = getattr(args, "script", None) or []
    words = [*([script] if isinstance(script, str) else script), *getattr(args, "args", [])]
    at = next((at for at, word in enumerate(words) if word.endswith(SCRIPTS)), len(words))
    if "--" in line or at == len(words):
        return "", []
    option_words = [word.partition("=")[0] for word in words[at + 1 :] if word.startswith("--")]
    text = _read_script(Path(words[at])) if option_words else ""
    return words[at], [word for word in dict.fromkeys(option_words) if word in args.own and not _has_option(text, word)]


def _read_script(script: Path) -> str:
    """Return the script with the modules of its folder that it imports; empty where it cannot be read."""
    from ascend_workbook.migration.closure import walk_imports

    try:
        files = list(walk_imports(script))[:MOST_MODULES] if script.suffix == ".py" else [script]
        return "\n".join(file.read_bytes()[:LARGEST_BYTES].decode("utf-8", "replace") for file in files)
    except OSError:
        return ""


def _has_option(text: str, option: str) -> bool:
    """Return whether the text has the option: in quotes (argparse, click, absl), as a field or as an argument."""
    plain, name = re.escape(option.lstrip("-")), re.escape(option.lstrip("-").replace("-", "_"))
    quoted = rf"['\"]--?(?:{plain}|{name})\b|['\"]{name}['\"]"
    return re.search(rf"{quoted}|^[ \t]+{name}[ \t]*:|\bdef\b[^\n]*\b{name}\b", text, re.MULTILINE) is not None
