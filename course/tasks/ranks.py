"""E. A script that is right on one card and not on two: make both ranks train together what one card trains.

Judged against the script on one card: the mean of both ranks' losses is its loss in every step, both ranks have the
same gradients, and each has samples of its own. The port that the script was written for is taken meanwhile, as it is
where many train on one server.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.launch import LaunchResult
from course.exercises import running
from course.exercises.editing import apply_edits, original
from course.exercises.running import Trial, npu_tier, run_trial
from course.exercises.task import Found, Place, Point, Task

ORDER = 5
SCRIPT = "two_cards.py"
RANKS = 2
PORT = 29555
FIXED = re.compile(r"tcp://[^\"']*:\d|MASTER_PORT[\"'\]\s=]+[\"']?\d")
#: Half a batch a rank and their mean: sums in another order.
TOLERANCE = 1e-4
#: Two ranks start in a quarter of it on a busy machine; a hang lasts all of it.
TIMEOUT_S = 150.0


def check(answer: object, place: Place) -> Found:
    before = original(SCRIPT)
    text = apply_edits(answer, before)
    if FIXED.search(text):
        raise WorkbookError("course.ranks.port")
    tier = npu_tier()
    args = ("--seed", str(running.another_seed()))
    with occupy_port(PORT):
        expected, got = running.side_by_side(
            Trial(before, place.folder / "one_card", args=args),
            Trial(text, place.folder / "two_cards", tier, args, RANKS, timeout_s=TIMEOUT_S),
        )
    points = _compare_runs(running.require_whole(expected), got)
    return Found.of_points(points, tier == "npu-simulated")


def broken(folder: Path, timeout_s: float) -> LaunchResult:
    """Run the script as it was given, on two ranks."""
    return run_trial(Trial(original(SCRIPT), folder / "ranks_as_given", npu_tier(), nproc=RANKS, timeout_s=timeout_s))


@contextmanager
def occupy_port(port: int) -> Iterator[None]:
    """Listen at the port as another user would; where somebody does already, so much the better."""
    with socket.socket() as held:
        with suppress(OSError):
            held.bind(("127.0.0.1", port))
            held.listen()
        yield


def _compare_runs(expected: LaunchResult, got: LaunchResult) -> list[Point]:
    if not got.ok:
        return [running.judge_end(got)]
    if len(got.logs) != RANKS:
        return [(False, Sentence("course.ranks.count", count=len(got.logs), wanted=RANKS))]
    # losses alike to the last digit are of the same samples.
    losses = [log.losses for log in got.logs]
    same = losses[0] == losses[1]
    norms = [[step.grad_norm for step in log.steps] for log in got.logs]
    good, _ = running.same_losses(norms[0], norms[1], TOLERANCE)
    return [
        running.judge_end(got),
        running.on_npu(got),
        (not same, Sentence("course.ranks.same_samples" if same else "course.ranks.own_samples")),
        (good, Sentence("course.ranks.agree" if good else "course.ranks.disagree")),
        _compare_means(expected, got),
    ]


def _compare_means(expected: LaunchResult, got: LaunchResult) -> Point:
    """Compare the mean over the ranks, step by step, with one card's loss."""
    pairs = zip(*(log.losses for log in got.logs))
    means = [None if None in pair else sum(loss for loss in pair if loss is not None) / RANKS for pair in pairs]
    good, sentence = running.same_losses(expected.losses, means, TOLERANCE)
    if good:
        return True, Sentence("course.ranks.as_one", steps=len(means))
    return False, Sentence("course.ranks.not_as_one", why=sentence)


TASK = Task("ranks", "distributed", check, needs=("npu-simulated",), seconds=200)
