"""First stage: which device the script goes to, and in which 16-bit format it may compute there."""

from __future__ import annotations

from typing import Any

from helpers.course.task import Found, Place, Sentence, Task, sentence
from helpers.environment import check as check_environment
from helpers.environment import compute_check, join
from helpers.finding import Status
from helpers.report import Report

FIELDS = ("device", "dtype")
HALVES = ("float16", "bfloat16")
SIZE = 64


def check(answer: Any, place: Place) -> Found:
    if not isinstance(answer, dict) or any(not isinstance(answer.get(name), str) for name in FIELDS):
        return Found(missing=(sentence("course.capstone.fields", fields=list(FIELDS), given=type(answer).__name__),))
    device, dtype = answer["device"], answer["dtype"].removeprefix("torch.")
    machine = check_environment(device, work_folder=place.folder)
    if machine.tier != device or not device.startswith("npu"):
        return Found(missing=(sentence("course.capstone.no_device", given=device, tier=machine.tier or "-"),))
    computed = compute_check(device, size=SIZE)
    join(machine, computed).save(place.folder)
    kinds = {str(row.get("dtype")) for row in computed.facts.get("measurements", ()) if "max_error" in row}
    halves = sorted(kinds.intersection(HALVES))
    points = [
        (machine.status < Status.FAIL, sentence("course.capstone.ready", said=_said(machine), tier=machine.tier)),
        (dtype in halves, sentence("course.capstone.dtype", dtype=dtype, known=halves)),
    ]
    return Found(tuple(one for good, one in points if good), tuple(one for good, one in points if not good),
                 machine.simulated)  # fmt: skip


def _said(report: Report) -> Sentence:
    head = report.headline
    assert head
    return sentence(head.key, **head.args)


TASK = Task("capstone_environment", "environment", check)
