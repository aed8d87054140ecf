"""Fourth stage: the two things on the host that cost most, changed without changing what is computed.

Measured on the CPU, where both lie: what a simulated NPU takes says nothing of a real one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling import analyse, join, profile
from course.capstone.migration import ARGUMENTS, SCRIPT, script_of
from course.editing import apply_edits
from course.task import Found, Place, Task

STEPS = 6
#: Of the time that the first loop waited for data, at most so much may be left.
LEFT = 0.5
#: Of the numbers fetched by aten::item in a step at least so many must be gone: the network has more gradients.
FEWER = 6.0
#: Relative, of the losses of the same steps: autocast's bfloat16 has 8 bits; another order of sums rounds otherwise.
TOLERANCE = 1e-2


def check(answer: object, place: Place) -> Found:
    script = script_of(place.folder)
    if script is None:
        return Found(missing=(Sentence("course.capstone.first", stage="migration"),))
    text, trouble = apply_edits(answer, script.read_text(encoding="utf-8"))
    if trouble:
        return Found(missing=(trouble,))
    changed = place.folder / SCRIPT
    changed.write_text(text, encoding="utf-8")
    before, after = _measure_script(script, place.folder / "before"), _measure_script(changed, place.folder / "after")
    join(*after).save(place.folder)
    return Found.of_points(
        [_compare_losses(before[0], after[0]), _compare_waits(before[1], after[1]), _compare_reads(before[1], after[1])]
    )


def _measure_script(script: Path, out: Path) -> tuple[Report, Report]:
    recorded = profile(script, ARGUMENTS, device="cpu", steps=STEPS, warmup=2, out=out).or_raise()
    return recorded, analyse(recorded.facts["profile"])


def _facts_of(report: Report, verb: str) -> Mapping[str, Any]:
    return next(part.facts for part in report.parts if part.verb == verb)


def _compare_losses(before: Report, after: Report) -> tuple[bool, Sentence]:
    pairs = list(zip(before.facts["losses"], after.facts["losses"]))
    worst = max(abs(loss - other) / abs(loss) for loss, other in pairs)
    good = bool(pairs) and worst <= TOLERANCE
    return good, Sentence("course.capstone.same_losses" if good else "course.capstone.other_losses", worst=worst)


def _compare_waits(before: Report, after: Report) -> tuple[bool, Sentence]:
    first, now = (_facts_of(report, "time_by_kind")["parts_ns"]["loading"] / 1e6 for report in (before, after))
    good = now <= LEFT * first
    key = "course.capstone.loads_less" if good else "course.capstone.loads_still"
    return good, Sentence(key, before=round(first, 1), after=round(now, 1))


def _compare_reads(before: Report, after: Report) -> tuple[bool, Sentence]:
    calls = [_facts_of(report, "top_operators")["calls_per_step"] for report in (before, after)]
    first, now = (steps.get("aten::item", 0.0) for steps in calls)
    good = now <= first - FEWER
    key = "course.capstone.reads_less" if good else "course.capstone.reads_still"
    return good, Sentence(key, before=first, count=now)


TASK = Task("capstone_profiling", "profiling", check)
