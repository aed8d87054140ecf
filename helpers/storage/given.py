"""What was read from a copy is told under the name that the reader gave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from helpers.errors import WorkbookError


def renamed(value: Any, copy: str, given: str) -> Any:
    """The value with `given` where its texts have `copy`; of lists, tuples and mappings all that is in them."""
    if isinstance(value, str):
        return value.replace(copy, given)
    if isinstance(value, dict):
        return {renamed(name, copy, given): renamed(one, copy, given) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(renamed(one, copy, given) for one in value)
    return value


@contextmanager
def errors_name(given: str, copy: str) -> Iterator[None]:
    """A WorkbookError from within that names the copy names what was given instead."""
    try:
        yield
    except WorkbookError as error:
        told = renamed(error.arguments, copy, given)
        if told == error.arguments:
            raise
        raise WorkbookError(error.key, **told) from error
