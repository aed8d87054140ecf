"""A rule that cannot look says so; a rule that breaks is a finding; the folder is the registry."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck, judge_facts, modules_of, rules_of


def good(facts: int) -> list[Finding]:
    return [Finding("A", Status.GOOD, "report.not_looked")]


def blind(facts: int) -> list[Finding]:
    raise CannotCheck("report.not_looked")


def broken(facts: int) -> list[Finding]:
    return [Finding("C", Status.GOOD, str(1 // facts))]


def test_blind_and_broken_rules_become_findings() -> None:
    found = judge_facts(0, {"A": good, "B": blind, "C": broken})
    assert [(one.rule, one.status) for one in found] == [
        ("A", Status.GOOD),
        ("B", Status.NOT_LOOKED),
        ("C", Status.FIX),
    ]
    assert "ZeroDivisionError" in found[2].message("en")


def test_strict_raises() -> None:
    with pytest.raises(ZeroDivisionError):
        judge_facts(0, {"C": broken}, strict=True)


def package(folder: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> ModuleType:
    """Write and import a package of rules, of a name of its own."""
    (folder / folder.name).mkdir()
    for name, text in {"__init__": "", **modules}.items():
        (folder / folder.name / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    return import_module(folder.name)


ALONE = "CODE = 'X1'\ndef check(facts): return [facts]\n"
ROWS = (
    "from functools import partial\ndef judge(row, facts): return [row * facts]\n"
    "RULES = {'X3': partial(judge, 3), '%s': partial(judge, 2)}\n"
)


def test_a_module_holds_one_rule_or_a_table_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rules = package(tmp_path, monkeypatch, alone=ALONE, rows=ROWS % "X2")
    assert {code: check(7) for code, check in rules_of(rules).items()} == {"X1": [7], "X2": [14], "X3": [21]}
    homes = {code: module.__name__.rpartition(".")[2] for code, module in modules_of(rules).items()}
    assert list(homes.items()) == [("X1", "alone"), ("X2", "rows"), ("X3", "rows")]


@pytest.mark.parametrize("other", [ALONE, ROWS % "X1"], ids=["alone", "rows"])
def test_a_code_is_taken_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, other: str) -> None:
    with pytest.raises(ValueError, match="X1 is taken"):
        rules_of(package(tmp_path, monkeypatch, alone=ALONE, other=other))
