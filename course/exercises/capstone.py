"""The capstone: one script that the student has not seen, through all four stages, each judged by the stage's reports.

    check_stage("environment", where, run)
    handed_in(run, "en")

Decisions are plain data; the reports of each stage are kept as `ascend-workbook run` keeps them, so that `accept` reads
them. A later stage takes the script as the migration left it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ascend_workbook import batch, environment, profiling
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, join_reports, load_report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.migration.dry_run import dry_run
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.verdict import join as join_migration
from ascend_workbook.precision.align import align
from ascend_workbook.precision.capture import capture
from course.exercises.checking import check_task
from course.exercises.editing import SCRIPTS, apply_edits
from course.exercises.outcome import DONE, Outcome
from course.exercises.record import read_record
from course.exercises.running import npu_tier
from course.exercises.task import Found, Place, Point, Task
from helpers.notebook import NotebookRun

SCRIPT = "spectra.py"
ARGUMENTS = ("--seed", "0")


def headline_of(report: Report) -> Sentence:
    assert report.headline
    return Sentence(report.headline.key, **report.headline.args)


def _require_fields(answer: object, fields: tuple[str, ...], kind: type = object) -> dict[str, Any]:
    """Return the answer where it is a dict of these fields. Raises WorkbookError `course.capstone.fields`."""
    if isinstance(answer, dict) and all(name in answer and isinstance(answer[name], kind) for name in fields):
        return answer
    raise WorkbookError("course.capstone.fields", fields=list(fields), given=type(answer).__name__)


HALVES = ("float16", "bfloat16")


def check_device(answer: object, place: Place) -> Found:
    """Judge the first stage: which device the script goes to, and in which 16-bit format it may compute there."""
    device, dtype = (_require_fields(answer, ("device", "dtype"), str)[name] for name in ("device", "dtype"))
    dtype = dtype.removeprefix("torch.")
    machine = environment.check(device, work_folder=place.folder)
    if machine.tier != device or not device.startswith("npu"):
        raise WorkbookError("course.capstone.no_device", given=device, tier=machine.tier or "-")
    computed = environment.compute_check(device, size=64)
    environment.join(machine, computed).save(place.folder)
    kinds = {str(row.get("dtype")) for row in computed.facts.get("measurements", ()) if "max_error" in row}
    halves = sorted(kinds.intersection(HALVES))
    points = [
        (machine.status < Status.FIX, Sentence("course.capstone.ready", said=headline_of(machine), tier=device)),
        (dtype in halves, Sentence("course.capstone.dtype", dtype=dtype, known=halves)),
    ]
    return Found.of_points(points, machine.simulated)


#: Classes of a scan that a person has to decide.
OPEN = ("manual", "unsupported")


def check_migration(answer: object, place: Place) -> Found:
    """Judge the second stage: what a person must change, until `scan` finds none and both sides train alike."""
    text = apply_edits(answer, (SCRIPTS / SCRIPT).read_text(encoding="utf-8"))
    script = place.folder / SCRIPT
    script.write_text(text, encoding="utf-8")
    scanned = scan(script)
    left = {finding.place.line for finding in scanned.findings if finding.place and finding.args.get("class") in OPEN}
    if left:
        raise WorkbookError("course.capstone.open", lines=sorted(left))
    clean = Sentence("course.capstone.clean", count=sum(scanned.facts["counts"].values()))
    changed = rewrite(script, place.folder / "migrated")
    ran = dry_run(script, ARGUMENTS, npu_tier(), 4, out=place.folder / "dry_run")
    join_migration(scanned, changed, ran).save(place.folder)
    return Found.of_points([(True, clean), (ran.status < Status.LOOK, headline_of(ran))], ran.simulated)


def _migrated_script(folder: Path) -> Path:
    """Return the script as the migration left it, from the folder of another stage. Raises WorkbookError."""
    path = folder.parent / STAGES["migration"].id / SCRIPT
    if not path.is_file():
        raise WorkbookError("course.capstone.first", stage="migration")
    return path


STEPS = 3


def check_precision(answer: object, place: Place) -> Found:
    """Judge the third stage: a command that makes both sides the same experiment, and what the comparison then says.

    The captures are taken as decided; `align` tells whether they can be compared at all, and which answer is right.
    """
    decided = _require_fields(answer, ("arguments", "dump_steps", "aligned"))
    arguments, steps, aligned = decided["arguments"], decided["dump_steps"], decided["aligned"]
    if not isinstance(arguments, list) or any(not isinstance(item, str) for item in arguments):
        raise WorkbookError("course.capstone.arguments", given=str(arguments)[:80])
    listed = isinstance(steps, list) and steps
    if not listed or any(type(item) is not int or not 0 <= item < STEPS for item in steps):
        raise WorkbookError("course.capstone.steps", given=str(steps)[:80], steps=STEPS)
    if not isinstance(aligned, bool):
        raise WorkbookError("course.capstone.yes_no", given="aligned")
    script, tier = _migrated_script(place.folder), npu_tier()
    sides = {"baseline": "baseline", "target": tier}

    def capture_side(name: str) -> Report:
        options: dict[str, Any] = {"steps": STEPS, "dump_steps": tuple(steps), "force": True, "estimate": False}
        return capture(script, arguments, out=place.folder / name, device=sides[name], **options)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(capture_side, sides))
    report = align(place.folder / "baseline", place.folder / "target")
    report.save(place.folder)
    good = report.status < Status.LOOK
    judged = (aligned is good, Sentence("course.capstone.judged", given=aligned))
    return Found.of_points([(good, headline_of(report)), judged], tier == "npu-simulated")


#: Of the time that the first loop waited for data, at most so much may be left.
LEFT = 0.5
#: Of the numbers fetched by aten::item in a step at least so many must be gone: the network has more gradients.
FEWER = 6.0
#: Relative, of the losses of the same steps: autocast's bfloat16 has 8 bits; another order of sums rounds otherwise.
TOLERANCE = 1e-2


def check_profiling(answer: object, place: Place) -> Found:
    """Judge the fourth stage: the two things on the host that cost most, changed without changing what is computed.

    Measured on the CPU, where both lie: what a simulated NPU takes says nothing of a real one.
    """
    script = _migrated_script(place.folder)
    changed, text = place.folder / SCRIPT, apply_edits(answer, script.read_text(encoding="utf-8"))
    changed.write_text(text, encoding="utf-8")
    before, after = _measure_script(script, place.folder / "before"), _measure_script(changed, place.folder / "after")
    profiling.join(*after).save(place.folder)
    return Found.of_points(_compare_profiles(before, after))


def _measure_script(script: Path, out: Path) -> tuple[Report, Report]:
    recorded = profiling.profile(script, ARGUMENTS, device="cpu", steps=6, warmup=2, out=out).or_raise()
    return recorded, profiling.analyse(recorded.facts["profile"])


def _compare_profiles(before: tuple[Report, Report], after: tuple[Report, Report]) -> list[Point]:
    """Return the points that the losses stayed, that it waits less for data, and that it fetches fewer numbers."""

    def facts_of(verb: str) -> list[Mapping[str, Any]]:
        return [next(part.facts for part in side[1].parts if part.verb == verb) for side in (before, after)]

    pairs = zip_longest(*(side[0].facts["losses"] for side in (before, after)))
    worst = max((_compare_losses(*pair) for pair in pairs), default=math.inf)
    first, now = (facts["parts_ns"]["loading"] / 1e6 for facts in facts_of("time_by_kind"))
    items, left = (facts["calls_per_step"].get("aten::item", 0.0) for facts in facts_of("top_operators"))
    losses = "same_losses" if worst <= TOLERANCE else "no_losses" if worst == math.inf else "other_losses"
    same, loads_less, reads_less = worst <= TOLERANCE, now <= LEFT * first, left <= items - FEWER
    ms = {"before": round(first, 1), "after": round(now, 1)}
    return [
        (same, Sentence(f"course.capstone.{losses}", **({} if worst == math.inf else {"worst": worst}))),
        (loads_less, Sentence(f"course.capstone.{'loads_less' if loads_less else 'loads_still'}", **ms)),
        (
            reads_less,
            Sentence(f"course.capstone.{'reads_less' if reads_less else 'reads_still'}", before=items, count=left),
        ),
    ]


def _compare_losses(first: float | None, now: float | None) -> float:
    """Return how far two losses are apart, relative to the first; infinite where one is missing or not finite."""
    if first is None or now is None or not math.isfinite(first - now):
        return math.inf
    return abs(first - now) / abs(first or now) if first != now else 0.0


CHECKS = {
    "environment": check_device,
    "migration": check_migration,
    "precision": check_precision,
    "profiling": check_profiling,
}
#: In the order of the notebook: later ones take the script as the migration left it.
STAGES = {stage: Task(f"capstone_{stage}", stage, check) for stage, check in CHECKS.items()}


def check_stage(stage: str, answer: object, run: NotebookRun) -> Outcome:
    """Judge the decisions of one of STAGES: plain data, or a function that returns it; recorded beside the reports.

    Whatever the answer is, nothing is raised; None, the notebook's stub, is not yet. Raises WorkbookError
    `course.unknown_task` for a stage that there is not.
    """
    if stage not in STAGES:
        raise WorkbookError("course.unknown_task", given=stage, known=list(STAGES))
    return check_task(STAGES[stage], answer, run_dir=run.folder)


def handed_in(run: NotebookRun, lang: str) -> Report:
    """Return the four stages' reports as one, their page and acceptance.json beside; one without is not looked at."""
    base, gathered = run.folder / "course", run.folder / "course" / "run"
    reports, findings = [], []
    tasks = read_record(run.folder).tasks
    for stage, task in STAGES.items():
        saved = base / task.id / "report.json"
        if saved.is_file():  # kept under the name of the stage, as a run has it
            reports.append(load_report(saved))
            (gathered / stage).mkdir(parents=True, exist_ok=True)
            (gathered / stage / "report.json").write_bytes(saved.read_bytes())
        if task.id not in tasks or tasks[task.id].status != DONE:
            name = Sentence(f"course.capstone.{stage}")
            findings.append(
                Finding("CAP400", Status.NOT_LOOKED, "course.capstone.not_done", {"stage": name}, weight=500)
            )
    if not reports:
        return Report("batch", "capstone", tuple(findings))
    whole = join_reports("batch", "capstone", [*reports, batch.accept(gathered, lang=lang)])
    return replace(whole, findings=(*findings, *whole.findings))
