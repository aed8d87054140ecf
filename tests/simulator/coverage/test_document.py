"""docs/simulator-operators.md names the operators as the simulator itself lists them. About 10 s."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.machine.simulator import coverage as document
from ascend_workbook.machine.simulator.coverage import measure_coverage

DOCUMENT = Path(__file__).parents[3] / "docs" / "simulator-operators.md"


@pytest.fixture(scope="module")
def lines(simulator_env: dict[str, str]) -> list[str]:
    report = measure_coverage([("forward", "float32")], ["exp"], workers=1, env=simulator_env)
    return [line for text in document.operator_lines(report) for line in text.splitlines()]


@pytest.mark.full
def test_the_operators_and_their_states_are_up_to_date(lines: list[str]) -> None:
    kept = DOCUMENT.read_text(encoding="utf-8").splitlines()
    at = kept.index("## Operators that torch_npu implements")
    missing = set(lines) - set(kept[at:])
    assert not missing, f"make it again: {document.COMMAND}; first: {sorted(missing)[0][:200]}"


def test_the_counts_are_there() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert "| forward | float32 |" in text and "| backward | float32 |" in text
    assert document.COMMAND in text
