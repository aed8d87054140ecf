"""Speed without its warm-up, memory over ranks, what a script printed last, and losses of two runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.machine.launch import LaunchResult, Step
from ascend_workbook.precision.baselines.packing import compare_losses, measure_throughput, read_memory, read_metrics


def steps(*times: float) -> list[Step]:
    return [Step(at, 1.0, 0.1, None, time_s) for at, time_s in enumerate(times, 1)]


def test_the_warm_up_is_left_out_and_the_spread_told() -> None:
    told = measure_throughput(steps(9.0, 3.0, *[0.5] * 9, 0.25, 1.0), warmup=2, samples=64)
    assert told is not None and (told["median"], told["low"], told["high"]) == (2.0, 2.0, 2.0)
    assert told["count"] == 11 and told["samples_per_s"] == 128.0
    slow = measure_throughput(steps(*[0.5] * 5, *[1.0] * 5), warmup=0)
    assert slow is not None and (slow["low"], slow["high"]) == (1.0, 2.0) and "samples_per_s" not in slow


def test_too_few_steps_have_no_speed() -> None:
    assert measure_throughput(steps(1.0, 1.0, 1.0, 1.0), warmup=2) is None
    assert measure_throughput(steps(1.0, 1.0, 1.0, 0.0), warmup=1) is None


def test_memory_is_the_largest_of_all_ranks(tmp_path: Path) -> None:
    for rank, used in enumerate((100.0, 300.0)):
        told = {"status": "finished", "allocated_mib": used, "device_mib": 1000.0}
        (tmp_path / f"memory.rank{rank}.json").write_text(json.dumps(told))
    assert read_memory(tmp_path) == {"allocated_mib": 300.0, "device_mib": 1000.0}
    assert read_memory(tmp_path / "none") == {}


@pytest.mark.parametrize(("outcome", "ended"), [("finished", True), ("stopped_after", False)])
def test_the_last_of_each_metric_is_kept(tmp_path: Path, outcome: str, ended: bool) -> None:
    lines = [f"step {at} loss {1 / at:.4f} accuracy {at / 10:.2f}" for at in range(1, 4)]
    (tmp_path / "output.log").write_text("\n".join(lines))
    result = LaunchResult(outcome, 0, tmp_path, (), 1.0)
    assert read_metrics(result) == {"accuracy": {"value": 0.3, "step": 3, "ended": ended}}


def test_a_silent_script_has_no_metric(tmp_path: Path) -> None:
    (tmp_path / "output.log").write_text("")
    assert read_metrics(LaunchResult("finished", 0, tmp_path, (), 1.0)) == {}


def test_losses_of_two_runs() -> None:
    assert compare_losses([1.0, 2.0, None], [1.0, 1.9]) == pytest.approx(0.05)
    assert compare_losses([float("nan")], [1.0]) is None and compare_losses([], []) is None
