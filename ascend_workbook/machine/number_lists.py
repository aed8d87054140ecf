"""Lists of ranks, steps or inputs as text: numbers and ranges, `0,3-5`; every verb takes and writes them alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ascend_workbook.findings.errors import WorkbookError

#: More are no rank and no step, and a range up to them would be without end
MOST_DIGITS = 6


def parse_numbers(listed: str | Iterable[int], name: str) -> list[int]:
    """Return the numbers of `0,3-5` as [0, 3, 4, 5], each once, in order; numbers are taken as they are and begin at 0.

    Raises WorkbookError, naming the option `name`, for anything else.
    """
    if not isinstance(listed, str):
        return sorted(set(listed))
    chosen: set[int] = set()
    for piece in listed.split(","):
        first, dash, last = (part.strip() for part in piece.partition("-"))
        last = last if dash else first
        if not (is_number(first) and is_number(last) and int(first) <= int(last)):
            raise WorkbookError("numbers.no_list", name=name, given=listed)
        chosen.update(range(int(first), int(last) + 1))
    return sorted(chosen)


def is_number(text: str, most_digits: int = MOST_DIGITS) -> bool:
    """Return whether a text is a whole number of so many digits; an int64 holds those of 18."""
    return text.isascii() and text.isdecimal() and len(text) <= most_digits


def format_spans(numbers: Sequence[int]) -> str:
    """Write [2, 3, 4, 7] as `2-4, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
