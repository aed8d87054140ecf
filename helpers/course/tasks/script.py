"""B. A GPU script with traps: change it so that it trains on the NPU as it did on the GPU.

Judged by `scan` (no place left that needs a hand) and by running both: the same losses, the card runs out of memory
once on the way, and the same is printed and kept at the end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.course.editing import edited, original
from helpers.course.running import (
    CHILD,
    Point,
    Trial,
    another_seed,
    npu_tier,
    on_npu,
    ran,
    reference,
    run,
    said,
    same_losses,
    side_by_side,
)
from helpers.course.task import Found, Place, Task, sentence
from helpers.launch import LaunchResult, Plugin
from helpers.migration.dry_run.losses import TOLERANCE
from helpers.migration.scan import scan
from helpers.words import Scalar

ORDER = 2
SCRIPT = "traps.py"
KEPT = "traps.pt"
#: Classes of a scan that leave work to be done.
OPEN = ("rewrite", "manual", "unsupported")
#: Where the CPU stands in for the GPU its tensors say cpu: these questions get the answer that a GPU gives.
AS_ON_GPU = (('logits.device.type == "cuda"', "True"), ('"cuda" in str(one.device)', "True"))
#: The step in which the card runs out of memory.
SHORT_STEP = 3


def check(answer: Any, place: Place) -> Found:
    before = original(SCRIPT)
    text, trouble = edited(answer, before)
    if trouble:
        return Found(missing=(trouble,))
    tier = npu_tier()
    args = ("--seed", str(another_seed()))
    expected, got = side_by_side(
        Trial(as_on_gpu(before), place.folder / "original", "cpu", args, plugins=[_short("CUDA")]),
        Trial(text, place.folder / "changed", tier, args, plugins=[_short("NPU")]),
    )
    points = [_scanned(place, text), *_compared(reference(expected), got)]
    right = tuple(one for good, one in points if good and got.ok)
    missing = tuple(one for good, one in points if not good)
    return Found(right, missing, simulated=tier == "npu-simulated")


def as_on_gpu(text: str) -> str:
    for asked, answer in AS_ON_GPU:
        text = text.replace(asked, answer)
    return text


def broken(folder: Path) -> LaunchResult:
    """The script as it was given, on the NPU through transfer_to_npu."""
    return run(Trial(original(SCRIPT), folder / "script_as_given", npu_tier()))


def _short(device: str) -> Plugin:
    return Plugin(CHILD / "out_of_memory.py", {"step": SHORT_STEP, "device": device})


def _scanned(place: Place, text: str) -> Point:
    """Scanned beside the run's folder, in a file of its own."""
    folder = place.folder / "scanned"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCRIPT).write_text(text, encoding="utf-8")
    found = [one for one in scan(folder / SCRIPT).findings if one.args.get("class") in OPEN and one.place]
    if not found:
        return True, sentence("course.script.clean")
    numbers = sorted({one.place.line for one in found if one.place})
    texts = ["", *text.splitlines()]
    lines: list[Scalar] = [f"{number} `{texts[number].strip()[:80]}`" for number in numbers]
    return False, sentence("course.script.open", count=len(found), lines=lines)


def _compared(expected: LaunchResult, got: LaunchResult) -> list[Point]:
    if not got.ok:
        return _ended(got)
    return [on_npu(got), same_losses(expected.losses, got.losses, TOLERANCE["float32"]), _ends(expected, got)]


def _ended(got: LaunchResult) -> list[Point]:
    """Why it ended early. Of the error that is raised on purpose no general advice is given: it is to be caught."""
    raised = [str(note["args"]["message"]) for log in got.logs for note in log.notes
              if note["code"] == "course_out_of_memory"]  # fmt: skip
    if raised and got.error and got.error.message in raised:
        error = f"{got.error.type}: {got.error.message}"
        return [(False, sentence("course.script.uncaught", step=SHORT_STEP, error=error))]
    short = [(False, sentence("course.script.short", step=SHORT_STEP))] if raised else []
    return [ran(got), *short]


def _ends(expected: LaunchResult, got: LaunchResult) -> Point:
    """The last line that is printed, and the file with the weights."""
    lines = [said(one, lambda line: line.startswith("accuracy ")) for one in (expected, got)]
    if lines[0] != lines[1]:
        return False, sentence("course.script.printed", wanted=lines[0], printed=lines[1])
    sizes = [_kept(one) for one in (expected, got)]
    if not sizes[1] or abs(sizes[0] - sizes[1]) > sizes[0] // 4:
        return False, sentence("course.script.not_kept", name=KEPT)
    return True, sentence("course.script.ends", line=lines[1][-1] if lines[1] else "-")


def _kept(result: LaunchResult) -> int:
    """Bytes of the file with the weights; 0 where there is none. It is the student's: nobody loads it here."""
    path = result.out / "work" / KEPT
    return path.stat().st_size if path.is_file() else 0


TASK = Task("script", "migration", check, needs=("npu-simulated",), seconds=120)
