"""The help of a verb as text: what the catalogue says of it and its options, in columns, in the reader's language."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ascend_workbook.cli.mistakes import takes_script
from ascend_workbook.cli.options import Option
from ascend_workbook.findings.sentence import Scalar, load_catalogue, say
from ascend_workbook.show.text import text_width

if TYPE_CHECKING:
    from ascend_workbook.cli.parser import Parser

#: Where what is said of an option begins, and the widest that a page is.
COLUMN, WIDEST = 24, 118
#: Marks that begin no line.
CLOSING = "，。；：、）！？」』”"


def write_page(parser: Parser) -> str:
    """Return usage, description, options and examples."""
    lang, width = parser.lang, min(shutil.get_terminal_size().columns - 2, WIDEST)
    usage = parser.format_usage().partition(": ")[2].rstrip()
    parts = [say("help.words.usage", lang) + usage, *_describe_parser(parser, width)]
    for title, alone in (("positionals", True), ("options", False)):
        rows = [
            (option.usage_text, describe_option(parser, option))
            for option in parser.options
            if option.stands_alone is alone and not option.row.hidden
        ]
        rows += [(name, describe_verb(below)) for name, below in parser.below.items()] if alone else []
        lines = [line for row in rows for line in _align_columns(*row, width)]
        if lines:
            parts.append("\n".join([say(f"help.words.{title}", lang), *lines]))
    if parser.examples:
        parts.append("\n".join([say("help.words.examples", lang), *(f"  {line}" for line in parser.examples)]))
    return "\n\n".join(parts) + "\n"


def describe_verb(parser: Parser, lang: str | None = None) -> str:
    """Return the verb's sentence."""
    return say(parser.key, lang or parser.lang)


def describe_option(parser: Parser, option: Option, lang: str | None = None) -> str:
    """Return what the verb's catalogue says of the option, or what is said of it wherever it occurs."""
    key = f"{parser.key}.{option.word}"
    default = option.settings.get("default")
    words = [*(option.row.names or option.settings.get("choices") or ())]
    args: dict[str, Scalar] = {"choices": words, "default": default if default != [] else None}
    return say(key if key in load_catalogue() else f"help.any.{option.word}", lang or parser.lang, **args)


def _describe_parser(parser: Parser, width: int) -> Iterator[str]:
    sentence = describe_verb(parser)
    end = "" if sentence[-1] in ".。？?" else say("help.words.end", parser.lang)
    yield "\n".join(wrap_text(sentence[:1].upper() + sentence[1:] + end, width))
    about = f"{parser.key}.about"
    for paragraph in say(about, parser.lang).split("\n\n") if about in load_catalogue() else ():
        plain = not any(line.startswith(" ") for line in paragraph.splitlines())
        yield "\n".join(wrap_text(paragraph, width)) if plain else paragraph
    if takes_script(parser):
        yield "\n".join(wrap_text(say("help.words.script", parser.lang), width))


def _align_columns(left: str, right: str, width: int) -> Iterator[str]:
    lines = wrap_text(right, width - COLUMN)
    fits = text_width(left) + 4 <= COLUMN
    first = f"  {left}" + " " * (COLUMN - text_width(left) - 2) if fits else f"  {left}"
    yield first + (lines[0] if fits and lines else "")
    for line in lines[1:] if fits else lines:
        yield " " * COLUMN + line


def wrap_text(text: str, width: int) -> list[str]:
    """Return lines of at most this many columns, broken at blanks and between Chinese characters."""
    lines, line = [], ""
    for piece in _split_pieces(" ".join(text.split())):
        if line and text_width(line) + text_width(piece.rstrip()) > width and piece[0] not in CLOSING:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()]


def _split_pieces(text: str) -> Iterator[str]:
    """Yield words with the blank behind them, and wide characters one by one."""
    word = ""
    for character in text:
        wide = text_width(character) == 2
        if wide and word:
            yield word
            word = ""
        word += character
        if wide or character == " ":
            yield word
            word = ""
    if word:
        yield word
