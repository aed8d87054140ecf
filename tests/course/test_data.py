"""Answers as plain data: what is meant the same is the same, and an object that only pretends is none."""

from __future__ import annotations

import enum
import json
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
import torch

from ascend_workbook.findings.sentence import Sentence
from course import NOT_YET, Found, Place, Task, check_task, read_record
from course.exercises.data import LARGEST, NoData, as_data
from course.tasks import fault


class Sure(str):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Steps(enum.IntEnum):
    THREE = 3


class Lies:
    """Says that it is whatever is asked."""

    def __eq__(self, other: object) -> bool:
        return True

    def __float__(self) -> float:
        return 1.0

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return dict


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (np.int64(3), 3),
        (torch.tensor(3), 3),
        (Steps.THREE, 3),
        (np.float32(0.5), 0.5),
        (torch.tensor(0.5), 0.5),
        (torch.ones(2, dtype=torch.bfloat16), [1.0, 1.0]),
        (np.bool_(True), True),
        (("a", [1, (2,)]), ["a", [1, [2]]]),
        (PurePosixPath("a/b"), "a/b"),
        (np.str_("a"), "a"),
        (np.arange(3), [0, 1, 2]),
        ({"步": np.float64(2)}, {"步": 2}),
        (np.array(["a"]), ["a"]),
        (None, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_means_the_same_is_the_same(given: Any, plain: Any) -> None:
    made = as_data(given)
    assert made == plain and type(made) is type(plain) and json.loads(json.dumps(made)) == made


def test_a_subclass_is_what_it_holds() -> None:
    made = as_data({Sure("k"): Sure("x")})
    assert made != {"k": "y"} and type(made["k"]) is str and type(next(iter(made))) is str


@pytest.mark.parametrize(
    ("given", "key", "where"),
    [
        (object(), "data", ""),
        ({"a": [1, {2}]}, "data", "['a'][1]"),
        (b"\0", "data", ""),
        (float("inf"), "finite", ""),
        ([np.float32("nan")], "finite", "[0]"),
        ({1: 2}, "key", ""),
        ("x" * LARGEST, "large", None),
        ([0] * 30_000, "large", None),
        (torch.zeros(300, 300), "large", None),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 9 else "",
)
def test_what_is_none_is_told_with_its_place(given: Any, key: str, where: str | None) -> None:
    with pytest.raises(NoData) as told:
        as_data(given)
    assert told.value.why["say"] == f"course.trouble.{key}"
    assert where is None or told.value.why["args"]["where"] == where  # type: ignore[call-overload,index]


def test_what_holds_itself_has_no_end() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NoData):
        as_data(loop)


def test_a_liar_is_not_right(tmp_path: Path) -> None:
    for lie in (Lies(), lambda: Lies(), Sure("x"), {"operator": Sure("tanh"), "step": Lies(), "rank": Lies()}):
        outcome = check_task("fault", lie, run_dir=tmp_path)
        assert outcome.status == NOT_YET and outcome.missing


def test_the_check_sees_what_is_kept(tmp_path: Path) -> None:
    """A notebook that says done, and a grader that reads None, would be two courses."""
    seen: list[Any] = []

    def check(answer: Any, place: Place) -> Found:
        seen.append(answer)
        return Found(right=(Sentence("course.env.ready"),))

    check_task(Task("env", "environment", check), {"step": np.int64(3), "dumps": (1, 2)}, run_dir=tmp_path)
    assert seen == [{"step": 3, "dumps": [1, 2]}] == [read_record(tmp_path).tasks["env"].answer]
    told = check_task(Task("env", "environment", check), "x" * LARGEST, run_dir=tmp_path)
    assert told.status == NOT_YET and len(seen) == 1


def test_numbers_of_any_kind_find_the_fault(tmp_path: Path) -> None:
    right = fault.draw_fault("李")
    pairs = [
        (np.int32(right.step), torch.tensor(right.rank)),
        (float(right.step), right.rank),
        (right.step, np.array(right.rank)),
    ]
    for step, rank in pairs:
        answer = {"operator": np.str_(right.operator), "step": step, "rank": rank}
        assert check_task("fault", answer, run_dir=tmp_path, student="李").status == "done"
