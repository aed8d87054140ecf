"""The command lines of `run` and `accept`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ascend_workbook import batch
from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language, say, show
from ascend_workbook.page.run import load_run, order_causes


def run_notebooks(
    plan: str | None,
    lang: str | None,
    named: str | None = None,
    workers: int = 0,
    *,
    list_runs: bool = False,
    tag: Sequence[str] = (),
    skip_tag: Sequence[str] = (),
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    shard: tuple[int, int] | None = None,
    join: Sequence[str] = (),
    scheduler: str = "",
    reference: str = "",
    bless: bool = False,
    keep_going: bool = False,
    keep_red: bool = False,
    deadline: float = 0,
    against: str = "",
    name: str | None = None,
    parameter: Mapping[str, str] | None = None,
    stage: Sequence[str] = (),
    root: str = "runs",
    force: bool = False,
    timeout: int | None = None,
) -> Report:
    """Run the notebooks once, or as a plan says; or join the shards of a plan."""
    if named is not None:
        raise WorkbookError("plan.no_option", plan=named)
    selection = batch.Selection(list(tag), list(skip_tag), list(only), list(skip), shard)
    once = {"--name": name, "-p": parameter, "--stage": stage, "--timeout": timeout}
    refused = [option for option, value in once.items() if value not in (None, ())]
    run_plan = partial(
        batch.run_plan,
        workers=workers,
        keep_going=keep_going,
        keep_red=keep_red,
        deadline_s=deadline,
        scheduler=scheduler,
        reference=reference,
        bless=bless,
    )
    of_plan_only = {**run_plan.keywords, "keep_going": False}
    of_plan = list_runs or any(of_plan_only.values()) or selection != batch.Selection([], [], [], [])
    if plan and refused:
        raise WorkbookError("plan.says_itself", options=refused)
    if plan and list_runs:
        return batch.list_plan(plan, selection, lang=lang)
    if join:
        if plan or refused or force or keep_going or of_plan:
            raise WorkbookError("plan.join_alone")
        return batch.join_shards(join, root=root, lang=lang, against=against)
    if not plan and (of_plan or against):
        raise WorkbookError("plan.needed")
    if plan:
        return run_plan(plan, selection=selection, root=root, lang=lang, force=force, against=against)
    stages = tuple(stage_name for stage_name in batch.ALL_STAGES if stage_name in stage) if stage else batch.STAGES
    return batch.run(
        "demo" if name is None else name,
        dict(parameter or {}),
        stages=stages,
        lang=lang,
        root=root,
        force=force,
        keep_going=keep_going,
        timeout_s=1800 if timeout is None else timeout,
    )


def read_junit(report: Report) -> str | None:
    """Return the file beside the page, which a run and a plan write by themselves; None where there is none."""
    page = report.facts.get("page")
    return Path(page).with_name("junit.xml").read_text(encoding="utf-8") if page else None


def describe_first_fix(report: Report, lang: str | None = None) -> list[str]:
    """Describe what of a run is to be fixed first: the cause, its place, what to do, the command that repeats it."""
    if report.verb != "run" or report.status is not Status.FIX or "page" not in report.facts:
        return []
    lang, card = choose_language(lang), order_causes(load_run(Path(report.facts["page"]).parent))[0]
    if not card.stage:
        return []
    tab: Scalar = Sentence(f"run.tab.{card.stage}")
    lines = ["", say("run.card", lang, stage=tab, cause=card.cause)]
    remedy = show(card.remedy, lang) if card.remedy else ""
    words = {"place": card.place, "remedy": remedy, "command": shlex.join(card.command)}
    return lines + [say(f"run.card.{name}", lang, **{name: text}) for name, text in words.items() if text]


VERBS = {
    "run": Verb(
        run=run_notebooks,
        rows={
            "plan": Row("plan", metavar="PLAN", nargs="?"),
            "named": Row("--plan", dest="named", hidden=True),  # what many try first: told how it is written
            "list_runs": Row("--list", dest="list"),
            "only": "PATTERN",
            "skip": "PATTERN",
            "shard": Row(metavar="I/N", kind=batch.parse_shard),
            "join": Row(metavar="DIR", nargs="+"),
            "scheduler": "ADDRESS",
            "reference": "DIR",
            "deadline": "SECONDS",
            "against": "WHAT",
            "parameter": Row(metavar=("NAME", "VALUE"), nargs=2, short="-p"),
            "stage": Row(choices=batch.ALL_STAGES, default=None),
            "timeout": "SECONDS",
        },
        junit=read_junit,
        end=describe_first_fix,
    ),
    "accept": Verb(batch.accept, {"target": "NAME=VALUE", "confirm": Row(metavar=("CODE", "TEXT"), nargs=2)}),
}
