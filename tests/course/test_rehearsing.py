"""A student's arguments are options of the sample script, however they are written; anything else is told."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from course.exercises.rehearsing import Values, list_words, read_arguments

KNOWN: Values = {"--size": ("tiny", "7b"), "--batch-size": None, "--recompute": ()}


@pytest.mark.parametrize(
    "answer",
    [
        ["--size", "7b", "--batch-size", "4", "--recompute"],
        ["--size=7b", "--batch-size=4", "--recompute"],
        ["--recompute", "--batch-size", 9, "--size", "7b", "--batch-size", 4],
        "--size 7b --recompute --batch-size 04",
        "－－size ７b --batch-size 4 --recompute\u200b",
    ],
)
def test_options_however_they_are_written(answer: object) -> None:
    options = read_arguments(answer, KNOWN)
    assert options == {"--size": "7b", "--batch-size": "4", "--recompute": ""}
    assert sorted(list_words(options)) == sorted(["--size", "7b", "--batch-size", "4", "--recompute"])


WRONG: list[tuple[Any, str]] = [
    ([], "nothing"),
    ("  ", "nothing"),
    ("--size '7b", "words"),
    ({"--size": "7b"}, "words"),
    ([["--size", "7b"]], "words"),
    ([True], "words"),
    (["--layers", "2"], "option"),
    (["--batch", "4"], "option"),  # argparse would take it for --batch-size
    (["--recompute=yes"], "flag"),
    (["--recompute", "yes"], "option"),
    (["--batch-size", "0"], "number"),
    (["--batch-size", "-4"], "number"),
    (["--batch-size"], "number"),
    (["--batch-size", "9" * 10], "number"),
    (["--size", "70b"], "value"),
]


@pytest.mark.parametrize(("answer", "why"), WRONG)
def test_what_is_no_option_is_told(answer: object, why: str) -> None:
    with pytest.raises(WorkbookError) as caught:
        read_arguments(answer, KNOWN)
    assert caught.value.key == f"course.planning.{why}"
