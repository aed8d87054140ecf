"""The command line of `run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_workbook import batch
from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report


def run(
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
    plan_options = (
        list_runs,
        reference,
        bless,
        workers,
        scheduler,
        keep_red,
        deadline,
        selection != batch.Selection([], [], [], []),
    )
    if plan and refused:
        raise WorkbookError("plan.says_itself", options=refused)
    if plan and list_runs:
        return batch.list_plan(plan, selection, lang=lang)
    if join:
        if plan or refused or force or any(plan_options):
            raise WorkbookError("plan.join_alone")
        return batch.join_shards(join, root=root, lang=lang, against=against)
    if not plan and (any(plan_options) or against):
        raise WorkbookError("plan.needed")
    if plan:
        return batch.run_plan(
            plan,
            workers=workers,
            root=root,
            lang=lang,
            force=force,
            selection=selection,
            keep_red=keep_red,
            deadline_s=deadline,
            against=against,
            scheduler=scheduler,
            reference=reference,
            bless=bless,
        )
    stages = tuple(stage_name for stage_name in batch.STAGES if not stage or stage_name in stage)
    return batch.run(
        "demo" if name is None else name,
        dict(parameter or {}),
        stages=stages,
        lang=lang,
        root=root,
        force=force,
        timeout_s=1800 if timeout is None else timeout,
    )


def junit(report: Report) -> str | None:
    """Return the file beside the page, which a run and a plan write by themselves; None where there is none."""
    page = report.facts.get("page")
    return Path(page).with_name("junit.xml").read_text(encoding="utf-8") if page else None


ROWS = {
    "plan": Row("plan", metavar="PLAN", nargs="?"),
    "named": Row("--plan", dest="named", hidden=True),  # what many try first: told how it is written
    "list_runs": Row("--list", dest="list"),
    "only": Row(metavar="PATTERN"),
    "skip": Row(metavar="PATTERN"),
    "shard": Row(metavar="I/N", kind=batch.parse_shard),
    "join": Row(metavar="DIR", nargs="+"),
    "scheduler": Row(metavar="ADDRESS"),
    "reference": Row(metavar="DIR"),
    "deadline": Row(metavar="SECONDS"),
    "against": Row(metavar="WHAT"),
    "parameter": Row(metavar=("NAME", "VALUE"), nargs=2, short="-p"),
    "stage": Row(choices=batch.STAGES, default=None),
    "timeout": Row(metavar="SECONDS"),
}
EXAMPLES = """
  ascend-workbook run --name demo -p device auto -p script notebooks/scripts/resnet_digits.py
  ascend-workbook run --name night -p device npu -p steps 20 --force --json night.json
  ascend-workbook run --name zh --lang zh --stage environment --stage migration
  ascend-workbook run --name demo -p precision.steps 3
  ascend-workbook run plan.yaml --workers 2
  ascend-workbook run plan.yaml --list --skip-tag slow
  ascend-workbook run plan.yaml --reference references --bless
  ascend-workbook run plan.yaml --reference references
  ascend-workbook run plan.yaml --only "*resnet*" --shard 1/4
  ascend-workbook run --join runs/night
  ascend-workbook run --join obs://my-bucket/runs/night --against last
  ascend-workbook run plan.yaml --keep-red --deadline 28800
  ascend-workbook run plan.yaml --against last
  ascend-workbook run plan.yaml --scheduler tcp://10.0.0.1:8786 --root /mnt/shared/runs
  ascend-workbook run plan.yaml --root obs://my-bucket/runs
"""
VERB = Verb(run=run, rows=ROWS, junit=junit, examples=EXAMPLES)
