"""The stages' notebooks in order, their outcomes as one report, the index page after every stage."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable

from ascend_workbook import __version__
from ascend_workbook.batch import reuse
from ascend_workbook.batch.causes import find_causes
from ascend_workbook.batch.execute import (
    FAILED,
    GOOD,
    NOT_RUN,
    RED,
    Outcome,
    execute_notebook,
    load_outcome,
    saved_report,
)
from ascend_workbook.batch.fingerprint import device_versions, hash_parts, join_hashes
from ascend_workbook.batch.mirror import Mirror, local_root
from ascend_workbook.batch.stages import (
    NOTEBOOKS,
    STAGES,
    assign_parameters,
    check_at_least_one,
    declared_parameters,
    find_notebooks,
    run_folder,
)
from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.errors import Stopped, WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, Sentence, choose_language, hint, say
from ascend_workbook.page.render import draw_run
from ascend_workbook.redaction.exits import redact_words
from ascend_workbook.redaction.known import remember_arguments
from ascend_workbook.storage import is_address, open_storage
from ascend_workbook.storage.saving import mark_results


def run(
    name: str,
    parameters: dict[str, str],
    *,
    stages: tuple[str, ...] = STAGES,
    lang: str | None = None,
    root: str | os.PathLike[str] = "runs",
    force: bool = False,
    keep_going: bool = False,
    timeout_s: int = 1800,
    notebooks: Path = NOTEBOOKS,
    here: dict[str, str] | None = None,
    say_progress: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> Report:
    """Run the stages' notebooks into `root/name`; a row per stage, Fix where any is Fix. What comes behind the first
    Fix waits for it and is not looked at; with `keep_going` it runs all the same, and is not looked at only where the
    same error ended it. Where `root` is an address (obs://), into `runs/name` here, and each stage is sent to
    `root/name` when it has ended. The folder holds index.html, report.json and junit.xml, the last with the cases that
    a plan's has of a run. `parameters` are texts, checked against what the notebooks declare before anything starts. A
    cell's time limit is `timeout_s` seconds. `here` is what `device_versions` says, where that is known already. Raises
    WorkbookError for what keeps the run from starting."""
    remember_arguments(word for pair in parameters.items() for word in ("-p", *pair))
    lang = choose_language(lang)
    check_at_least_one(timeout=timeout_s)
    folder = run_folder(name, local_root(root))
    outcomes: list[Outcome] = []
    commands = _make_commands(name, parameters, stages, lang, os.fspath(root), notebooks, keep_going=keep_going)
    shown = {key: redact_words(["-p", key, value])[-1] for key, value in parameters.items()}
    about: dict[str, Any] = {"parameters": shown, "versions": _describe_versions(here or {})}
    about["commands"] = {stage: [*words] for stage, words in commands.items() if stage}
    publish = partial(_publish_run, name, folder, stages, lang, command=commands[""], about=about)
    publish(outcomes, running=True)  # from here on an earlier run's green page is gone
    mark_results(folder)
    for name in ("acceptance.json", "reference.json"):  # of an earlier run
        (folder / name).unlink(missing_ok=True)
    mirror = Mirror(root, folder)
    try:
        notebooks_found, values_by_stage = _prepare_stages(parameters, stages, notebooks / lang)
        here = here or device_versions(parameters.get("device", "auto"))
        about["versions"] = _describe_versions(here)
    except WorkbookError as error:
        mirror.finish_sending(publish(outcomes, trouble=error))
        raise
    except KeyboardInterrupt:
        publish(outcomes)
        raise Stopped("run.stopped_before") from None
    for number, (stage, notebook) in enumerate(notebooks_found.items(), 1):
        first = next((outcome.stage for outcome in outcomes if is_to_fix(outcome, folder)), "")
        if first and not keep_going:
            outcomes += [_make_waiting(folder, later, first, commands) for later in [*notebooks_found][number - 1 :]]
            break
        say_progress(say("run.stage", lang, number=number, of=len(notebooks_found), stage=Sentence(f"name.{stage}")))
        values = {**values_by_stage[stage], "lang": lang, "run_dir": str(folder)}
        basis = hash_parts(notebook, {**values, "run_dir": ""}, here)
        why = why_again(folder / stage, basis, force=force)
        if why:
            say_progress(say("run.stage_again", lang, why=why))
        try:
            before = None if why else load_outcome(folder / stage)
            outcome = replace(before, reused=True, command=commands[stage]) if before else None
            outcome = outcome or execute_notebook(stage, notebook, values, basis, timeout_s, commands[stage])
            outcome = replace(outcome, blocked_by=_find_blocker(outcome, outcomes, folder))
        except KeyboardInterrupt:
            stopped = load_outcome(folder / stage)
            mirror.finish_sending(publish([*outcomes, *filter(None, [stopped])], tier=here["tier"]))
            page = str(folder / "index.html")
            raise Stopped("run.stopped", stage=Sentence(f"name.{stage}"), page=page) from None
        except BaseException:  # such as a full disk: the page must not tell that it goes on
            with suppress(OSError):
                publish(outcomes, tier=here["tier"])
            raise
        outcomes.append(outcome)
        publish(outcomes, tier=here["tier"], running=True)
        mirror.send_part(stage)
        state = Sentence("run.state.reused" if outcome.reused else f"run.state.{outcome.state}")
        if outcome.blocked_by:
            state = Sentence("RUN400.blocked", stage=Sentence(f"run.tab.{outcome.blocked_by}"))
        words: dict[str, Scalar] = {"stage": Sentence(f"name.{stage}"), "state": state, "seconds": outcome.seconds}
        say_progress(say("run.stage_ended", lang, **words))
    with suppress(WorkbookError):  # no stage saved a report
        from ascend_workbook.batch import acceptance  # it knows plans, which know this module

        acceptance.judge_as_it_stands(folder)
    report = mirror.finish_sending(publish(outcomes, tier=here["tier"]))
    _write_junit(report, folder, stages, lang)  # as red as the exit code also where not all could be sent
    return report


def _write_junit(report: Report, folder: Path, stages: tuple[str, ...], lang: str) -> None:
    from ascend_workbook.batch.results import junit  # it knows plans, which know this module

    open_storage(str(folder)).write_text("junit.xml", junit.render_run(report, folder, stages, lang))


def _prepare_stages(
    parameters: dict[str, str], stages: tuple[str, ...], notebooks: Path
) -> tuple[dict[str, Path], dict[str, dict[str, object]]]:
    """Return each stage's notebook and its parameters as values. Raises WorkbookError where one cannot start."""
    notebooks_found = find_notebooks(stages, notebooks)
    declarations = {stage: declared_parameters(notebook) for stage, notebook in notebooks_found.items()}
    values_by_stage = assign_parameters(parameters, declarations)
    for values in values_by_stage.values():
        # each path is looked for where the user stands, then in the project; a baseline in object storage is fetched by
        # its stage
        for name, is_there in (("script", Path.is_file), ("baseline", Path.exists)):
            value: Any = values.get(name)
            if not value:
                continue
            if name == "baseline" and is_address(value):
                if not open_storage(value).exists(""):
                    raise WorkbookError("run.no_baseline", path=str(value))
                continue
            path = next((path for path in (Path(value), NOTEBOOKS.parent / value) if is_there(path)), None)
            if path is None:
                raise WorkbookError(f"run.no_{name}", path=str(value))
            values[name] = str(path.resolve())
    return notebooks_found, values_by_stage


def hash_run(parts_by_stage: dict[str, dict[str, str]]) -> str:
    """Hash all that the result of a run depends on into one."""
    hashes = [join_hashes(parts) for parts in parts_by_stage.values()]
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()[:16]


def hash_run_parts(
    parameters: dict[str, str], here: dict[str, str], stages: tuple[str, ...], lang: str, notebooks: Path
) -> dict[str, dict[str, str]]:
    """Hash what the result of a run depends on, by stage and by name. Raises WorkbookError as `run` does."""
    notebooks_found, values_by_stage = _prepare_stages(parameters, stages, notebooks / lang)
    return {
        stage: hash_parts(notebook, {**values_by_stage[stage], "lang": lang, "run_dir": ""}, here)
        for stage, notebook in notebooks_found.items()
    }


def _publish_run(
    name: str,
    folder: Path,
    stages: tuple[str, ...],
    lang: str,
    outcomes: list[Outcome],
    *,
    command: tuple[str, ...] = (),
    about: Mapping[str, Any] = MappingProxyType({}),
    running: bool = False,
    tier: str = "",
    trouble: WorkbookError | None = None,
) -> Report:
    """Write the page, the report and junit.xml as things stand. `trouble` is what kept the run from starting."""
    result = summarize_run(name, folder, outcomes, stages, tier)
    result = replace(result, command=command, facts={**result.facts, **about, "running": running})
    if trouble is not None:
        sentence: Scalar = Sentence(trouble.key, **trouble.arguments)
        failed = Finding("RUN400", Status.FIX, "RUN400.could_not_start", {"error": sentence}, weight=300)
        result = replace(result, findings=(*result.findings, failed))
    storage = open_storage(str(folder))
    storage.write_text("report.json", result.to_json())
    draw_run(folder, lang)
    _write_junit(result, folder, stages, lang)
    return result


def summarize_run(name: str, folder: Path, outcomes: list[Outcome], stages: tuple[str, ...], tier: str) -> Report:
    """Make the run's report: a row per stage, also for those that have not run yet."""
    columns = (*map(Column, ("stage", "status")), Column("verdict", wrap=60), Column("tier"), Column("seconds", "s"))
    rows: list[tuple[Scalar, ...]] = []
    findings: list[Finding] = []
    described: list[dict[str, Any]] = []
    by_stage = {outcome.stage: outcome for outcome in outcomes}
    for stage in stages:
        finding, stage_tier, seconds = _judge_stage(stage, by_stage.get(stage), folder)
        findings.append(finding)
        if stage in by_stage:
            outcome = by_stage[stage]
            described.append(
                {**vars(outcome), "command": list(outcome.command), **_describe_cause(finding, folder / stage)}
            )
        sentence: Scalar = Sentence(finding.key, **finding.args)
        rows.append((Sentence(f"name.{stage}"), finding.status.json, sentence, stage_tier, seconds))
    findings += _all_green(dict(zip(stages, findings)))
    reports = filter(None, (saved_report(folder / outcome.stage) for outcome in outcomes))
    simulated = [report for report in reports if report.simulated]
    numerics = "ascend" if any(report.ascend_numerics for report in simulated) else "cpu"
    faults = dict.fromkeys(fault for report in simulated for fault in report.on_purpose)
    return Report(
        "batch",
        "run",
        tuple(findings),
        Table(columns, tuple(rows)),
        Chart("bars", "stage", ("seconds",), "s"),
        facts={
            "name": name,
            "page": str(folder / "index.html"),
            "outcomes": described,
            "cause": next(filter(None, (outcome["cause"] for outcome in described)), None),
            "simulator": {"numerics": numerics, "faults": list(faults)} if simulated else {},
        },
        tier=tier,
    )


def _all_green(by_stage: dict[str, Finding]) -> list[Finding]:
    """The run's own sentence once every stage has ended and none failed; it is no better than the worst stage. One that
    could not look at all it was asked is not green."""
    worst = max(finding.status for finding in by_stage.values())
    if worst is Status.FIX or any(finding.key == "RUN400.not_run" for finding in by_stage.values()):
        return []
    doubtful: dict[Status, list[Scalar]] = {Status.LOOK: [], Status.NOT_LOOKED: []}
    for stage, finding in by_stage.items():
        doubtful.get(finding.status, []).append(Sentence(f"name.{stage}"))
    keys = {Status.LOOK: "RUN400.warned", Status.NOT_LOOKED: "RUN400.unseen"}
    doubts: list[Scalar] = [Sentence(keys[status], which=names) for status, names in doubtful.items() if names]
    args: dict[str, Scalar] = {"stages": len(by_stage)}
    key = "RUN400.green_but" if doubts else "RUN400.green"
    return [Finding("RUN400", worst, key, {**args, "doubts": doubts}, weight=200)]


def _judge_stage(stage: str, outcome: Outcome | None, folder: Path) -> tuple[Finding, str, float | None]:
    """Return what a stage's outcome means, its tier and seconds."""
    if outcome is None:
        return Finding("RUN400", Status.NOT_LOOKED, "RUN400.not_run"), "", None
    if outcome.blocked_by:
        args: dict[str, Scalar] = {"stage": Sentence(f"run.tab.{outcome.blocked_by}")}
        seconds = None if outcome.state == NOT_RUN else outcome.seconds
        return Finding("RUN400", Status.NOT_LOOKED, "RUN400.blocked", args), "", seconds
    place = Place(f"{stage}/notebook.ipynb")
    report = saved_report(folder / stage)
    tier = report.tier if report else ""
    if outcome.state in (GOOD, RED) and report is not None:
        key = "RUN400.red" if outcome.state == RED else "RUN400.good"
        headline: Scalar = Sentence(report.headline.key, **report.headline.args) if report.headline else None
        status = Status.FIX if outcome.state == RED else report.status
        return Finding("RUN400", status, key, {"verdict": headline}, place, weight=10), tier, outcome.seconds
    if outcome.state == GOOD:  # every cell ran, but no report was saved: nothing vouches for the stage
        outcome = replace(outcome, state="no_report")
    args = {"cell": outcome.cell, "error": outcome.error}
    key, known_error = f"RUN400.{outcome.state}", explain_text(outcome.error)
    if outcome.state == FAILED and known_error is not None:
        key = "RUN400.cell_failed_known"
        args |= {name: getattr(known_error, name) for name in ("cause", "confidence", "fix", "source")}
    return Finding("RUN400", Status.FIX, key, args, place, weight=20), tier, outcome.seconds


def is_to_fix(outcome: Outcome, folder: Path) -> bool:
    """Return whether the stage is Fix."""
    return _judge_stage(outcome.stage, outcome, folder)[0].status is Status.FIX


def _make_waiting(folder: Path, stage: str, first: str, commands: Mapping[str, tuple[str, ...]]) -> Outcome:
    """Make the outcome of a stage that waits for another's mending. What an earlier start of it ended in, if it was not
    good, says nothing any more."""
    before = load_outcome(folder / stage)
    if before is not None and before.state != GOOD:
        (folder / stage / "outcome.json").unlink(missing_ok=True)
    return Outcome(stage, NOT_RUN, "", blocked_by=first, command=commands[stage])


def _find_blocker(outcome: Outcome, before: list[Outcome], folder: Path) -> str:
    """Return the earlier stage that the same error ended, or an empty text."""
    causes = find_causes(_tell_error(outcome, folder)) if is_to_fix(outcome, folder) else frozenset()
    alike = (
        earlier.stage
        for earlier in before
        if not earlier.blocked_by and is_to_fix(earlier, folder) and causes & find_causes(_tell_error(earlier, folder))
    )
    return next(alike, "")


def _tell_error(outcome: Outcome, folder: Path) -> str:
    """Return in English what ended a stage: its error, and what its own report names as the cause."""
    report = saved_report(folder / outcome.stage) if outcome.state == RED else None
    cause = report.cause if report else None
    return "\n".join([outcome.error, say(cause["key"], "en", **cause["args"]) if cause else ""])


def _describe_cause(finding: Finding, folder: Path) -> dict[str, Any]:
    """Describe a stage for those who read JSON: its status, what made it Fix and the next step in both languages."""
    report = saved_report(folder)
    cause = None
    if finding.status is Status.FIX:
        cause = (report.cause if report and finding.key == "RUN400.red" else None) or finding.cause
    keys = [(cause["key"], cause["args"])] if cause else []
    remedies = {lang: next(filter(None, (hint(key, lang, **args) for key, args in keys)), "") for lang in LANGUAGES}
    return {"status": finding.status.json, "cause": cause, "remedy": remedies}


def _make_commands(
    name: str,
    parameters: Mapping[str, str],
    stages: tuple[str, ...],
    lang: str,
    root: str,
    notebooks: Path,
    *,
    keep_going: bool,
) -> dict[str, tuple[str, ...]]:
    """Make the words that repeat the run, under an empty name, and each of its stages; paths are relative to here."""
    words = ["ascend-workbook", "run", "--name", name, *(["--root", _shorten_path(root)] if root != "runs" else [])]
    words += ["--lang", lang]
    pairs = {key: ["-p", key, _shorten_path(value)] for key, value in parameters.items()}
    whole = [*words, *(word for stage in stages if stages != STAGES for word in ("--stage", stage))]
    whole += ["--keep-going"] if keep_going else []
    commands = {"": tuple(redact_words([*whole, *chain.from_iterable(pairs.values())]))}
    for stage in stages:
        with suppress(WorkbookError):  # no notebook: the run says so
            declared = declared_parameters(find_notebooks((stage,), notebooks / lang)[stage])
            own = [pair for key, pair in pairs.items() if _takes(stage, key, declared)]
            commands[stage] = tuple(redact_words([*words, "--stage", stage, *chain.from_iterable(own)]))
    return commands


def _takes(stage: str, key: str, declared: Mapping[str, str]) -> bool:
    taker, _, short = key.rpartition(".")
    return taker in ("", stage) and short in declared


def _shorten_path(text: str) -> str:
    """Return an absolute path below the current folder relative to it; any other text as it is."""
    path = Path(text)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and Path.cwd() in path.parents else text


def _describe_versions(here: Mapping[str, str]) -> dict[str, str]:
    """Describe what the run rests on: Python, torch, torch_npu, CANN, this workbook, and the device's tier."""
    versions = {name: here.get(name, "") for name in ("torch", "torch_npu", "cann", "tier")}
    return {"python": platform.python_version(), **versions, "workbook": __version__}


def why_again(folder: Path, basis: dict[str, str], *, force: bool = False) -> Scalar:
    """Return why a stage that an earlier start ended runs again; empty for one that is reused or new."""
    before = load_outcome(folder)
    if before is None:
        return ""
    if force:
        return Sentence("reuse.force")
    if before.state != GOOD or saved_report(folder) is None:
        return Sentence("reuse.not_good")
    return reuse.why_again(folder, basis)
