"""What was read from a copy is told under the name that the reader gave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ascend_workbook.findings.errors import WorkbookError


def replace_path(value: Any, copy: str, original: str) -> Any:
    """Replace the copy's path by the original's in all texts of the value."""
    if isinstance(value, str):
        return value.replace(copy, original)
    if isinstance(value, dict):
        return {replace_path(name, copy, original): replace_path(part, copy, original) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(replace_path(part, copy, original) for part in value)
    return value


@contextmanager
def name_original_in_errors(original: str, copy: str) -> Iterator[None]:
    """Let a WorkbookError from within name what was given instead of its copy."""
    try:
        yield
    except WorkbookError as error:
        arguments = replace_path(error.arguments, copy, original)
        if arguments == error.arguments:
            raise
        raise WorkbookError(error.key, **arguments) from error
