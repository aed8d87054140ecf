"""Whether what Python cannot parse is Python 2: told by the parser's message or by the line it stopped at."""

from __future__ import annotations

import re

#: What the parser of Python 3 says of Python 2 only.
MESSAGES = re.compile(
    r"Missing parentheses in call to '(?:print|exec)|multiple exception types must be parenthesized"
    r"|leading zeros in decimal integer literals"
)
#: Statements and literals that Python 3 dropped, for messages that say no more than "invalid syntax".
LINES = re.compile(
    r"^\s*(?:print(?:\s*>>|\s+[\w'\"%(\[])|exec\s+[\w'\"]|raise\s+[\w.]+\s*,|except\s+[\w.]+\s*,\s*\w+\s*:)"
    r"|\bur['\"]|`[^`]+`|<>|\b0[0-7]+\b|\b(?:0[xX][\da-fA-F]+|\d+)[lL]\b|\bdef\s+\w+\([^)]*\(\w+\s*,"
)


def is_python_2(message: str, lines: list[str]) -> bool:
    """Return whether a file that does not parse is Python 2; `lines`: the line at which the parser stopped, or none."""
    return bool(MESSAGES.search(message)) or any(LINES.search(line) for line in lines)
