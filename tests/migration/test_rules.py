"""Every rule against its examples: what is marked is found, once and there, and nothing else is."""

from __future__ import annotations

import ast

import pytest

from ascend_workbook.findings.sentence import say
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.rewrite import apply_edits
from tests.migration.subjects import SUBJECTS, Subject, mark_findings
from tools.examples import FOLDERS, BadExample, Case, Mark, parse_examples

CASES = [
    pytest.param(subject, case, id=f"{subject.code}-{case.title}") for subject in SUBJECTS for case in subject.cases
]


@pytest.mark.parametrize(("subject", "case"), CASES)
def test_what_is_marked_is_found_and_nothing_else(subject: Subject, case: Case) -> None:
    source = subject.read(case.code)
    findings = list(subject.check(source))
    assert mark_findings(findings) == sorted(case.marks)
    for finding in findings:
        assert subject.file or finding.rule == subject.code
        assert say(finding.key, "en", **finding.args) and say(finding.key, "zh", **finding.args)
    edits = [edit for finding in findings for edit in finding.edits]
    assert (apply_edits(source, edits) if edits else None) == case.after
    if case.after is not None:
        assert subject.file or ast.parse(case.after)
        again = list(subject.check(subject.read(case.after)))
        assert "rewrite" not in {class_of(finding) for finding in again}, "rewriting twice would change it again"


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.code)
def test_every_rule_has_chinese_on_a_line_that_fires_and_on_one_that_does_not(subject: Subject) -> None:
    for near_miss in (False, True):
        assert any(not case.code.isascii() for case in subject.cases if case.near_miss == near_miss)


@pytest.mark.parametrize("folder", ["Python", "texts"])
def test_at_least_two_fifths_of_the_cases_must_not_change(folder: str) -> None:
    cases = [case for subject in SUBJECTS if bool(subject.file) == (folder == "texts") for case in subject.cases]
    assert sum(case.after is None for case in cases) >= 0.4 * len(cases)


def test_every_file_of_examples_is_a_rules() -> None:
    assert {file.stem for file in FOLDERS["MIG"].iterdir()} == {subject.code for subject in SUBJECTS}


def test_a_caret_stands_where_a_terminal_shows_the_place() -> None:
    text = (
        "# --- case: two\n张量 = x.cuda()\n#      ^ A1.b auto\nx\n^ A1.c manual\n# --- after\ny\n\n# --- near miss\nz\n"
    )
    first, second = parse_examples(text, "a.py")
    assert first.marks == (Mark(1, 6, "A1.b", "auto"), Mark(2, 1, "A1.c", "manual"))
    assert (first.code, first.after, first.near_miss) == ("张量 = x.cuda()\nx\n", "y\n", False)
    assert (second.code, second.after, second.title) == ("z\n", None, "near miss 2")


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "# --- case\nx = 1\n",
        "# --- near miss\nx = 1\n^ A1.b auto\n",
        "# --- case\nx\n#    ^ A1.b auto\n",
        "# --- case\n^ A1.b auto\nx\n",
        "# --- case\n张 = x\n#^ A1.b auto\n",
    ],
)
def test_a_file_of_examples_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(BadExample):
        parse_examples(text, "a.py")
