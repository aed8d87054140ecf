"""`run PLAN --list`: the runs that there would be, checked; nothing is started or written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ascend_workbook.batch.plan.checking import check
from ascend_workbook.batch.plan.model import Item, Plan
from ascend_workbook.batch.plan.reading import read_plan
from ascend_workbook.batch.plan.selection import Selection, select_items
from ascend_workbook.batch.stages import NOTEBOOKS
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language

COLUMNS = ("planned_run", "planned_stages", "planned_parameters", "planned_tags", "left_out")


def select_runs(
    path: str | os.PathLike[str],
    selection: Selection | None = None,
    *,
    lang: str | None = None,
    notebooks: Path = NOTEBOOKS,
) -> Plan:
    """Read and check the plan in a file, and keep the runs that the selection leaves. Raises WorkbookError."""
    return select_items(check(read_plan(Path(path), choose_language(lang)), notebooks), selection or Selection())


def list_plan(
    path: str | os.PathLike[str],
    selection: Selection | None = None,
    *,
    lang: str | None = None,
    notebooks: Path = NOTEBOOKS,
) -> Report:
    """List the runs that `run_plan` would run. Raises WorkbookError for what is wrong with the plan."""
    return make_listing(select_runs(path, selection, lang=lang, notebooks=notebooks))


def make_listing(plan: Plan) -> Report:
    """Make a report with a row per run, also for those left out, which say why."""
    rows = [_make_row(item) for item in plan.items]
    rows += [(left_out_run.name, None, None, None, left_out_run.why) for left_out_run in plan.left_out]
    args: dict[str, Scalar] = {"runs": len(plan.items), "left": len(plan.left_out)}
    key = "RUN420.listed_but" if plan.left_out else "RUN420.listed"
    finding = Finding("RUN420", Status.OK, key, args)
    facts = {
        "name": plan.name,
        "workers": plan.workers,
        "runs": [_describe_item(item) for item in plan.items],
        "left_out": [{"name": left_out_run.name, "why": left_out_run.why} for left_out_run in plan.left_out],
    }
    return Report("batch", "plan", (finding,), Table(tuple(map(Column, COLUMNS)), tuple(rows)), facts=facts)


def _make_row(item: Item) -> tuple[Scalar, ...]:
    stages: list[Scalar] = [Sentence(f"name.{stage}") for stage in item.stages]
    parameters: list[Scalar] = [f"{name}={value}" for name, value in item.parameters.items()]
    return item.name, stages, parameters, list(item.tags), ""


def _describe_item(item: Item) -> dict[str, Any]:
    return {
        "name": item.name,
        "stages": list(item.stages),
        "parameters": dict(item.parameters),
        "tags": list(item.tags),
        "lang": item.lang,
    }
