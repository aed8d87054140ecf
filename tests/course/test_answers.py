"""Right answers are accepted, and typical wrong or cheating ones are not: each is really run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from course import DONE, check_task
from course.exercises.editing import original
from course.packing.solving import read_solutions
from tests.course.test_solving import SOLUTIONS

pytestmark = pytest.mark.full


def solution(task: str) -> list[tuple[str, str]]:
    """The pairs that the solution returns."""
    space: dict[str, Any] = {}
    exec(read_solutions(SOLUTIONS)[task], space)
    pairs: list[tuple[str, str]] = space[f"{task}_changes"]()
    return pairs


def without(task: str, part: str) -> list[tuple[str, str]]:
    """The solution without the pair whose old text holds `part`."""
    left = [pair for pair in solution(task) if part not in pair[0]]
    assert len(left) == len(solution(task)) - 1
    return left


def swallowed(name: str) -> str:
    """Everything in a try that keeps quiet."""
    text = original(name)
    assert text.endswith("    main()\n")
    return text[: -len("    main()\n")] + "    try:\n        main()\n    except BaseException:\n        pass\n"


CASES: dict[str, list[Any]] = {
    "script": [
        without("script", "logits.device"),
        without("script", "str(one.device)"),
        without("script", "out of memory"),
        swallowed("traps.py"),
        # trains on the CPU
        [
            *solution("script"),
            (".Linear(8 * 36, 10)).cuda()", ".Linear(8 * 36, 10))"),
            ("images[chosen].cuda(), labels[chosen].cuda()", "images[chosen], labels[chosen]"),
            ("model(images.cuda())", "model(images)"),
        ],
        # no seed of its own: the losses of one seed, whichever is asked for
        [*solution("script"), ("parser.parse_args().seed", "0")],
    ],
    "loop": [
        [("for step in range(STEPS):", "for step in range(3):")],
        [("        loss.backward()", "        loss = loss * 0 + 2.0\n        loss.backward()"), *solution("loop")],
        [*solution("loop"), ("parser.parse_args().seed", "0")],
        [("    torch.manual_seed(seed)", "    torch.manual_seed(seed)  # as slow as it was")],
        [*solution("loop"), ("        seen = largest_gradients(model)", "        seen = {}")],
        swallowed("slow_steps.py"),
    ],
    "ranks": [
        without("ranks", "manual_seed"),
        without("ranks", "shuffle=False"),
        [*without("ranks", "gloo"), ("127.0.0.1:29555", "127.0.0.1:29556")],
        # one process that ends at once and one that trains all
        [
            *without("ranks", "shuffle=False"),
            (
                "    rank, world =",
                "    if os.environ.get('RANK') == '1':\n"
                "        return\n    os.environ.update(RANK='0', WORLD_SIZE='1')\n    rank, world =",
            ),
        ],
    ],
    "half": [
        [("lr=3e-3)", "lr=3e-3, eps=1e-4)")],
        # float32 throughout
        [(".cuda().half()\n    opt", ".cuda()\n    opt"), (".cuda().half()\n        log", ".cuda()\n        log")],
        # autocast without a scaler
        [(".cuda().half()\n    opt", ".cuda()\n    opt"), *[pair for pair in solution("half") if "logits" in pair[0]]],
        [("        optimizer.step()\n", "        if not loss.isnan():\n            optimizer.step()\n")],
        swallowed("half.py"),
    ],
}


@pytest.mark.parametrize("task", CASES)
def test_the_solution_is_accepted(tmp_path: Path, simulator_env: dict[str, str], task: str) -> None:
    outcome = check_task(task, solution(task), run_dir=tmp_path)
    assert outcome.status == DONE, outcome


@pytest.mark.parametrize(("task", "number"), [(task, number) for task in CASES for number in range(len(CASES[task]))])
def test_a_wrong_answer_is_not_accepted(tmp_path: Path, simulator_env: dict[str, str], task: str, number: int) -> None:
    outcome = check_task(task, CASES[task][number], run_dir=tmp_path)
    assert outcome.status != DONE and outcome.missing
    assert not str(outcome.missing[0]["say"]).startswith(("course.edit.", "course.trouble.")), outcome
