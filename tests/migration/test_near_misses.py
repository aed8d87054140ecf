"""A near miss comes near: it is refused by a condition of its rule that an empty file is not put before."""

from __future__ import annotations

import linecache
import sys

import pytest

from tests.migration.near import Refusal, Step, refusals, steps_of
from tests.migration.subjects import SUBJECTS, Subject
from tools.examples import Case

#: Rules of Python; those of other texts are regular expressions, whose conditions are no lines.
RULES = [subject for subject in SUBJECTS if not subject.file]
#: Rules without a condition: the name that is looked up is all they ask.
BY_NAME = {"MIG117"}
#: Near misses that the same condition stops as an empty file, with what makes them fire.
STOPPED_AT_ONCE = {
    ("MIG126", "nothing says that numbers are devices"): "gpu = 1\n",
    ("MIG134", "no script of torch"): "import torch\n",
}
#: A condition that a place is put before in a Python alone whose f-strings know no places of their parts.
BEFORE_3_12 = 'if f"{name}=" in str(node.value):'


def _refusals(subject: Subject) -> tuple[Refusal, ...]:
    return refusals(subject.written_in)


def _line(subject: Subject, refusal: Refusal) -> str:
    return linecache.getline(subject.written_in, refusal.first).strip()


@pytest.mark.parametrize(
    ("subject", "case"),
    [
        pytest.param(subject, case, id=f"{subject.code}-{case.title}")
        for subject in RULES
        for case in subject.near_misses
        if subject.code not in BY_NAME
    ],
)
def test_a_near_miss_is_refused_where_an_empty_file_is_not(subject: Subject, case: Case) -> None:
    more = STOPPED_AT_ONCE.get((subject.code, case.title))
    if more is not None:
        assert list(subject.check(subject.read(more + case.code)))
        return
    steps, empty = steps_of(subject, case.code), steps_of(subject, "")
    assert [each for each in _refusals(subject) if each.refuses(steps) and not each.refuses(empty)]


@pytest.mark.parametrize("subject", RULES, ids=lambda subject: subject.code)
def test_every_condition_over_a_finding_refuses_in_some_example(subject: Subject) -> None:
    steps: set[Step] = steps_of(subject, "").union(*(steps_of(subject, case.code) for case in subject.cases))
    idle = [_line(subject, each) for each in _refusals(subject) if not each.refuses(steps)]
    assert [line for line in idle if not (line == BEFORE_3_12 and sys.version_info >= (3, 12))] == []
    assert bool(_refusals(subject)) == (subject.code not in BY_NAME)
