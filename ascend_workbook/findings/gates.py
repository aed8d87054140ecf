"""--fail-on: classes of findings that make a verdict FAIL, and so the exit code 1, wherever one of them occurs."""

from __future__ import annotations

from collections.abc import Iterable

from ascend_workbook.findings.errors import WorkbookError


def parse_fail_on(fail_on: Iterable[str], classes: tuple[str, ...]) -> tuple[str, ...]:
    """Parse the classes of --fail-on, each once; one text may name several between commas.

    Raises WorkbookError for a name that is none of `classes`.
    """
    texts = [fail_on] if isinstance(fail_on, str) else fail_on
    names = tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in classes]
    if unknown:
        raise WorkbookError("gate.no_class", name=unknown[0], classes=list(classes))
    return names
