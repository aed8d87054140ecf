"""Third stage: a command that makes both sides the same experiment, and what the comparison of the two then says.

The captures are taken as decided; `align` tells whether they can be compared at all, and which answer is right.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.precision.align import align
from ascend_workbook.precision.capture import capture
from course.capstone.environment import headline_of
from course.capstone.migration import script_of
from course.running import npu_tier
from course.task import Found, Place, Task

FIELDS = ("arguments", "dump_steps", "aligned")
STEPS = 3


def check(answer: Any, place: Place) -> Found:
    trouble = _find_trouble(answer)
    script = script_of(place.folder)
    if trouble or script is None:
        return Found(missing=(trouble or Sentence("course.capstone.first", stage="migration"),))
    tier = npu_tier()
    report = _align_runs(script, answer, place.folder, tier)
    report.save(place.folder)
    aligned = report.status < Status.WARN
    judged = (answer["aligned"] is aligned, Sentence("course.capstone.judged", given=answer["aligned"]))
    return Found.of_points([(aligned, headline_of(report)), judged], tier == "npu-simulated")


def _align_runs(script: Path, answer: dict[str, Any], folder: Path, tier: str) -> Report:
    def capture_side(name: str, device: str) -> Report:
        options: dict[str, Any] = {"steps": STEPS, "dump_steps": tuple(answer["dump_steps"]), "force": True}
        return capture(script, answer["arguments"], out=folder / name, device=device, estimate=False, **options)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(capture_side, ("baseline", "target"), ("baseline", tier)))
    return align(folder / "baseline", folder / "target")


def _find_trouble(answer: Any) -> Sentence | None:
    if not isinstance(answer, dict) or any(name not in answer for name in FIELDS):
        return Sentence("course.capstone.fields", fields=list(FIELDS), given=type(answer).__name__)
    arguments, steps = answer["arguments"], answer["dump_steps"]
    if not isinstance(arguments, list) or any(not isinstance(item, str) for item in arguments):
        return Sentence("course.capstone.arguments", given=str(arguments)[:80])
    listed = isinstance(steps, list) and steps
    if not listed or any(type(item) is not int or not 0 <= item < STEPS for item in steps):
        return Sentence("course.capstone.steps", given=str(steps)[:80], steps=STEPS)
    return None if isinstance(answer["aligned"], bool) else Sentence("course.capstone.yes_no", given="aligned")


TASK = Task("capstone_precision", "precision", check)
