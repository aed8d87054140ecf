"""What a mistyped command line may have meant: the nearest verb or option, or the verb that has the option.

Also options of ours that stand behind a script: they are ours where a `--` follows, else argparse gives them to the
script.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_workbook.cli.options import Option
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
#: A word that is an option, and no negative number.
OPTION = re.compile(r"-(?![\d.])")
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


def takes_script(parser: Parser) -> bool:
    """Return whether a verb takes a script and, as they stand, the words behind it."""
    words = [option for option in parser.options if option.settings.get("nargs") == argparse.REMAINDER]
    return any(option.keyword in ("args", "script") for option in words)


def bring_forward(parser: Parser, words: list[str]) -> tuple[list[str], list[str]]:
    """Return a verb's words with its own options that stand between the script and a `--` before the script, and these.

    `train.py --out X -- --lr 1` is `--out X train.py -- --lr 1`. Where nothing of ours stands there the words stay, but
    for a `--` right behind a launcher's script, which is no word of the script's either."""
    if not takes_script(parser):
        return words, []
    by_flag = parser.by_flag()
    start = _find_positional(by_flag, words)
    script = next((at for at in range(start, len(words)) if words[at].endswith(SCRIPTS)), _find_module(words, start))
    if "--" not in words[script:] or "--" in words[:script]:
        return words, []
    end = words.index("--", script)
    ours, others = _part_words(by_flag, words[script + 1 : end])
    plain = script == start and any(option.keyword == "args" for option in parser.options)
    if not ours and (plain or others):
        return words, []
    mark = ["--"] if plain else []  # of a launcher's words all is handed on
    return [*words[:start], *ours, "--", *words[start : script + 1], *mark, *others, *words[end + 1 :]], ours


def _find_positional(by_flag: Mapping[str, Option], words: list[str]) -> int:
    """Find the first word that is no option of ours and no value of one."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += _count_words(by_flag, words, at)
    return at


def _find_module(words: list[str], start: int) -> int:
    """Find the last NAME of `-m NAME`; the end of the line where there is none."""
    return max((at + 1 for at in range(start, len(words) - 1) if words[at] == "-m"), default=len(words))


def _part_words(by_flag: Mapping[str, Option], words: list[str]) -> tuple[list[str], list[str]]:
    """Part words into options of ours, each with its values, and others; what may be the script's own is another."""
    ours: list[str] = []
    others: list[str] = []
    at = 0
    while at < len(words):
        count = _count_words(by_flag, words, at)
        plainly = _is_plainly_ours(by_flag, words, at, count)
        count = count if plainly else 1
        (ours if plainly else others).extend(words[at : at + count])
        at += count
    return ours, others


def _is_plainly_ours(by_flag: Mapping[str, Option], words: list[str], at: int, count: int) -> bool:
    """Return whether words are an option of ours with all its values, or a switch of ours that no value follows."""
    name, equals, _ = words[at].partition("=")
    option = by_flag.get(name)
    if option is None or equals:
        return option is not None and option.takes_value
    if not option.takes_value:
        return words[at + 1 : at + 2] == [] or words[at + 1].startswith("-")
    values = words[at + 1 : at + count]
    return 1 < count == 1 + len(values) and not any(map(OPTION.match, values))


def _count_words(by_flag: Mapping[str, Option], words: list[str], at: int) -> int:
    """Count the words that an option of ours takes with its values; 1 of any other word."""
    option = by_flag.get(words[at])
    if option is None or not option.takes_value:
        return 1
    count = option.settings.get("nargs", 1)
    if isinstance(count, int):
        return 1 + count
    values = list(takewhile(lambda word: not word.startswith("-"), words[at + 1 :]))
    return 1 + len(values)


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
