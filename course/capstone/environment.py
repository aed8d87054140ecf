"""First stage: which device the script goes to, and in which 16-bit format it may compute there."""

from __future__ import annotations

from ascend_workbook.environment import check as check_environment
from ascend_workbook.environment import compute_check, join
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from course.task import Found, Place, Task

FIELDS = ("device", "dtype")
HALVES = ("float16", "bfloat16")
SIZE = 64


def check(answer: object, place: Place) -> Found:
    if not isinstance(answer, dict) or any(not isinstance(answer.get(name), str) for name in FIELDS):
        return Found(missing=(Sentence("course.capstone.fields", fields=list(FIELDS), given=type(answer).__name__),))
    device, dtype = answer["device"], answer["dtype"].removeprefix("torch.")
    machine = check_environment(device, work_folder=place.folder)
    if machine.tier != device or not device.startswith("npu"):
        return Found(missing=(Sentence("course.capstone.no_device", given=device, tier=machine.tier or "-"),))
    computed = compute_check(device, size=SIZE)
    join(machine, computed).save(place.folder)
    kinds = {str(row.get("dtype")) for row in computed.facts.get("measurements", ()) if "max_error" in row}
    halves = sorted(kinds.intersection(HALVES))
    points = [
        (machine.status < Status.FAIL, Sentence("course.capstone.ready", said=headline_of(machine), tier=device)),
        (dtype in halves, Sentence("course.capstone.dtype", dtype=dtype, known=halves)),
    ]
    return Found.of_points(points, machine.simulated)


def headline_of(report: Report) -> Sentence:
    assert report.headline
    return Sentence(report.headline.key, **report.headline.args)


TASK = Task("capstone_environment", "environment", check)
