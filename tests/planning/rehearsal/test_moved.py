"""A training that never uses the NPU is rehearsed with its models there, and the answer says so. About 30 s."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.planning import rehearsal

SCRIPT = Path(__file__).parent / "children" / "train_on_cpu.py"
#: Float32; Adam keeps two states as large.
WEIGHTS = 4 * (1000 * 256 + 4 * 512 * (256 + 512 + 2) + 2 * 512 + 5 * 512 + 5)


@pytest.mark.parametrize("allowed", [True, False])
def test_its_models_are_moved_where_that_is_allowed(
    simulator_env: dict[str, str], tmp_path: Path, allowed: bool
) -> None:
    report = rehearsal.rehearse(SCRIPT, out=tmp_path, stand_ins=allowed)
    first = report.findings[0]
    if not allowed:
        assert (first.key, first.status) == ("PLN500.no_device", Status.NOT_LOOKED)
        return
    assert (first.key, first.status) == ("PLN500.moved", Status.LOOK)
    (rank,) = report.facts["ranks"].values()
    held = {kind: rank["by_kind"][kind] for kind in ("weights", "optimizer")}
    assert held == pytest.approx({"weights": WEIGHTS, "optimizer": 2 * WEIGHTS}, rel=0.02)
    assert "never uses the NPU" in report.verdict("en") and "从未使用 NPU" in report.verdict("zh")
    known = next(finding for finding in report.findings if finding.key == "PLN509.known")
    assert "the model Net on the NPU" in known.message("en")


def test_one_that_fails_behind_its_steps_has_an_answer_too(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """A plot at the end of a course's script that today's library refuses: its steps were trained all the same."""
    script = tmp_path / "train.py"
    script.write_text(f"{SCRIPT.read_text()}\nraise TypeError('no such option of the plot')\n")
    report = rehearsal.rehearse(script, out=tmp_path / "out", steps=9)
    first = report.findings[0]
    assert (first.key, first.status, first.args["steps"]) == ("PLN500.partial", Status.LOOK, 4)
    assert "no such option of the plot" in first.message("en")
    known = next(finding for finding in report.findings if finding.key == "PLN509.known")
    assert "the model Net on the NPU" in known.message("en")
