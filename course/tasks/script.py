"""B. A GPU script with traps: change it so that it trains on the NPU as it did on the GPU.

Judged by `scan` (no place left that needs a hand) and by running both: the same losses, the card runs out of memory
once on the way, and the same is printed and kept at the end.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch import LaunchResult, Plugin
from ascend_workbook.migration.dry_run.judge import TOLERANCE
from ascend_workbook.migration.scan import scan
from course.exercises import running
from course.exercises.editing import apply_edits, original
from course.exercises.running import CHILD, Trial, npu_tier, run_trial
from course.exercises.task import Found, Place, Point, Task

ORDER = 2
SCRIPT = "traps.py"
KEPT = "traps.pt"
#: Classes of a scan that leave work to be done.
OPEN = ("rewrite", "manual", "unsupported")
#: Where the CPU stands in for the GPU its tensors say cpu: these questions get the answer that a GPU gives.
AS_ON_GPU = (('logits.device.type == "cuda"', "True"), ('"cuda" in str(one.device)', "True"))
#: The step in which the card runs out of memory.
SHORT_STEP = 3


def check(answer: object, place: Place) -> Found:
    before = original(SCRIPT)
    text = apply_edits(answer, before)
    tier = npu_tier()
    args = ("--seed", str(running.another_seed()))
    expected, got = running.side_by_side(
        Trial(as_on_gpu(before), place.folder / "original", "cpu", args, plugins=[_make_short("CUDA")]),
        Trial(text, place.folder / "changed", tier, args, plugins=[_make_short("NPU")]),
    )
    points = [_judge_scan(place, text), *_compare_runs(running.require_whole(expected), got)]
    judged = Found.of_points(points, tier == "npu-simulated")
    return judged if got.ok else replace(judged, right=())


def as_on_gpu(text: str) -> str:
    for asked, answer in AS_ON_GPU:
        text = text.replace(asked, answer)
    return text


def broken(folder: Path) -> LaunchResult:
    """Run the script as it was given, on the NPU through transfer_to_npu."""
    return run_trial(Trial(original(SCRIPT), folder / "script_as_given", npu_tier()))


def _make_short(device: str) -> Plugin:
    return Plugin(CHILD / "out_of_memory.py", {"step": SHORT_STEP, "device": device})


def _judge_scan(place: Place, text: str) -> Point:
    """Scan the script beside the run's folder, in a file of its own."""
    folder = place.folder / "scanned"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCRIPT).write_text(text, encoding="utf-8")
    findings = [
        finding for finding in scan(folder / SCRIPT).findings if finding.args.get("class") in OPEN and finding.place
    ]
    if not findings:
        return True, Sentence("course.script.clean")
    numbers = sorted({finding.place.line for finding in findings if finding.place})
    texts = ["", *text.splitlines()]
    lines: list[Scalar] = [f"{number} `{texts[number].strip()[:80]}`" for number in numbers]
    return False, Sentence("course.script.open", count=len(findings), lines=lines)


def _compare_runs(expected: LaunchResult, got: LaunchResult) -> list[Point]:
    if not got.ok:
        return _explain_end(got)
    return [
        running.on_npu(got),
        running.same_losses(expected.losses, got.losses, TOLERANCE["float32"]),
        _compare_ends(expected, got),
    ]


def _explain_end(got: LaunchResult) -> list[Point]:
    """Explain why it ended early; of the error raised on purpose no general advice is given: it is to be caught."""
    raised = [
        str(note["args"]["message"]) for log in got.logs for note in log.notes if note["code"] == "course_out_of_memory"
    ]
    if raised and got.error and got.error.message in raised:
        error = f"{got.error.type}: {got.error.message}"
        return [(False, Sentence("course.script.uncaught", step=SHORT_STEP, error=error))]
    short = [(False, Sentence("course.script.short", step=SHORT_STEP))] if raised else []
    return [running.judge_end(got), *short]


def _compare_ends(expected: LaunchResult, got: LaunchResult) -> Point:
    """Compare the last line that is printed, and the file with the weights."""
    lines = [running.lines_printed(result, lambda line: line.startswith("accuracy ")) for result in (expected, got)]
    if lines[0] != lines[1]:
        return False, Sentence("course.script.printed", wanted=lines[0], printed=lines[1])
    weights = [result.out / "work" / KEPT for result in (expected, got)]  # the student's: nobody loads it
    sizes = [path.stat().st_size if path.is_file() else 0 for path in weights]
    if not sizes[1] or abs(sizes[0] - sizes[1]) > sizes[0] // 4:
        return False, Sentence("course.script.not_kept", name=KEPT)
    return True, Sentence("course.script.ends", line=lines[1][-1] if lines[1] else "-")


TASK = Task("script", "migration", check, needs=("npu-simulated",), seconds=120)
