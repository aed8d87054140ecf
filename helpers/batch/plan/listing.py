"""`run PLAN --list`: the runs that there would be, checked; nothing is started or written."""

from __future__ import annotations

import os
from pathlib import Path

from helpers.batch.plan.checking import check
from helpers.batch.plan.model import Item, Plan
from helpers.batch.plan.reading import read
from helpers.batch.plan.selection import Selection, select
from helpers.batch.workbook import NOTEBOOKS
from helpers.finding import Finding, Status
from helpers.report import Column, Report, Table
from helpers.words import Scalar, language

COLUMNS = ("planned_run", "planned_stages", "planned_parameters", "planned_tags", "left_out")


def chosen(
    path: str | os.PathLike[str], selection: Selection | None = None, *, lang: str | None = None,
    notebooks: Path = NOTEBOOKS,
) -> Plan:
    """The plan in a file, wholly checked, with the runs that the selection leaves. Raises WorkbookError."""
    return select(check(read(Path(path), language(lang)), notebooks), selection or Selection())


def list_plan(
    path: str | os.PathLike[str], selection: Selection | None = None, *, lang: str | None = None,
    notebooks: Path = NOTEBOOKS,
) -> Report:
    """What `run_plan` would run. Raises WorkbookError for what is wrong with the plan."""
    return listing(chosen(path, selection, lang=lang, notebooks=notebooks))


def listing(plan: Plan) -> Report:
    """A row per run, also for those left out, which say why."""
    rows = [_row(item) for item in plan.items]
    rows += [(one.name, None, None, None, one.why) for one in plan.left_out]
    args: dict[str, Scalar] = {"runs": len(plan.items), "left": len(plan.left_out)}
    key = "RUN420.listed_but" if plan.left_out else "RUN420.listed"
    found = Finding("RUN420", Status.OK, key, args)
    facts = {"name": plan.name, "workers": plan.workers,
             "runs": [_facts(item) for item in plan.items],
             "left_out": [{"name": one.name, "why": one.why} for one in plan.left_out]}  # fmt: skip
    return Report("batch", "plan", (found,), Table(tuple(map(Column, COLUMNS)), tuple(rows)), facts=facts)


def _row(item: Item) -> tuple[Scalar, ...]:
    stages: list[Scalar] = [{"say": f"name.{stage}"} for stage in item.stages]
    parameters: list[Scalar] = [f"{name}={value}" for name, value in item.parameters.items()]
    return item.name, stages, parameters, list(item.tags), ""


def _facts(item: Item) -> dict[str, Scalar]:
    return {"name": item.name, "stages": list(item.stages), "parameters": dict(item.parameters),
            "tags": list(item.tags), "lang": item.lang}  # fmt: skip
