"""Third stage: a command that makes both sides the same experiment, and what the comparison of the two then says.

The captures are taken as decided; `align` tells whether they can be compared at all, and which answer is right.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from helpers.course.capstone.migration import script_of
from helpers.course.running import npu_tier
from helpers.course.task import Found, Place, Sentence, Task, sentence
from helpers.finding import Status
from helpers.precision.align import align
from helpers.precision.capture import capture
from helpers.report import Report

FIELDS = ("arguments", "dump_steps", "aligned")
STEPS = 3


def check(answer: Any, place: Place) -> Found:
    trouble = _trouble(answer)
    script = script_of(place.folder)
    if trouble or script is None:
        return Found(missing=(trouble or sentence("course.capstone.first", stage="migration"),))
    tier = npu_tier()
    report = _aligned(script, answer, place.folder, tier)
    report.save(place.folder)
    assert report.headline
    told = sentence(report.headline.key, **report.headline.args)
    aligned = report.status < Status.WARN
    points = [
        (aligned, told),
        (answer["aligned"] is aligned, sentence("course.capstone.judged", given=answer["aligned"])),
    ]
    return Found(tuple(one for good, one in points if good), tuple(one for good, one in points if not good),
                 tier == "npu-simulated")  # fmt: skip


def _aligned(script: Path, answer: dict[str, Any], folder: Path, tier: str) -> Report:
    dumped = tuple(answer["dump_steps"])
    options: dict[str, Any] = {"steps": STEPS, "dump_steps": dumped, "estimate": False, "force": True}
    sides = {"baseline": "baseline", "target": tier}
    with ThreadPoolExecutor(len(sides)) as pool:
        waiting = [pool.submit(capture, script, answer["arguments"], out=folder / name, device=device, **options)
                   for name, device in sides.items()]  # fmt: skip
    for one in waiting:
        one.result()
    return align(folder / "baseline", folder / "target")


def _trouble(answer: Any) -> Sentence | None:
    if not isinstance(answer, dict) or any(name not in answer for name in FIELDS):
        return sentence("course.capstone.fields", fields=list(FIELDS), given=type(answer).__name__)
    arguments, steps = answer["arguments"], answer["dump_steps"]
    if not isinstance(arguments, list) or any(not isinstance(one, str) for one in arguments):
        return sentence("course.capstone.arguments", given=str(arguments)[:80])
    if not isinstance(steps, list) or not steps or any(type(one) is not int or not 0 <= one < STEPS for one in steps):
        return sentence("course.capstone.steps", given=str(steps)[:80], steps=STEPS)
    return None if isinstance(answer["aligned"], bool) else sentence("course.capstone.yes_no", given="aligned")


TASK = Task("capstone_precision", "precision", check)
