"""Statistics of everything, then tensors around the place that they point at."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.bisect import bisect, find_suspicious_place
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.comparison import examine_captures
from ascend_workbook.precision.layouts import read_dump
from tests.precision.dumps import as_capture
from tests.precision.networks import convolutions

SCRIPT = Path(__file__).parent / "data" / "tiny_net.py"


def test_the_suspicious_place_is_what_parts_first_and_its_neighbours(tmp_path: Path) -> None:
    left = convolutions(tmp_path / "a", task="statistics")
    fault = {"Functional.batch_norm.1.forward": lambda value: value * 1.5}
    place = find_suspicious_place(
        examine_captures(left, convolutions(tmp_path / "b", task="statistics", faults=fault), replaying=False)
    )
    assert place is not None and place.suspects[0] == "Functional.batch_norm.1.forward"
    names = place.names["target"]
    assert names.index("Functional.conv2d.1.forward") < names.index("Functional.batch_norm.1.forward")
    assert place.names["baseline"] == names and len(names) < 15


def test_a_backward_suspect_comes_with_its_forward_call(tmp_path: Path) -> None:
    fault = {"Functional.batch_norm.2.backward": lambda value: value * 1.5}
    sides = [convolutions(tmp_path / side, task="statistics", faults=made) for side, made in (("a", {}), ("b", fault))]
    place = find_suspicious_place(examine_captures(*sides, replaying=False))
    assert place is not None and "Functional.batch_norm.2.forward" in place.names["target"]


def test_there_is_no_place_where_nothing_parts_nor_in_another_experiment(tmp_path: Path) -> None:
    left = convolutions(tmp_path / "a" / "dump", task="statistics").parent
    right = convolutions(tmp_path / "b" / "dump", task="statistics", seed=1).parent
    assert find_suspicious_place(examine_captures(left / "dump", left / "dump", replaying=False)) is None
    sides = as_capture(left, task="statistics"), as_capture(right, task="statistics", seed=2)
    assert find_suspicious_place(examine_captures(*sides, replaying=False)) is None


@pytest.mark.full
def test_a_faulty_operator_is_found_with_a_fraction_of_the_bytes(simulator_env: dict[str, str], tmp_path: Path) -> None:
    said: list[str] = []
    report = bisect(
        SCRIPT,
        progress=said.append,
        out=tmp_path,
        device="npu-simulated",
        baseline="cpu",
        settings={"ASCEND_WORKBOOK_SIM_FAULT": "aten::convolution@2:scale=1.05"},
    )
    told = report.facts["bisect"]
    assert report.status is Status.FIX and report.facts["first_divergence"] == "Functional.conv2d.1.forward"
    assert report.headline is not None and report.headline.key == "ACC230.replayed", "tensors were run again"
    assert told["suspects"][0] == "Functional.conv2d.1.forward" and told["tensor_bytes"] > 0
    (run,) = read_dump(tmp_path / "tensor" / "target" / manifest.DUMP)
    (whole,) = read_dump(tmp_path / "statistics" / "target" / manifest.DUMP)
    assert len(run.operators) < len(whole.operators)
    (place,) = [line for line in said if line.startswith("captured whole next")]
    assert "step 0 rank 0" in place and "Functional.conv2d.1.forward" in place
    assert f"{round(told['tensor_bytes'] / (1 << 20), 2):g} MiB" in said[-1]
