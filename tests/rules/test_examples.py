"""Each rule says exactly what its examples say: count, status, sentence, numbers, place; and of others nothing."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any, Callable

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.rules import Check, rules_of
from ascend_workbook.precision.rules import uncompared
from tests.rules.lines import lines_of
from tools.docs.stages import STAGES

TABLES = {
    name: import_module(f"tests.rules.{name}").EXAMPLES
    for name in (
        "environment",
        "profiling",
        "ranks",
        "compare",
        "benchmark",
        "precision",
        "distributed",
        "planning",
        "acceptance",
    )
}
CHECKS: dict[str, Check] = {
    code: check
    for stage in STAGES
    if stage.name != "migration"
    for package, _ in stage.rules
    for code, check in rules_of(import_module(package)).items()
}
#: No report of ours tells of it.
NEVER_ANSWERED = "ACP541"
EXAMPLES = [
    pytest.param(*example, id=f"{stage}-{example[0]}-{number}")
    for stage, table in TABLES.items()
    for number, example in enumerate(table)
]


@pytest.mark.parametrize("code, make, lines", EXAMPLES)
def test_a_rule_says_this_and_no_more(code: str, make: Callable[[], Any], lines: list[str]) -> None:
    assert lines_of(CHECKS[code], make()) == lines


@pytest.mark.parametrize("measured, lines", [(10, []), (11, ["NOTE ACC209.slower reason=native.unusable(error=E)"])])
def test_slower_arithmetic_is_told_where_much_was_compared(
    monkeypatch: pytest.MonkeyPatch, measured: int, lines: list[str]
) -> None:
    """Whether the native part is missing hangs on the machine, so it is given here."""
    monkeypatch.setattr(uncompared, "ALONE", 10)
    monkeypatch.setattr(uncompared.fused, "explain_missing_kernel", lambda: WorkbookError("native.unusable", error="E"))
    slot = SimpleNamespace(metrics=SimpleNamespace(measured=measured))
    judged = SimpleNamespace(agreement=SimpleNamespace(outputs=(slot, SimpleNamespace(metrics=None))))
    assert lines_of(CHECKS["ACC209"], SimpleNamespace(steps=[SimpleNamespace(judged=[judged])])) == lines


@pytest.mark.parametrize("code", sorted(CHECKS.keys() - {"ACC209"}))
def test_each_rule_is_pinned_on_both_sides(code: str) -> None:
    """A rule has an example in which it speaks of what it judges, and one in which it says something else."""
    seen = {tuple(lines) for table in TABLES.values() for example, _, lines in table if example == code}
    assert code == NEVER_ANSWERED or any(not line.startswith("CANNOT") for lines in seen for line in lines), (
        "no example in which it speaks"
    )
    keys = {tuple(line.split()[1] for line in lines) for lines in seen}
    assert len(keys) > 1 or code == NEVER_ANSWERED, "no near miss"
