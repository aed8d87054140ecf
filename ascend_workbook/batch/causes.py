"""Whether two errors have one cause, whatever passes: numbers, addresses, paths and quoted names."""

from __future__ import annotations

import re

from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.errors import WorkbookError

#: What differs between two runs of one error: numbers, addresses, paths, quoted names.
PASSING = re.compile(r"0x[0-9a-fA-F]+|(?:/[^\s/:'\"]+){2,}|'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?")
LONGEST = 200
#: An exception with its message, as it stands within a sentence; the place behind it is none of the message.
EXCEPTION = re.compile(r"\b[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning): .+")
PLACE = re.compile(r"\s+\(?[^\s()]+:\d+\)?$")
#: What ends a message that is followed by a next step.
NEXT = " → "


def strip_passing(error: str) -> str:
    """Return an error's first line without what passes."""
    return PASSING.sub("#", error.partition("\n")[0])[:LONGEST]


def find_causes(text: str) -> frozenset[str]:
    """Find what the errors of a text are told by: each exception with its message, and the known errors. One of ours
    that only passes another on is none beside it."""
    causes = set()
    for line in text.splitlines():
        matches = [*_walk_exceptions(line)]
        foreign = [match for match in matches if not match.startswith(WorkbookError.__name__)]
        for match in foreign[-1:] or matches[-1:]:
            message = PLACE.sub("", match.partition(NEXT)[0])
            causes.add(strip_passing(message))
            known_error = explain_text(message)
            if known_error is not None:
                causes.add(f"known:{known_error.known.id}")
    return frozenset(causes)


def _walk_exceptions(line: str) -> list[str]:
    """Return what begins with an exception, also where one stands within the message of another."""
    exceptions, at = [], 0
    while match := EXCEPTION.search(line, at):
        exceptions.append(match.group())
        at = match.start() + match.group().index(": ") + 2
    return exceptions
