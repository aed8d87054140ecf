"""A notebook cell as Python: magics and shell commands are taken out, every line and column stays where it is.

What Python can read is left alone: a line that begins with `%` may be the second half of an expression. Only a line
that Python stumbles over, and that looks like IPython's, is replaced.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

from ascend_workbook.migration.reading.source import LINE_END

#: `%time f(x)`: the magic's argument is Python.
TIMED = re.compile(r"(?P<in>\s*)%(?:time|timeit|prun|memit|mprun|lprun)\b(?:\s+-\w+(?:\s+\d+\b)?)*\s*(?P<code>.*)")
#: `files = !ls` and `took = %timeit -o f(x)`: what is assigned does not matter.
ASSIGNED = re.compile(r"(?P<in>\s*)(?P<target>[A-Za-z_][\w.,\s\[\]]*=\s*)[!%]")
OTHER = re.compile(r"(?P<in>\s*)(?:[%!?]|[^#'\"]*\?{1,2}\s*$)")
#: Commands of a shell, in a line of a cell.
COMMAND = re.compile(
    r"\s*(?:[A-Za-z_][\w.,\s\[\]]*=\s*)?"
    r"(?:!!?|%(?:env|set_env|sx|sc|system)\b|%(?=(?:uv\s+)?pip\b|conda\b|mamba\b))"
)


@dataclass(frozen=True)
class Cell:
    """`python` and `shell` have as many lines as the cell, and what is not theirs is blank or `pass`. `error` is what
    Python could not read."""

    python: str
    shell: str = ""
    error: SyntaxError | None = None


def read_cell(code: str) -> Cell:
    lines = LINE_END.split(code)
    commands = [""] * len(lines)
    for _ in range(len(lines) + 1):
        python = "\n".join(lines)
        error = find_syntax_error(python)
        at = (error.lineno or 0) - 1 if error else -1
        plain = without_magic(lines[at]) if 0 <= at < len(lines) else None
        if plain is None or plain == lines[at]:
            break
        _take_command(lines, at, commands)
        lines[at] = plain
    return Cell(python, "\n".join(commands) if any(commands) else "", error)


def without_magic(line: str) -> str | None:
    """The line as Python, as long as before where it matters; None where it does not look like IPython's."""
    timed = TIMED.match(line)
    if timed and timed.group("code") and find_syntax_error(timed.group("code")) is None:
        at = timed.start("code")
        return f"{timed.group('in')}0;".ljust(at) + timed.group("code")
    assigned = ASSIGNED.match(line)
    if assigned:
        return f"{assigned.group('in')}{assigned.group('target')}0"
    other = OTHER.match(line)
    return f"{other.group('in')}pass" if other else None


def _take_command(lines: list[str], at: int, commands: list[str]) -> None:
    """Notes a shell command; the lines that a backslash joins to it are no Python."""
    end = at
    while lines[end].endswith("\\") and end + 1 < len(lines):
        end += 1
    command = COMMAND.match(lines[at])
    if command:
        commands[at : end + 1] = [" " * command.end() + lines[at][command.end() :], *lines[at + 1 : end + 1]]
    lines[at + 1 : end + 1] = [""] * (end - at)


def find_syntax_error(python: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(python)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error))
    return None
