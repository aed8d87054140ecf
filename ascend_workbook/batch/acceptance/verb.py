"""`accept`: the checklist of a run, or of each run of a plan, and its page."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from ascend_workbook.batch.acceptance import page
from ascend_workbook.batch.acceptance.checklist import VERDICT, judge_checklist
from ascend_workbook.batch.acceptance.evidence import NO_REPORTS, gather_evidence
from ascend_workbook.batch.acceptance.targets import load_targets, parse_targets
from ascend_workbook.batch.campaign.ended import LEFT_OUT
from ascend_workbook.batch.plan.model import Targets
from ascend_workbook.batch.shards.record import FOLDER
from ascend_workbook.batch.stages import run_folder
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language
from ascend_workbook.storage import open_storage

NAME = "acceptance"


def accept(
    folder: str | os.PathLike[str],
    *,
    target: Sequence[str] = (),
    confirm: Mapping[str, str] | None = None,
    lang: str | None = None,
) -> Report:
    """Judge the run or the plan in the folder and write acceptance.html and acceptance.json into it.

    `target`: texts such as "loss=1%" or "throughput=80%" (see targets.parse); without one, those of the plan that the
    run belongs to. `confirm`: what a person answers for, by an item's code. The report is OK only where every item is
    met on an NPU. Raises WorkbookError where the folder holds no reports, or for a target or a code that cannot be.
    """
    root, targets = Path(folder).resolve(), parse_targets(target) if target else None
    names = _find_runs(root)
    if not names:
        return judge_run(root, targets or load_targets(root), choose_language(lang), confirm or {})
    parts = [
        _judge_plan_run(run_folder, targets or load_targets(run_folder), choose_language(lang), confirm or {})
        for run_folder in names.values()
    ]
    report = _join_reports(root, names, parts)
    page.write_page(report, root, choose_language(lang))
    return report


def _judge_plan_run(folder: Path, targets: Targets, lang: str, confirm: Mapping[str, str]) -> Report:
    """Judge one run of a plan. A run without reports is not looked at, and so is not accepted."""
    try:
        return judge_run(folder, targets, lang, confirm)
    except WorkbookError as error:
        if error.key != NO_REPORTS:
            raise
        return Report("batch", "accept", (Finding(VERDICT, Status.SKIPPED, error.key, dict(error.arguments)),))


def judge_run(
    folder: Path, targets: Targets, lang: str, confirm: Mapping[str, str] | None = None, *, strict: bool = True
) -> Report:
    """Judge one run and write the checklist into its folder."""
    report = judge_checklist(gather_evidence(folder, targets), confirm or {}, strict=strict)
    page.write_page(report, folder, lang)
    return report


def section_of(folder: Path, lang: str) -> Markup:
    """Judge a run and render its checklist as a piece of its page. It judges no more than it saw, so `not yet` is no
    failure here. Raises WorkbookError where the folder holds no reports."""
    report = judge_run(folder, load_targets(folder), lang, strict=False)
    return page.render_section(report, lang, 3, folded=f"{NAME}.html")


def _find_runs(root: Path) -> dict[str, Path]:
    """Return the runs of a plan with their folders, those of its shards too. Runs that were left out and have no
    results are not among them; a single run's folder has none."""
    try:
        summary = json.loads(open_storage(str(root)).read_text("summary.json"))
        runs = {str(run["name"]): (str(run["state"]), str(run.get("page", ""))) for run in summary["runs"]}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("accept.summary", path=str(root / "summary.json"), error=str(cause)) from cause
    folders = {name: run_folder(name, _shard_folder(root, page)) for name, (_, page) in runs.items()}
    return {
        name: folder
        for name, folder in folders.items()
        if runs[name][0] != LEFT_OUT or (folder / "report.json").is_file()
    }


def _shard_folder(root: Path, page: str) -> Path:
    """Return the folder of the shard that a run's page is in, else the plan's own. Only shards in the plan's folder
    count.
    """
    above = page.split("/")[0]
    return root / above if FOLDER.fullmatch(above) else root


def _join_reports(root: Path, names: Mapping[str, Path], parts: list[Report]) -> Report:
    verdicts = [part.findings[0] for part in parts]
    rows = tuple(
        (name, verdict.status.name, Sentence(verdict.key, **verdict.args)) for name, verdict in zip(names, verdicts)
    )
    good = sum(verdict.status is Status.OK for verdict in verdicts)
    args: dict[str, Scalar] = {"runs": len(names), "accepted": good}
    status = Status.OK if good == len(names) else Status.FAIL
    findings = [Finding(VERDICT, status, "ACP500.plan", args, weight=400)]
    places = [(folder / f"{NAME}.html").relative_to(root).as_posix() for folder in names.values()]
    findings += [replace(verdict, place=Place(place)) for place, verdict in zip(places, verdicts)]
    table = Table((Column("planned_run", wrap=40), Column("status"), Column("verdict", wrap=60)), rows)
    tiers = [tier for tier in ("npu", "npu-simulated") if any(part.tier == tier for part in parts)]
    return Report(
        "batch",
        "accept",
        tuple(findings),
        table,
        tier=(tiers or [""])[-1],
        facts={"folder": str(root), "runs": list(names)},
        answers=(VERDICT,),
    )
