"""Every run of a plan against what the notebooks declare, before any of them starts."""

from __future__ import annotations

from pathlib import Path

from helpers.batch.parameters import assign, declared
from helpers.batch.plan.model import Plan
from helpers.batch.workbook import check_inputs, notebooks_of
from helpers.errors import WorkbookError


def check(plan: Plan, notebooks: Path) -> None:
    """Raises WorkbookError that names the run and what is wrong with it."""
    known: dict[Path, dict[str, str]] = {}
    for item in plan.items:
        try:
            found = notebooks_of(item.stages, notebooks / item.lang)
            for path in found.values():
                known[path] = known.get(path) or declared(path)
            for values in assign(item.parameters, {stage: known[path] for stage, path in found.items()}).values():
                check_inputs(values)
        except WorkbookError as error:
            raise WorkbookError("plan.run", run=item.name, error={"say": error.key, "args": error.arguments}) from error
