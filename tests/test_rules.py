"""A rule that cannot look says so; a rule that breaks is a finding; the folder is the registry."""

from __future__ import annotations

from types import ModuleType

import pytest

from helpers.finding import Finding, Status
from helpers.rules import CannotCheck, judge, rules_of


def good(facts: int) -> list[Finding]:
    return [Finding("A", Status.OK, "report.not_looked")]


def blind(facts: int) -> list[Finding]:
    raise CannotCheck("report.not_looked")


def broken(facts: int) -> list[Finding]:
    return [Finding("C", Status.OK, str(1 // facts))]


def test_blind_and_broken_rules_become_findings() -> None:
    found = judge(0, {"A": good, "B": blind, "C": broken})
    assert [(one.rule, one.status) for one in found] == [("A", Status.OK), ("B", Status.SKIPPED), ("C", Status.FAIL)]
    assert "ZeroDivisionError" in found[2].message("en")


def test_strict_raises() -> None:
    with pytest.raises(ZeroDivisionError):
        judge(0, {"C": broken}, strict=True)


def test_a_code_is_taken_once(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    folder = tmp_path / "twice"
    folder.mkdir()
    for name in ("__init__", "a", "b"):
        (folder / f"{name}.py").write_text("CODE = 'X1'\ndef check(facts): return []\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import twice  # type: ignore[import-not-found]

    assert isinstance(twice, ModuleType)
    with pytest.raises(ValueError, match="X1 is taken"):
        rules_of(twice)
