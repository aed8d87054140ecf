"""`accept`: the checklist of a run, or of each run of a plan, and its page."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from helpers.batch.acceptance import page
from helpers.batch.acceptance.checklist import VERDICT, checklist
from helpers.batch.acceptance.evidence import NO_REPORTS, gather
from helpers.batch.acceptance.targets import load, parse
from helpers.batch.campaign.ended import LEFT_OUT
from helpers.batch.plan.model import Targets
from helpers.batch.shards.record import FOLDER
from helpers.batch.workbook import folder_of
from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.report import Column, Report, Table
from helpers.storage import open_storage
from helpers.words import Scalar, language

NAME = "acceptance"


def accept(
    folder: str | os.PathLike[str], *, target: Sequence[str] = (), confirm: Mapping[str, str] | None = None,
    lang: str | None = None,
) -> Report:  # fmt: skip
    """Judges the run or the plan in the folder and writes acceptance.html and acceptance.json into it.

    `target`: texts such as "loss=1%" or "throughput=80%" (see targets.parse); without one, those of the plan that the
    run belongs to. `confirm`: what a person answers for, by an item's code. The report is OK only where every item is
    met on an NPU. Raises WorkbookError where the folder holds no reports, or for a target or a code that cannot be.
    """
    root, given = Path(folder).resolve(), parse(target) if target else None
    names = _runs(root)
    if not names:
        return judge_run(root, given or load(root), language(lang), confirm or {})
    parts = [_of_plan(one, given or load(one), language(lang), confirm or {}) for one in names.values()]
    report = _joined(root, names, parts)
    page.write(report, root, language(lang))
    return report


def _of_plan(folder: Path, targets: Targets, lang: str, confirm: Mapping[str, str]) -> Report:
    """The checklist of one run of a plan; a run without reports is not looked at, and so is not accepted."""
    try:
        return judge_run(folder, targets, lang, confirm)
    except WorkbookError as error:
        if error.key != NO_REPORTS:
            raise
        return Report("batch", "accept", (Finding(VERDICT, Status.SKIPPED, error.key, dict(error.arguments)),))


def judge_run(
    folder: Path, targets: Targets, lang: str, confirm: Mapping[str, str] | None = None, *, strict: bool = True
) -> Report:
    """The checklist of one run, written into its folder."""
    report = checklist(gather(folder, targets), confirm or {}, strict=strict)
    page.write(report, folder, lang)
    return report


def section_of(folder: Path, lang: str) -> str:
    """The checklist of a run, written and as a piece of its page. It judges no more than it saw, so `not yet` is no
    failure here. Raises WorkbookError where the folder holds no reports."""
    report = judge_run(folder, load(folder), lang, strict=False)
    return page.folded(report, lang)


def _runs(root: Path) -> dict[str, Path]:
    """The runs of a plan's folder with their own, also of its shards, but for those that were left out and have no
    results; none where it is a run's."""
    try:
        told = json.loads(open_storage(str(root)).read_text("summary.json"))
        runs = {str(run["name"]): (str(run["state"]), str(run.get("page", ""))) for run in told["runs"]}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("accept.summary", path=str(root / "summary.json"), error=str(cause)) from cause
    folders = {name: folder_of(name, _of_shard(root, page)) for name, (_, page) in runs.items()}
    return {name: folder for name, folder in folders.items()
            if runs[name][0] != LEFT_OUT or (folder / "report.json").is_file()}  # fmt: skip


def _of_shard(root: Path, page: str) -> Path:
    """The folder of the shard that a run's page is in, of those in the plan's own; else the plan's."""
    above = page.split("/")[0]
    return root / above if FOLDER.fullmatch(above) else root


def _joined(root: Path, names: Mapping[str, Path], parts: list[Report]) -> Report:
    verdicts = [part.findings[0] for part in parts]
    rows = tuple(
        (name, one.status.name, {"say": one.key, "args": one.args}) for name, one in zip(names, verdicts)
    )
    good = sum(one.status is Status.OK for one in verdicts)
    args: dict[str, Scalar] = {"runs": len(names), "accepted": good}
    status = Status.OK if good == len(names) else Status.FAIL
    findings = [Finding(VERDICT, status, "ACP500.plan", args, weight=400)]
    places = [(folder / f"{NAME}.html").relative_to(root).as_posix() for folder in names.values()]
    findings += [replace(one, place=Place(place)) for place, one in zip(places, verdicts)]
    table = Table((Column("planned_run", wrap=40), Column("status"), Column("verdict", wrap=60)), rows)
    tiers = [tier for tier in ("npu", "npu-simulated") if any(part.tier == tier for part in parts)]
    return Report("batch", "accept", tuple(findings), table, tier=(tiers or [""])[-1],
                  facts={"folder": str(root), "runs": list(names)}, answers=(VERDICT,))  # fmt: skip
