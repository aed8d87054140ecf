"""The four notebooks in order, their outcomes as one report, the index page after every stage."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Callable

from helpers import own_results
from helpers.batch import index, reuse
from helpers.batch.execute import FAILED, GOOD, RED, Outcome, execute, remembered, saved_report
from helpers.batch.fingerprint import fingerprint, parts, versions
from helpers.batch.mirror import Mirror, local_root
from helpers.batch.parameters import assign, at_least_one, declared
from helpers.diagnosis import explanation
from helpers.errors import Stopped, WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.report import Chart, Column, Report, Table
from helpers.storage import is_address, open_storage
from helpers.words import Scalar, language, say

STAGES = ("environment", "migration", "precision", "profiling")
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def run(
    name: str,
    parameters: dict[str, str],
    *,
    stages: tuple[str, ...] = STAGES,
    lang: str | None = None,
    root: str | os.PathLike[str] = "runs",
    force: bool = False,
    timeout_s: int = 1800,
    notebooks: Path = NOTEBOOKS,
    here: dict[str, str] | None = None,
    say_progress: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> Report:
    """Runs the stages' notebooks into `root/name`; a row per stage, red where any is red. Where `root` is an address
    (obs://), into `runs/name` here, and each stage is sent to `root/name` when it has ended.

    The folder holds index.html, report.json and junit.xml, the last with the cases that a plan's has of a run.
    `parameters` are texts, checked against what the notebooks declare before anything starts. A cell's time
    limit is `timeout_s` seconds. `here` is what `versions` says, where that is known already. Raises WorkbookError for
    what keeps the run from starting.
    """
    lang = language(lang)
    at_least_one(timeout=timeout_s)
    folder = folder_of(name, local_root(root))
    outcomes: list[Outcome] = []
    publish = partial(_publish, name, folder, stages, lang)
    publish(outcomes)  # from here on an earlier run's green page is gone
    own_results.mark(folder)
    for stale in ("acceptance.html", "acceptance.json"):
        (folder / stale).unlink(missing_ok=True)
    mirror = Mirror(root, folder)
    try:
        found, given = _prepared(parameters, stages, notebooks / lang)
        here = here or versions(parameters.get("device", "auto"))
    except WorkbookError as error:
        mirror.close(publish(outcomes, trouble=error))
        raise
    except KeyboardInterrupt:
        raise Stopped("run.stopped_before") from None
    for number, (stage, notebook) in enumerate(found.items(), 1):
        say_progress(say("run.stage", lang, number=number, of=len(found), stage={"say": f"name.{stage}"}))
        values = {**given[stage], "lang": lang, "run_dir": str(folder)}
        basis = _parts(notebook, values, here)
        why = why_again(folder / stage, basis, force=force)
        if why:
            say_progress(say("run.stage_again", lang, why=why))
        try:
            outcome = (None if why else _reusable(folder / stage)) or execute(stage, notebook, values, basis, timeout_s)
        except KeyboardInterrupt:
            stopped = remembered(folder / stage)
            mirror.close(publish([*outcomes, *filter(None, [stopped])], tier=here["tier"]))
            page = str(folder / "index.html")
            raise Stopped("run.stopped", stage={"say": f"name.{stage}"}, page=page) from None
        outcomes.append(outcome)
        publish(outcomes, tier=here["tier"])
        mirror.part(stage)
        say_progress(
            say("run.stage_ended", lang, stage={"say": f"name.{stage}"}, state=_state(outcome), seconds=outcome.seconds)
        )
    report = mirror.close(publish(outcomes, tier=here["tier"], acceptance=_acceptance(folder, lang)))
    _write_junit(report, folder, stages, lang)  # as red as the exit code also where not all could be sent
    return report


def _write_junit(report: Report, folder: Path, stages: tuple[str, ...], lang: str) -> None:
    from helpers.batch.results import junit  # it knows plans, which know this module

    open_storage(str(folder)).write_text("junit.xml", junit.render_run(report, folder, stages, lang))


def _acceptance(folder: Path, lang: str) -> str:
    """The checklist of the run as a piece of its page; empty where no stage saved a report."""
    from helpers.batch import acceptance  # it knows plans, which know this module

    try:
        return acceptance.section_of(folder, lang)
    except WorkbookError:
        return ""


def _prepared(
    parameters: dict[str, str], stages: tuple[str, ...], notebooks: Path
) -> tuple[dict[str, Path], dict[str, dict[str, Any]]]:
    """Stage -> its notebook, and its parameters as values. Raises WorkbookError for what keeps it from starting."""
    found = notebooks_of(stages, notebooks)
    given = assign(parameters, {stage: declared(notebook) for stage, notebook in found.items()})
    for values in given.values():
        check_inputs(values)
    return found, given


def key_of(
    parameters: dict[str, str], here: dict[str, str], *, stages: tuple[str, ...], lang: str, notebooks: Path = NOTEBOOKS
) -> str:
    """Hash of all that the result of a run depends on: that of each stage. Raises WorkbookError as `run` does."""
    by_stage = parts_of(parameters, here, stages=stages, lang=lang, notebooks=notebooks)
    return hashlib.sha256(json.dumps([fingerprint(one) for one in by_stage.values()]).encode()).hexdigest()[:16]


def parts_of(
    parameters: dict[str, str], here: dict[str, str], *, stages: tuple[str, ...], lang: str, notebooks: Path = NOTEBOOKS
) -> dict[str, dict[str, str]]:
    """The same by stage and by name."""
    found, given = _prepared(parameters, stages, notebooks / lang)
    return {stage: _parts(notebook, {**given[stage], "lang": lang}, here) for stage, notebook in found.items()}


def _parts(notebook: Path, values: dict[str, Any], here: dict[str, str]) -> dict[str, str]:
    """Where the results go is none of them."""
    return parts(notebook, {**values, "run_dir": ""}, here)


def _publish(
    name: str,
    folder: Path,
    stages: tuple[str, ...],
    lang: str,
    outcomes: list[Outcome],
    *,
    tier: str = "",
    acceptance: str = "",
    trouble: WorkbookError | None = None,
) -> Report:
    """Writes the page, the report and junit.xml as things stand; `trouble` is what kept the run from starting,
    `acceptance` the checklist's HTML once all is done."""
    result = summary(name, folder, outcomes, stages, tier)
    if trouble is not None:
        said: Scalar = {"say": trouble.key, "args": trouble.arguments}
        failed = Finding("RUN400", Status.FAIL, "RUN400.could_not_start", {"error": said}, weight=300)
        result = replace(result, findings=(*result.findings, failed))
    storage = open_storage(str(folder))
    storage.write_text("index.html", index.render(result, folder, outcomes, lang, acceptance))
    storage.write_text("report.json", result.to_json())
    _write_junit(result, folder, stages, lang)
    return result


def notebooks_of(stages: tuple[str, ...], folder: Path) -> dict[str, Path]:
    """Stage -> its notebook (`02_migration.ipynb`), in the workbook's order."""
    found: dict[str, Path] = {}
    for stage in stages:
        paths = sorted(folder.glob(f"*_{stage}.ipynb"))
        if not paths:
            raise WorkbookError("run.no_notebook", stage=stage, folder=str(folder), known=list(STAGES))
        found[stage] = paths[0]
    return found


def summary(name: str, folder: Path, outcomes: list[Outcome], stages: tuple[str, ...], tier: str) -> Report:
    """The run as a report: a row per stage, also for those that have not run yet."""
    names = ("stage", "run_result", "status", "verdict", "tier")
    columns = (*(Column(each) for each in names), Column("seconds", "s"))
    rows: list[tuple[Scalar, ...]] = []
    findings: list[Finding] = []
    by_stage = {outcome.stage: outcome for outcome in outcomes}
    for stage in stages:
        finding, stage_tier, seconds = _judge(stage, by_stage.get(stage), folder)
        findings.append(finding)
        said: Scalar = {"say": finding.key, "args": finding.args}
        outcome: Scalar = {"say": "run.red" if finding.status is Status.FAIL else "run.green"}
        if stage not in by_stage:
            outcome = {"say": "RUN400.not_run"}
        rows.append(({"say": f"name.{stage}"}, outcome, finding.status.name, said, stage_tier, seconds))
    findings += _all_green(dict(zip(stages, findings)))
    return Report(
        "batch",
        "run",
        tuple(findings),
        Table(columns, tuple(rows)),
        Chart("bars", "stage", ("seconds",), "s"),
        facts={
            "name": name,
            "page": str(folder / "index.html"),
            "outcomes": [vars(outcome) for outcome in outcomes],
            "simulator": _simulator([saved_report(folder / outcome.stage) for outcome in outcomes]),
        },
        tier=tier,
    )


def _looked(report: Report) -> bool:
    """Whether it, or a part of it, judged anything at all."""
    return any(found.status is not Status.SKIPPED for found in report.findings) or any(map(_looked, report.parts))


def _simulator(reports: list[Report | None]) -> dict[str, Any]:
    """With which numbers and faults on purpose the simulated NPU ran the stages; empty where it ran none."""
    simulated = [report for report in reports if report is not None and report.simulated]
    numerics = "ascend" if any(report.ascend_numerics for report in simulated) else "cpu"
    faults = dict.fromkeys(fault for report in simulated for fault in report.on_purpose)
    return {"numerics": numerics, "faults": list(faults)} if simulated else {}


def _all_green(by_stage: dict[str, Finding]) -> list[Finding]:
    """The run's own sentence once every stage has ended and none failed; it is no better than the worst stage."""
    worst = max(finding.status for finding in by_stage.values())
    if worst is Status.FAIL or any(finding.key == "RUN400.not_run" for finding in by_stage.values()):
        return []
    warned = [stage for stage, finding in by_stage.items() if finding.status is Status.WARN]
    unseen = [stage for stage, finding in by_stage.items() if _unseen(finding)]
    doubts: list[Scalar] = [
        {"say": key, "args": {"which": [{"say": f"name.{stage}"} for stage in stages]}}
        for key, stages in (("RUN400.warned", warned), ("RUN400.unseen", unseen))
        if stages
    ]
    key = "RUN400.green_but" if doubts else "RUN400.green"
    return [Finding("RUN400", worst, key, {"stages": len(by_stage), "doubts": doubts}, weight=200)]


def _unseen(finding: Finding) -> bool:
    """Whether the stage left something out, and the run's word for it is there."""
    verdict = finding.args.get("verdict")
    return finding.status is Status.SKIPPED or (isinstance(verdict, dict) and verdict.get("say") == "RUN400.partly")


def _judge(stage: str, outcome: Outcome | None, folder: Path) -> tuple[Finding, str, float | None]:
    """What a stage's outcome means, its tier and seconds."""
    if outcome is None:
        return Finding("RUN400", Status.SKIPPED, "RUN400.not_run"), "", None
    place = Place(f"{stage}/notebook.ipynb")
    report = saved_report(folder / stage)
    tier = report.tier if report else ""
    if outcome.state in (GOOD, RED) and report is not None:
        key = "RUN400.red" if outcome.state == RED else "RUN400.reused" if outcome.reused else "RUN400.good"
        headline: Scalar = {"say": report.headline.key, "args": report.headline.args} if report.headline else None
        status = Status.FAIL if outcome.state == RED else report.status
        if status is Status.SKIPPED and _looked(report):  # an answer with gaps; its own page marks each as SKIPPED
            status, headline = Status.NOTE, {"say": "RUN400.partly", "args": {"verdict": headline}}
        return Finding("RUN400", status, key, {"verdict": headline}, place, weight=10), tier, outcome.seconds
    if outcome.state == GOOD:  # every cell ran, but no report was saved: nothing vouches for the stage
        outcome = replace(outcome, state="no_report")
    args: dict[str, Scalar] = {"cell": outcome.cell, "error": outcome.error}
    key, found = f"RUN400.{outcome.state}", explanation(outcome.error)
    if outcome.state == FAILED and found is not None:
        key, args = "RUN400.cell_failed_known", {**args, "cause": found.cause, "fix": found.fix}
    return Finding("RUN400", Status.FAIL, key, args, place, weight=20), tier, outcome.seconds


def why_again(folder: Path, basis: dict[str, str], *, force: bool = False) -> Scalar:
    """Why the stage in the folder, which an earlier time ended, runs again; empty for one that is reused or new."""
    before = remembered(folder)
    if before is None:
        return ""
    if force:
        return {"say": "reuse.force"}
    if before.state != GOOD or saved_report(folder) is None:
        return {"say": "reuse.not_good"}
    return reuse.why_again(folder, basis)


def _reusable(folder: Path) -> Outcome | None:
    """The earlier outcome, where there is one; nothing is against it."""
    before = remembered(folder)
    return None if before is None else replace(before, reused=True)


def folder_of(name: str, root: str | os.PathLike[str]) -> Path:
    """Where a run is kept. Raises WorkbookError for what is no plain folder name."""
    if not name or name in (".", "..") or any(letter in name for letter in "/\\"):
        raise WorkbookError("run.name", name=name)
    return (Path(root) / name).resolve()


def check_inputs(values: dict[str, Any]) -> None:
    """Makes the paths of a stage's parameters whole. Raises WorkbookError for one that is not there."""
    _check_script(values)
    _check_baseline(values)


def _check_script(values: dict[str, Any]) -> None:
    """A script is looked for where the user stands, then in the project."""
    script = values.get("script")
    if not script:
        return
    for path in (Path(script), NOTEBOOKS.parent / script):
        if path.is_file():
            values["script"] = str(path.resolve())
            return
    raise WorkbookError("run.no_script", path=str(script))


def _check_baseline(values: dict[str, Any]) -> None:
    """The same of a baseline that was recorded elsewhere; one in object storage is fetched by its stage."""
    given = values.get("baseline")
    if not given:
        return
    if is_address(given):
        if not open_storage(given).exists(""):
            raise WorkbookError("run.no_baseline", path=str(given))
        return
    root = Path(given)
    for path in (root, NOTEBOOKS.parent / root):
        if path.exists():
            values["baseline"] = str(path.resolve())
            return
    raise WorkbookError("run.no_baseline", path=str(given))


def _state(outcome: Outcome) -> Scalar:
    return {"say": "run.state.reused" if outcome.reused else f"run.state.{outcome.state}"}
