"""What a step does besides its operators travels in a bundle, and is judged on the other machine."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.state.reading import read_states
from tests.precision.baselines.bundles import bundle_of
from tests.precision.state import running


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return running.record(tmp_path_factory.mktemp("states") / "baseline", "rms")


def test_a_fault_besides_the_operators_is_named_against_a_bundle(recorded: Path, tmp_path: Path) -> None:
    made = bundle_of(recorded, tmp_path / "base.zip", statistics=False)
    target = running.record(tmp_path / "target", "rms", "gradient zeroed", 2, "ulp")
    finding = next(finding for finding in compare(made, target).findings if finding.rule == "ACC237")
    assert finding.key == "ACC237.changed_zero" and finding.args["step"] == 2
    sound = running.record(tmp_path / "sound", "rms", noise="ulp")
    assert [finding.key for finding in compare(made, sound).findings if finding.rule == "ACC237"] == ["ACC237.same"]


def test_numbers_travel_as_they_are_and_folders_do_not(recorded: Path, tmp_path: Path) -> None:
    made = bundle_of(recorded, tmp_path / "base.zip", statistics=False)
    with zipfile.ZipFile(made) as archive:
        text = archive.read("state.rank0.json").decode("utf-8")
        archive.extract("state.rank0.json", tmp_path)
    here = str(Path(__file__).parents[2])
    assert here in (recorded / "state.rank0.json").read_text() and here not in text and ".../trainings.py:" in text
    ours, theirs = (read_states(folder).ranks[0] for folder in (recorded, tmp_path))
    assert len(ours) == len(theirs) == 5
    for step, own in ours.items():
        assert own.raw["gradients"] == theirs[step].raw["gradients"] and own.random == theirs[step].random


def test_a_state_that_is_not_listed_is_refused(recorded: Path, tmp_path: Path) -> None:
    made = bundle_of(recorded, tmp_path / "base", statistics=False)
    (made / "state.rank1.json").write_text(json.dumps({"schema": "x", "steps": []}))
    with pytest.raises(WorkbookError, match="state.rank1.json is not listed"):
        compare(made, recorded)
