"""Lines of code as a page shows them: coloured here (Pygments), so that no script does it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

#: The first letters of Pygments' short names that have a colour of their own.
KINDS = {"k": "k", "s": "s", "c": "c", "m": "m", "o": "", "n": "", "p": ""}
NAMED = {"nb": "b", "nf": "f", "nc": "f", "nd": "d", "ow": "k", "bp": "b"}
#: A line with its end, as Python knows lines: str.splitlines also splits at form feeds and U+2028.
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split_lines(text: str) -> list[str]:
    """Return the lines of a file as its scanner counts them, without their ends."""
    return [line.rstrip("\r\n") for line in LINE.findall(text)]


def colour_lines(name: str, text: str, count: int, *, coloured: bool = True) -> list[list[str]]:
    """Return each line as kind, text, kind, text ...; a kind is a letter of the page's style, or empty."""
    if not coloured:
        return [["", line] for line in split_lines(text)]
    return list(_colour_each(name, text, count))


def _colour_each(name: str, text: str, count: int) -> Iterator[list[str]]:
    line: list[str] = []
    number = 0
    for kind, piece in _lex_text(name, text):
        for part in LINE.findall(piece):
            plain = part.rstrip("\r\n")
            if plain:
                if line and line[-2] == kind:
                    line[-1] += plain
                else:
                    line += [kind, plain]
            if plain != part and number < count:
                yield line
                line, number = [], number + 1
    if number < count:
        yield line


def _lex_text(name: str, text: str) -> Iterator[tuple[str, str]]:
    from pygments.lexers import get_lexer_for_filename
    from pygments.lexers.special import TextLexer
    from pygments.token import STANDARD_TYPES
    from pygments.util import ClassNotFound

    options = {"stripnl": False, "ensurenl": False}
    try:
        lexer = get_lexer_for_filename("cell.py" if "#cell" in name else Path(name).name, **options)
    except ClassNotFound:
        lexer = TextLexer(**options)
    for token, piece in lexer.get_tokens(text):
        while token not in STANDARD_TYPES:
            token = token.parent
        short = STANDARD_TYPES[token]
        yield NAMED.get(short, KINDS.get(short[:1], "")), piece
