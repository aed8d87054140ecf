"""Arguments of a script that are credentials: withheld where they travel, asked for where they are used again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

#: What stands for the folders of a path.
FOLDERS = "..."
#: An absolute path, a home or a Windows one, alone or behind `--option=`.
PATH = re.compile(r"(?P<option>--?[\w-]+=)?(?P<path>(?:~|[A-Za-z]:)?[/\\].*|~)", re.DOTALL)


def make_portable(args: Sequence[object]) -> list[str]:
    """`--data=/home/user/digits` becomes `--data=.../digits`; what is no absolute path stays."""
    words = []
    for text in map(str, args):
        match = PATH.fullmatch(text)
        name = re.split(r"[/\\]", match["path"].rstrip("/\\"))[-1] if match else ""
        words.append(f"{match['option'] or ''}{FOLDERS}/{name}" if match else text)
    return words


#: What stands for a value that ascend_workbook.redaction took out.
WITHHELD = "***"
#: A word whose value is the next word
OPTION = re.compile(r"--?[\w.-]+")


def withheld_names(args: Sequence[str]) -> list[str]:
    """Return what the withheld values belong to: `--api-key`, `password`, or the argument itself."""
    return list(dict.fromkeys(name for name, word in _name_words(args) if WITHHELD in word))


def same_arguments(args: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether two sets of arguments are the same, so far as neither withholds a value."""
    pairs = list(zip(args, others))
    return len(args) == len(others) and all(_fits_word(word, other) or _fits_word(other, word) for word, other in pairs)


def shell_line(words: Sequence[str]) -> str:
    """Join the words as a shell takes them. A withheld value is a variable that the shell refuses while it is not set.

    `--api-key ***` becomes `--api-key "${API_KEY:?withheld}"`."""
    return " ".join(_shell_word(name, word) for name, word in _name_words(words))


def _name_words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each word with the option that it belongs to."""
    before = ""
    for word in words:
        option = word.split(WITHHELD)[0].rpartition("=")[0]
        yield option or (before if OPTION.fullmatch(before) else word), word
        before = word


def _fits_word(word: str, other: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, word.split(WITHHELD))), other, re.DOTALL) is not None


def _shell_word(name: str, word: str) -> str:
    variable = re.sub(r"\W+", "_", name.split("://")[0], flags=re.ASCII).strip("_").upper()
    variable = variable if re.match("[A-Z]", variable) else "VALUE"
    if WITHHELD not in word:
        return shlex.quote(word)
    return f'"${{{variable}:?withheld}}"'.join([shlex.quote(part) if part else "" for part in word.split(WITHHELD)])
