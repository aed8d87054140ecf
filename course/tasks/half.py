"""F. A training in float16 that turns to NaN: make it learn, and keep computing in float16.

Judged by running it on the NPU beside the same training in float32: the losses start and end where that one's do, the
linear layers computed in float16, the weights are kept in float32.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.launch import LaunchResult, Plugin
from course.exercises import running
from course.exercises.editing import apply_edits, original
from course.exercises.running import CHILD, Trial, npu_tier, run_trial
from course.exercises.task import Found, Place, Point, Task

ORDER = 6
SCRIPT = "half.py"
#: Steps whose mean is a beginning or an end.
SPAN = 8
#: Of the way that float32 goes, how far the ends may be apart.
APART = 0.25
#: The loss of the first update: rounding, and what an update that a GradScaler left out would have changed.
FIRST = 0.1


def check(answer: object, place: Place) -> Found:
    before = original(SCRIPT)
    text = apply_edits(answer, before)
    tier = npu_tier()
    args, formats = ("--seed", str(running.another_seed())), [Plugin(CHILD / "formats.py")]
    expected, got = running.side_by_side(
        Trial(before.replace(".half()", ""), place.folder / "float32", args=args),
        Trial(text, place.folder / "float16", tier, args, plugins=formats),
    )
    points = _compare_runs(running.require_whole(expected), got)
    return Found.of_points(points, tier == "npu-simulated")


def broken(folder: Path) -> LaunchResult:
    """Run the script as it was given, on the NPU."""
    return run_trial(Trial(original(SCRIPT), folder / "half_as_given", npu_tier()))


def _compare_runs(expected: LaunchResult, got: LaunchResult) -> list[Point]:
    if not got.ok:
        return [running.judge_end(got)]
    return [*_compare_learning(expected, got), running.on_npu(got), *_judge_formats(got)]


def _compare_learning(expected: LaunchResult, got: LaunchResult) -> list[Point]:
    """Compare the steps and losses; updates that a GradScaler left out are steps too."""
    left_out = sum(log.skipped_steps for log in got.logs)
    wanted, count = len(expected.losses), len(got.losses) + left_out
    if count != wanted:
        return [(False, Sentence("course.run.steps", steps=count, wanted=wanted))]
    losses, target = _loss_numbers(got), _loss_numbers(expected)
    bad = [step for step, loss in enumerate(losses, 1) if not math.isfinite(loss)]
    if bad or len(losses) <= SPAN:
        return [(False, Sentence("course.half.nan", count=len(bad) or wanted, step=bad[0] if bad else 1))]
    first = target[min(left_out, SPAN)]  # a scaler begins too large, so that the first updates are left out
    same_start = abs(losses[0] - first) <= FIRST * abs(first)
    way = fmean(target[:SPAN]) - fmean(target[-SPAN:])
    apart = abs(fmean(losses[-SPAN:]) - fmean(target[-SPAN:]))
    share = f"{100 * (fmean(losses[:SPAN]) - fmean(losses[-SPAN:])) / way:.0f}"
    learned = apart <= APART * way
    return [
        (same_start, Sentence("course.half.start" if same_start else "course.half.other_start")),
        (learned, Sentence("course.half.learns" if learned else "course.half.learns_not", share=share)),
    ]


def _loss_numbers(result: LaunchResult) -> list[float]:
    return [math.nan if loss is None else loss for loss in result.losses]


def _judge_formats(got: LaunchResult) -> list[Point]:
    noted = [note["args"] for note in got.logs[0].notes if note["code"] == "course_formats"]
    results, weights = (noted[0]["results"], noted[0]["weights"]) if noted else ({}, [])
    fast, wide = set(results) == {"float16"}, weights == ["float32"]
    return [
        (fast, Sentence("course.half.fast" if fast else "course.half.not_fast", formats=sorted(results) or ["-"])),
        (wide, Sentence("course.half.kept" if wide else "course.half.not_kept", formats=list(weights) or ["-"])),
    ]


TASK = Task("half", "precision", check, needs=("npu-simulated",), seconds=120)
