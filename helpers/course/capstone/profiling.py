"""Fourth stage: the two things on the host that cost most, changed without changing what is computed.

Measured on the CPU, where both lie: what a simulated NPU takes says nothing of a real one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.course.capstone.migration import ARGUMENTS, SCRIPT, script_of
from helpers.course.editing import edited
from helpers.course.task import Found, Place, Sentence, Task, sentence
from helpers.profiling import analyse, join, profile
from helpers.report import Report

STEPS = 6
#: Of the time that the first loop waited for data, at most so much may be left.
LEFT = 0.5
#: Of the numbers fetched by aten::item in a step at least so many must be gone: the network has more gradients.
FEWER = 6.0
#: Relative, of the losses of the same steps: autocast's bfloat16 has 8 bits; another order of sums rounds otherwise.
TOLERANCE = 1e-2


def check(answer: Any, place: Place) -> Found:
    script = script_of(place.folder)
    if script is None:
        return Found(missing=(sentence("course.capstone.first", stage="migration"),))
    text, trouble = edited(answer, script.read_text(encoding="utf-8"))
    if trouble:
        return Found(missing=(trouble,))
    changed = place.folder / SCRIPT
    changed.write_text(text, encoding="utf-8")
    before, after = (_measured(one, place.folder / name) for one, name in ((script, "before"), (changed, "after")))
    join(*after).save(place.folder)
    points = [_same(before[0], after[0]), _waits(before[1], after[1]), _reads(before[1], after[1])]
    return Found(tuple(one for good, one in points if good), tuple(one for good, one in points if not good))


def _measured(script: Path, out: Path) -> tuple[Report, Report]:
    recorded = profile(script, ARGUMENTS, device="cpu", steps=STEPS, warmup=2, out=out).or_raise()
    return recorded, analyse(recorded.facts["profile"])


def _part(report: Report, verb: str) -> Report:
    return next(part for part in report.parts if part.verb == verb)


def _same(before: Report, after: Report) -> tuple[bool, Sentence]:
    pairs = list(zip(before.facts["losses"], after.facts["losses"]))
    worst = max(abs(one - other) / abs(one) for one, other in pairs)
    good = bool(pairs) and worst <= TOLERANCE
    return good, sentence("course.capstone.same_losses" if good else "course.capstone.other_losses", worst=worst)


def _waits(before: Report, after: Report) -> tuple[bool, Sentence]:
    first, now = (_part(one, "time_by_kind").facts["parts_ns"]["loading"] / 1e6 for one in (before, after))
    good = now <= LEFT * first
    key = "course.capstone.loads_less" if good else "course.capstone.loads_still"
    return good, sentence(key, before=round(first, 1), after=round(now, 1))


def _reads(before: Report, after: Report) -> tuple[bool, Sentence]:
    first, now = (_part(one, "top_operators").facts["calls_per_step"].get("aten::item", 0.0) for one in (before, after))
    good = now <= first - FEWER
    key = "course.capstone.reads_less" if good else "course.capstone.reads_still"
    return good, sentence(key, before=first, count=now)


TASK = Task("capstone_profiling", "profiling", check)
