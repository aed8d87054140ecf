"""A run's folder, or one report, as the data of a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.findings.sentence import LANGUAGES, NextStep, Sentence
from ascend_workbook.page.answers import answer_questions, find_part, walk_parts
from ascend_workbook.page.code import collect_sources, describe_code, placed_findings
from ascend_workbook.page.first import OPTIONAL, TABS, Card, make_reference_card, order_cards
from ascend_workbook.page.reports import describe_finding, describe_report
from ascend_workbook.page.texts import in_both, number_of, say_both, show_both
from ascend_workbook.redaction.exits import redact_words

STAGES = tuple(TABS)
#: Files of a stage's folder that the page links to.
#: Reports of the run as a whole, beside its own: their files without `.json`.
BESIDE = ("acceptance", "reference")
#: A report larger than this is not looked for beside a stage's own.
LARGEST_BYTES = 64 * 2**20
FILES = ("report.json", "notebook.ipynb", "outcome.json", "report.junit.xml")
#: Parameters of a notebook that the runner sets.
OURS = ("lang", "run_dir")


@dataclass(frozen=True)
class Run:
    """What a run's folder holds: the run's own report, where there is one, and each stage's."""

    name: str
    folder: Path
    result: Optional[Report]
    stages: dict[str, Optional[Report]]
    beside: tuple[Report, ...] = ()
    files: tuple[str, ...] = field(default_factory=tuple)


def load_run(folder: Path) -> Run:
    """Load a run's folder. Raises WorkbookError `page.nothing` where it holds no report, `page.no_run` where it is a
    stage's or a plan's."""
    result = _load(folder / "report.json")
    is_plan = (folder / "summary.json").is_file()  # its report is of `run` too
    if result is not None and (is_plan or result.verb != "run"):
        verb = Sentence("page.tab.plan" if is_plan else f"name.{result.verb}")
        raise WorkbookError("page.no_run", path=str(folder), verb=verb)
    stages = {stage: _load_stage(folder / stage) for stage in STAGES}
    if result is not None and "outcomes" in result.facts:
        outcomes = result.facts["outcomes"] or ()  # one that waits may have a report of an earlier start
        there = [str(outcome.get("stage")) for outcome in outcomes if outcome.get("state") != "not_run"]
        stages = {stage: report if stage in there else None for stage, report in stages.items()}
    asked = result.facts.get("commands") or {} if result else {}
    stages = {stage: report for stage, report in stages.items() if report or stage in asked or stage not in OPTIONAL}
    named = [f"{stage}/{file}" for stage in STAGES for file in FILES]
    files = tuple(name for name in ("report.json", "junit.xml", *named) if (folder / name).is_file())
    name = str(result.facts.get("name") or folder.name) if result else folder.name
    beside = tuple(filter(None, (_load(folder / f"{name}.json") for name in BESIDE)))
    if result is None and not any(stages.values()) and not beside:
        raise WorkbookError("page.nothing", path=str(folder))
    return Run(name, folder, result, stages, beside, files)


def _load_stage(folder: Path) -> Report | None:
    """Load a stage's report; what else the stage saved beside it, such as its advice, becomes a part of it."""
    report = _load(folder / "report.json")
    if report is None:
        return None
    verbs = {part.verb for part in walk_parts(report)}
    headlines = {repr(part.headline) for part in walk_parts(report)}
    others = (_load(path) for path in sorted(folder.glob("*.json")) if path.name != "report.json" and _is_small(path))
    more = tuple(
        other for other in others if other and other.verb not in verbs and repr(other.headline) not in headlines
    )
    return replace(report, parts=(*report.parts, *more)) if more else report


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= LARGEST_BYTES


def _load(path: Path) -> Report | None:
    """Load a report; None where there is none, or one that cannot be read and so vouches for nothing."""
    with suppress(WorkbookError):
        return load_report(path) if path.is_file() else None
    return None


def order_causes(run: Run) -> list[Card]:
    """Return the causes of a run as cards, what is to be mended first in front, each with what repeats its stage."""
    there = {stage: report for stage, report in run.stages.items() if report is not None}
    failed, blocked = _find_failed(run), _find_blocked(run)
    judged = {stage: report for stage, report in there.items() if stage not in blocked}
    waiting = [stage for stage in run.stages if stage not in (*there, *failed, *blocked)]
    commands = {row["tab"]: tuple(row["command"]) for row in _describe_commands(run, there)["stages"]}
    for report in run.beside:
        card = make_reference_card(report) if report.verb == "reference" else None
        failed = {**failed, "reference": card} if card else failed
    cards = order_cards(judged, failed, waiting)
    return [replace(card, command=card.command or commands.get(TABS.get(card.stage, ""), ())) for card in cards]


def describe_run(run: Run) -> dict[str, Any]:
    """Describe a run for its page: the answers, what to fix first, and a tab for each stage."""
    there = {stage: report for stage, report in run.stages.items() if report is not None}
    failed, blocked = _find_failed(run), _find_blocked(run)
    migrated = there.get("migration")
    sources = collect_sources(migrated) if migrated else {}
    code_findings = placed_findings(migrated) if migrated else []
    left_out = (migrated.facts.get("sources_left_out") or {}) if migrated else {}
    described = {
        "kind": "run",
        "name": run.name,
        "script": _name_script(there),
        "created": next(report for report in (run.result, *there.values(), *run.beside) if report).created,
        "running": run.result is not None and bool(run.result.facts.get("running")),
        "simulated": any(report.simulated for report in there.values()),
        "circumstances": _circumstances(there),
        "answers": answer_questions(run.stages, failed, blocked),
        "cards": [card.describe() for card in order_causes(run)],
        "unlooked": list(_list_unlooked(there)),
        "tabs": {TABS[stage]: describe_report(report) for stage, report in there.items()},
        "code": describe_code(sources, code_findings, left_out),
        "run": _describe_commands(run, there),
        "beside": [describe_report(report) for report in run.beside],
    }
    return described


def describe_single(report: Report) -> dict[str, Any]:
    """Describe one report for a page of its own."""
    sources = collect_sources(report) if report.stage in ("migration", "planning") else {}
    findings = placed_findings(report) if report.stage == "migration" or sources else []
    described = {
        "kind": "report",
        "name": in_both(report.title),
        "created": report.created,
        "running": False,
        "simulated": report.simulated,
        "circumstances": in_both(lambda lang: "\n".join(report.circumstances(lang))),
        "tabs": {TABS.get(report.stage, "report"): describe_report(report)},
        "code": describe_code(sources, findings),
        "tab": TABS.get(report.stage, "report"),
    }
    if report.stage == "planning":  # its picture is that of a run's tab
        stages = {report.stage: report}
        cards = [card for card in order_cards(stages) if card.stage == report.stage]
        described["cards"] = [replace(card, command=card.command or report.command).describe() for card in cards]
        described["answers"] = answer_questions(stages, {}, {})
    return described


def _find_failed(run: Run) -> dict[str, Card]:
    """Find what ended stages otherwise than their reports say, as cards by stage; that of the run as a whole is ""."""
    cards: dict[str, Card] = {}
    for finding in _stage_findings(run):
        stage = str(finding.place.path).partition("/")[0] if finding.place else ""
        if finding.status is not Status.FIX or stage not in ("", *STAGES):
            continue
        if run.stages.get(stage) is None or finding.key != "RUN400.red":  # a red verdict is the report's own
            kind = "stops" if stage else "run"
            cause, place = Sentence(finding.key, **finding.args), str(finding.place or "")
            cards[stage] = Card(kind, Status.FIX, stage, cause, place=place, remedy=_tell_step(finding))
    return cards


def _tell_step(finding: Finding) -> NextStep | None:
    """Return what to do about what ended a stage; of an error that nobody knows, whom to ask. One of ours says it."""
    error = str(finding.args.get("error", ""))
    if finding.key == "RUN400.cell_failed" and not error.startswith(WorkbookError.__name__):
        return NextStep("EXP002.unknown", error=error)
    return NextStep(finding.key, **finding.args) if finding.hint("en") else None


def _find_blocked(run: Run) -> dict[str, str]:
    """Find the stages that wait for another, by name."""
    outcomes = run.result.facts.get("outcomes") or () if run.result else ()
    return {str(each["stage"]): str(each["blocked_by"]) for each in outcomes if each.get("blocked_by") in STAGES}


def _stage_findings(run: Run) -> tuple[Finding, ...]:
    return run.result.findings if run.result else ()


def _circumstances(there: Mapping[str, Report]) -> Any:
    """Tell once what holds for all stages: simulated numbers, faults on purpose, unknown types."""
    return in_both(
        lambda lang: "\n".join(dict.fromkeys(line for report in there.values() for line in report.circumstances(lang)))
    )


def _name_script(there: Mapping[str, Report]) -> str:
    for report in there.values():
        for part in walk_parts(report):
            script = part.facts.get("script")
            if isinstance(script, str) and script:
                return Path(script).name
    return ""


def _list_unlooked(there: Mapping[str, Report]) -> Any:
    """Yield once each what the parts of the stages could not look at."""
    texts = set()
    for stage, report in there.items():
        for part in walk_parts(report):
            for finding in part.findings:
                row = describe_finding(finding)
                if finding.status is Status.NOT_LOOKED and json.dumps(row["text"]) not in texts:
                    texts.add(json.dumps(row["text"]))
                    yield {"tab": TABS[stage], "text": row["text"]}


def _tell_status(stage: str, run: Run, failed: Mapping[str, Card], blocked: Mapping[str, str]) -> int:
    """Tell a stage's status as its answer does: what ended it weighs more than what it had saved."""
    report = run.stages.get(stage)
    if stage in blocked:
        return number_of(Status.NOT_LOOKED)
    return number_of(failed[stage].status if stage in failed else report.status if report else Status.NOT_LOOKED)


def _make_command(run: Run, stage: str) -> tuple[str, ...]:
    """Make the command of a stage of an older run, that kept none: with the parameters of its executed notebook, else
    the command or the parameters of the whole run; empty where none of these was kept."""
    parameters = _read_parameters(run.folder / stage / "notebook.ipynb")
    if parameters is not None:
        lang = ["--lang", str(parameters["lang"])] if parameters.get("lang") in LANGUAGES else []
        pairs = [word for name, value in parameters.items() if name not in OURS for word in ("-p", name, str(value))]
        return tuple(redact_words([*_name_stage(run, stage), *lang, *pairs]))
    if run.result and run.result.command:
        return run.result.command
    parameters_of_run = run.result.facts.get("parameters") if run.result else None
    if not isinstance(parameters_of_run, Mapping):
        return ()
    pairs = [word for name, value in parameters_of_run.items() for word in ("-p", str(name), str(value))]
    return tuple(redact_words(["ascend-workbook", "run", "--name", run.name, *pairs]))


def _name_stage(run: Run, stage: str) -> tuple[str, ...]:
    return ("ascend-workbook", "run", "--name", run.name, "--stage", stage)


def _read_parameters(notebook: Path) -> dict[str, Any] | None:
    """Read what papermill was given for an executed notebook; None where that was not kept."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        parameters = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]["papermill"]["parameters"]
        return parameters if isinstance(parameters, dict) else None
    return None


def _describe_commands(run: Run, there: Mapping[str, Report]) -> dict[str, Any]:
    """Describe how to repeat the run and each stage, with what versions it ran, and which files it left."""
    facts = run.result.facts if run.result else {}
    failed, blocked = _find_failed(run), _find_blocked(run)
    outcomes = {str(each.get("stage")): each for each in facts.get("outcomes") or ()}
    stages = []
    for stage in run.stages:
        outcome, report = outcomes.get(stage, {}), there.get(stage)
        row: dict[str, Any] = {"stage": show_both(Sentence(f"page.tab.{TABS[stage]}")), "tab": TABS[stage]}
        row |= {"status": _tell_status(stage, run, failed, blocked), "tier": report.tier if report else ""}
        row |= {"seconds": outcome.get("seconds") or None, "reused": bool(outcome.get("reused"))}
        known = outcome.get("command") or (report.command if report else ()) or facts.get("commands", {}).get(stage)
        row["command"] = [*(known or _make_command(run, stage) or _name_stage(run, stage))]
        row |= {} if known or _make_command(run, stage) else {"note": say_both("page.unkept")}
        stages.append(row)
    checks = find_part(there["environment"], "machine_check") if "environment" in there else None
    chosen = (checks.facts.get("machine") or {}).get("chosen") or {} if checks else {}
    return {
        "stages": stages,
        "versions": {**facts.get("versions", {}), **chosen.get("versions", {})},
        "parameters": facts.get("parameters") or {},
        "files": list(run.files),
    }
