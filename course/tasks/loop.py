"""D. A slow training loop: make it at least twice as fast, with the same losses.

Measured here and now, in CPU seconds (child/stopwatch.py), so that neither others on the machine nor moving the work
to other processes count: the script as it was and the changed one run side by side, and the median of the turns'
ratios counts. The solution that we know is about eight times as fast; twice is asked.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch import LaunchResult, Plugin
from course.exercises import running
from course.exercises.editing import apply_edits, original
from course.exercises.running import CHILD, Trial, run_trial
from course.exercises.task import Found, Place, Point, Task

ORDER = 4
SCRIPT = "slow_steps.py"
NEEDED = 2.0
#: Turns of both; where the ratios lie on both sides of what is needed, as many again.
TURNS = 3
#: The order of sums may differ, and Adam makes the most of small gradients.
TOLERANCE = 1e-4
STOPWATCH = Plugin(CHILD / "stopwatch.py")


def check(answer: object, place: Place) -> Found:
    before = original(SCRIPT)
    text = apply_edits(answer, before)
    args = ("--seed", str(running.another_seed()))
    slow = Trial(before, place.folder / "original", args=args, plugins=[STOPWATCH])
    fast = Trial(text, place.folder / "changed", args=args, plugins=[STOPWATCH])
    expected, got = running.side_by_side(slow, fast)
    running.require_whole(expected)
    if not got.ok:
        return Found(missing=(running.judge_end(got)[1],))
    points = [running.same_losses(expected.losses, got.losses, TOLERANCE), _compare_output(expected, got)]
    if not all(good for good, _ in points):
        return _make_found(points)  # what computes something else need not be measured
    return _make_found([*points, _judge_speed(slow, fast, [(seconds(expected), seconds(got))])])


def measured(folder: Path) -> LaunchResult:
    """Run the script as it was given, for the notebook to show what a step takes."""
    return running.require_whole(run_trial(Trial(original(SCRIPT), folder / "loop_as_given", plugins=[STOPWATCH])))


def seconds(result: LaunchResult) -> float:
    """Return what the stopwatch noted: CPU seconds from the script's first line to the end of its last step."""
    noted = [note["args"]["seconds"] for note in result.logs[0].notes if note["code"] == "course_seconds"]
    return float(noted[0])


def _judge_speed(slow: Trial, fast: Trial, pairs: list[tuple[float, float]]) -> Point:
    for turns in (TURNS, 2 * TURNS):
        while len(pairs) < turns:
            before, after = (seconds(running.require_whole(result)) for result in running.side_by_side(slow, fast))
            pairs.append((before, after))
        ratios = [before / max(after, 1e-6) for before, after in pairs]
        if not min(ratios) < NEEDED <= max(ratios):
            break
    ratio = median(ratios)
    facts: dict[str, Scalar] = {
        "ratio": f"{ratio:.1f}",
        "low": f"{min(ratios):.1f}",
        "high": f"{max(ratios):.1f}",
        "needed": NEEDED,
        "count": len(ratios),
    }
    return ratio >= NEEDED, Sentence("course.loop.fast" if ratio >= NEEDED else "course.loop.slow", **facts)


def _compare_output(expected: LaunchResult, got: LaunchResult) -> Point:
    """Return the point that nothing the script says of its gradients and its best weights is left out."""
    words = [
        [line.split()[-2:] for line in running.lines_printed(result, lambda line: line.startswith(("step ", "best ")))]
        for result in (expected, got)
    ]
    same = words[0] == words[1]
    return same, Sentence("course.loop.printed" if same else "course.loop.not_printed", lines=len(words[0]))


def _make_found(points: list[Point]) -> Found:
    """Return what is right, nothing that is not also faster: the losses are the given ones from the start."""
    judged = Found.of_points(points)
    return Found(missing=judged.missing) if judged.missing else judged


TASK = Task("loop", "profiling", check, seconds=120)
