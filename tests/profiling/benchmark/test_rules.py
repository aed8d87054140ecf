"""Each rule fires where it should and not at a near miss; nothing is said of a simulated NPU's speed."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling.benchmark import answer, facts, resources
from ascend_workbook.profiling.benchmark.facts import (
    FAILED,
    OUT_OF_MEMORY,
    Bench,
    Measured,
    compute_ratio,
    load_baseline,
)
from ascend_workbook.profiling.benchmark.resources import Power, watts_npu, watts_nvidia

STEADY = (1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0)


def measured(settings: dict[str, Any], seconds: float = 1.0, **more: Any) -> Measured:
    name = ", ".join(f"{key}={value}" for key, value in settings.items())
    times = tuple(seconds * one for one in STEADY)
    return Measured(name, settings, **{"runs_s": (times,), "samples": 8.0, **more})


def bench(*rows: Measured, tier: str = "cuda", axes: tuple[str, ...] = (), **more: Any) -> Bench:
    hardware = {"tier": tier, "device": {"cuda": "H100", "npu": "Ascend910B2"}.get(tier, tier), "count": 1}
    return Bench(rows, more.pop("unit", "samples"), hardware, axes, **more)


def keys(of: Bench) -> dict[str, Status]:
    return {found.key: found.status for found in answer.report_benchmark(of).findings}


def test_percentiles_are_numpys() -> None:
    times = [3.0, 1.0, 2.0, 10.0]
    for percent in (0, 50, 90, 95, 99, 100):
        assert facts.compute_percentile(times, percent) == pytest.approx(np.percentile(times, percent))


def test_an_interval_holds_the_mean_and_narrows_with_steadier_runs() -> None:
    wide, narrow = (
        facts.confidence_interval([[1.0], [1.2], [0.8]]),
        facts.confidence_interval([[1.0], [1.02], [0.98]]),
    )
    assert wide is not None and narrow is not None
    assert wide[0] < narrow[0] < 1 < narrow[1] < wide[1]
    assert facts.confidence_interval([[1.0, 1.0]]) is None, "two steps tell no uncertainty"


def test_three_runs_that_differ_are_less_certain_than_the_steps_of_each() -> None:
    runs = [[1.0] * 10, [1.3] * 10, [0.7] * 10]
    inside = facts.confidence_interval(runs[:1])
    between = facts.confidence_interval(runs)
    assert inside is not None and between is not None
    assert inside[1] - inside[0] < 0.01 < 0.5 < between[1] - between[0]


def test_the_fastest_is_named_and_one_within_its_uncertainty_too() -> None:
    fast, slow = measured({"batch": 1}, 1.0), measured({"batch": 2}, 2.0)
    assert "PRF370.best" in keys(bench(fast, slow))
    alike = bench(fast, measured({"batch": 2}, 1.001))
    assert "PRF370.like" in keys(alike)
    assert "batch=2" in answer.report_benchmark(alike).verdict("en")


def test_the_rate_is_samples_over_the_mean_step() -> None:
    one = measured({}, 2.0, tokens=800.0)
    assert one.rate_per_s == pytest.approx(4.0) and one.tokens_per_s == pytest.approx(400.0)
    low, high = one.rate_interval or (0.0, 0.0)
    assert low < 4.0 < high
    assert replace(one, samples=None).tokens_per_s == pytest.approx(400.0), "tokens are of a step all the same"
    assert "PRF370.simulated_one" in keys(bench(one, tier="npu-simulated"))
    assert measured({}, 1.0, rate_s=((0.5, 0.5),)).rate_per_s == pytest.approx(16.0), "blocks tell the throughput"


BURSTS = ((0.001,) * 7 + (0.8,)) * 5


def test_a_loader_that_delivers_in_bursts_is_as_fast_as_all_its_time() -> None:
    one = measured({}, runs_s=(BURSTS,))
    assert one.rate_per_s == pytest.approx(8 * 40 / sum(BURSTS))
    low, high = one.rate_interval or (0.0, 0.0)
    assert (low, high) == (pytest.approx(one.rate_per_s), pytest.approx(one.rate_per_s)), "each group has one wait"
    assert one.percentile_ms(50) == pytest.approx(1.0), "latency is told by its percentiles"
    found = next(one for one in answer.report_benchmark(bench(one)).findings if one.key == "PRF371.beyond")
    assert (found.args["long"], found.args["steps"], found.args["percent"]) == (5, 40, 99.1)
    other = bench(measured({}), facts={}, baseline=answer.report_benchmark(bench(one)))
    assert compute_ratio(other, other.successful[0]) == pytest.approx(8 / one.rate_per_s, rel=0.01)


def test_three_runs_with_a_slow_step_each_are_held_by_their_means() -> None:
    runs = [(*STEADY, late) for late in (5.0, 7.0, 9.0)]
    low, high = facts.confidence_interval(runs) or (0.0, 0.0)
    assert low < sum(map(sum, runs)) / 33 < high and high - low > 0.5


def test_what_is_not_steady_is_no_good_result() -> None:
    assert keys(bench(measured({})))["PRF371.steady"] is Status.GOOD
    drifting = measured({}, runs_s=(tuple(1 + at / 10 for at in range(12)),))
    assert keys(bench(drifting))["PRF371.shaky"] is Status.LOOK
    assert answer.report_benchmark(bench(drifting)).headline.rule == "PRF370"  # type: ignore[union-attr]
    short = keys(bench(measured({}, runs_s=((1.0, 3.0),))))
    assert short["PRF371.few"] is Status.NOTE and not {"PRF371.steady", "PRF371.shaky"} & short.keys()
    one_late = measured({}, runs_s=((*STEADY, 9.0),))
    assert "PRF371.shaky" not in keys(bench(one_late)), "one slow step shows in p99"
    assert one_late.percentile_ms(99) > 5000
    assert one_late.rate_per_s == pytest.approx(8 * 11 / (sum(STEADY) + 9)), "and counts in the throughput"
    assert "PRF371.beyond" in keys(bench(one_late)) and "PRF371.beyond" not in keys(bench(measured({})))


def test_out_of_memory_is_a_row_and_a_failure_is_a_failure() -> None:
    full = Measured("batch=64", {"batch": "64"}, OUT_OF_MEMORY, "CUDA out of memory")
    report = answer.report_benchmark(bench(measured({"batch": "8"}), full))
    assert report.status is Status.NOTE
    assert report.table is not None and len(report.table.rows) == 2
    failed = Measured("batch=64", {"batch": "64"}, FAILED, "no such option")
    assert answer.report_benchmark(bench(measured({"batch": "8"}), failed)).status is Status.FIX
    assert answer.report_benchmark(bench(full)).status is Status.FIX, "nothing was measured"
    ran = {"PRF375", "PRF377", "PRF378"}
    rules = [{key.partition(".")[0] for key in keys(bench(row))} for row in (full, measured({}))]
    assert not rules[0] & ran and rules[1] >= ran, "of what did not run nothing is said"


def sweep(*seconds: float, **more: Any) -> Bench:
    rows = [measured({"batch-size": str(8 << at)}, one, samples=8.0 * 2**at) for at, one in enumerate(seconds)]
    return bench(*rows, axes=("batch-size",), **more)


def test_a_larger_batch_that_brings_little_is_the_knee() -> None:
    found = next(one for one in answer.report_benchmark(sweep(1.0, 1.1, 2.18)).findings if one.rule == "PRF373")
    assert (found.key, found.args["name"], found.args["gain"]) == ("PRF373.knee", "batch-size=16", 81.8)
    assert "PRF373.grows" in keys(sweep(1.0, 1.1, 1.3))
    assert keys(sweep(1.0, 1.1, unit="steps"))["PRF373.no_samples"] is Status.NOT_LOOKED
    rates = bench(measured({"lr": "1"}), measured({"lr": "2"}), axes=("lr",))
    assert not any(key.startswith("PRF373") for key in keys(rates))


@pytest.mark.parametrize(
    ("name", "values"), [("batch-norm", (False, True)), ("num-batches", ("10", "20")), ("batch-size", ("a", "b"))]
)
def test_what_is_no_batch_size_is_not_judged_as_one(name: str, values: tuple[Any, ...]) -> None:
    found = keys(bench(*(measured({name: value}) for value in values), axes=(name,)))
    assert not any(key.startswith("PRF373") or key == "rule.broke" for key in found)


def test_float32_is_where_the_switch_is_off_not_what_comes_first() -> None:
    rows = (measured({"amp": "1"}, 0.5), measured({"amp": "0"}))
    found = next(one for one in answer.report_benchmark(bench(*rows, axes=("amp",))).findings if one.rule == "PRF374")
    assert (found.key, found.args["name"], found.args["ratio"]) == ("PRF374.faster", "amp=1", 2.0)
    levels = bench(measured({"amp": "O1"}, 0.5), measured({"amp": "O2"}), axes=("amp",))
    assert keys(levels)["PRF374.no_switch"] is Status.NOT_LOOKED


def test_float32_is_where_every_such_switch_is_off() -> None:
    rows = [measured({"amp": amp, "bf16": bf16}, 0.5) for amp in (False, True) for bf16 in (False, True)]
    found = [
        one for one in answer.report_benchmark(bench(*rows, axes=("amp", "bf16"))).findings if one.rule == "PRF374"
    ]
    assert [one.args["name"] for one in found] == ["amp=True, bf16=False", "amp=False, bf16=True"]


@pytest.mark.parametrize(("seconds", "key"), [(0.5, "faster"), (1.001, "alike"), (2.0, "slower")])
def test_mixed_precision_against_float32(seconds: float, key: str) -> None:
    rows = (measured({"autocast": False}), measured({"autocast": True}, seconds))
    assert f"PRF374.{key}" in keys(bench(*rows, axes=("autocast",)))


def test_waiting_for_data_names_the_loader_that_waits_least() -> None:
    rows = [measured({"workers": at}, loading_s=(wait,) * 10) for at, wait in ((0, 0.5), (2, 0.01))]
    found = next(
        one for one in answer.report_benchmark(bench(*rows, axes=("workers",))).findings if one.rule == "PRF375"
    )
    assert (found.key, found.args["name"], found.args["worst_ms"]) == ("PRF375.hidden_varied", "workers=2", 500.0)
    assert keys(bench(rows[0]))["PRF375.waits"] is Status.NOTE
    assert keys(bench(measured({})))["PRF375.unseen"] is Status.NOTE


def test_loaders_are_compared_where_the_computing_is_the_same() -> None:
    rows = [
        measured({"workers": workers, "autocast": mixed}, seconds, loading_s=(wait,) * 10)
        for mixed, seconds in ((False, 2.0), (True, 0.5))
        for workers, wait in ((0, 0.2), (2, 0.1))
    ]
    found = [
        one
        for one in answer.report_benchmark(bench(*rows, axes=("workers", "autocast"))).findings
        if one.rule == "PRF375"
    ]
    assert [(one.key, one.args["name"], one.args["worst"]) for one in found] == [
        ("PRF375.hidden_varied", "workers=2, autocast=False", "workers=0, autocast=False"),
        ("PRF375.waits_varied", "workers=2, autocast=True", "workers=0, autocast=True"),
    ]
    apart = [
        one for one in answer.report_benchmark(bench(*rows[::2], axes=("autocast",))).findings if one.rule == "PRF375"
    ]
    assert [(one.key, one.args["percent"]) for one in apart] == [("PRF375.waits", 40.0)], "the one that waits most"


def test_a_loader_by_itself_is_not_said_to_be_unseen() -> None:
    assert not any(key.startswith("PRF375") for key in keys(bench(measured({}), facts={"kind": "loading"})))


def test_what_one_configuration_cannot_answer_is_listed_and_takes_no_answer_away() -> None:
    levels = [measured({"amp": level}) for level in ("O1", "O2")]
    report = answer.report_benchmark(bench(*levels, axes=("amp",)))
    listed = {one.key for one in report.findings if one.status is Status.NOT_LOOKED}
    assert "PRF374.no_switch" in listed and report.status is not Status.NOT_LOOKED
    assert report.headline is not None and report.headline.rule == "PRF370"


def test_a_baseline_that_cannot_be_held_against_it_leaves_the_question_open() -> None:
    base = answer.report_benchmark(bench(measured({"b": "1"})))
    report = answer.report_benchmark(bench(measured({"b": "2"}), baseline=base))
    assert report.status is Status.NOT_LOOKED and report.headline is not None and report.headline.rule == "PRF370"


def test_the_simulated_npu_is_never_called_fast() -> None:
    rows = [
        measured({"batch-size": batch, "autocast": mixed, "pin_memory": pin}, loading_s=(0.01,) * 10)
        for batch in ("8", "16")
        for mixed in (False, True)
        for pin in (False, True)
    ]
    base = answer.report_benchmark(bench(*rows))
    found = keys(bench(*rows, tier="npu-simulated", axes=("batch-size", "autocast", "pin_memory"), baseline=base))
    for rule in ("PRF370", "PRF373", "PRF374", "PRF375", "PRF376"):
        assert found[f"{rule}.simulated"] is Status.NOT_LOOKED
    assert not {"PRF370.best", "PRF370.like", "PRF374.faster", "PRF376.apart"} & found.keys()
    assert not any(key.startswith("PRF375.hidden") for key in found), "a CPU's long steps hide any loading"


def saved(tmp_path: Path, report: Report) -> Path:
    path = tmp_path / "gpu.json"
    path.write_text(report.to_json(), encoding="utf-8")
    return path


def test_against_an_earlier_benchmark_of_another_machine(tmp_path: Path) -> None:
    earlier = answer.report_benchmark(bench(measured({"b": "1"}, 1.0), facts={"args": ["--x"], "nproc": 1}))
    base = load_baseline(saved(tmp_path, earlier))
    here = bench(measured({"b": "1"}, 0.5), tier="npu", baseline=base, facts={"args": ["--x"], "nproc": 1})
    report = answer.report_benchmark(here)
    found = next(one for one in report.findings if one.rule == "PRF376")
    assert found.args == {"device": "Ascend910B2", "baseline": "H100", "name": "b=1", "ratio": 2.0}
    assert report.table is not None and report.table.column_values("bench_relative") == [2.0]
    other = bench(measured({"b": "1"}), baseline=base, facts={"args": ["--y"], "nproc": 8})
    assert {"PRF376.alike", "PRF376.other"} <= keys(other).keys()
    assert keys(bench(measured({"b": "2"}), baseline=base))["PRF376.nothing"] is Status.NOT_LOOKED
    assert keys(bench(measured({"b": "1"}), unit="steps", baseline=base))["PRF376.nothing"] is Status.NOT_LOOKED


def test_another_kind_of_benchmark_is_no_baseline() -> None:
    loading = answer.report_benchmark(bench(measured({}), facts={"kind": "loading"}))
    training = bench(measured({}, 0.5), baseline=loading, facts={"kind": "training"})
    report = answer.report_benchmark(training)
    assert compute_ratio(training, training.successful[0]) is None
    found = {one.key: one for one in report.findings}
    assert found["PRF376.kinds"].status is Status.NOT_LOOKED and "PRF376.apart" not in found
    assert "data loading alone" in found["PRF376.kinds"].message("en")


def test_another_script_is_warned_of_and_another_folder_is_not() -> None:
    facts = {"script": "/home/a/train.py", "args": [], "nproc": 1, "steps": 20, "kind": "training"}
    base = answer.report_benchmark(bench(measured({}), facts=facts))
    same = keys(bench(measured({}), baseline=base, facts={**facts, "script": "C:\\b\\train.py"}))
    assert not {"PRF376.other", "PRF376.lengths"} & same.keys()
    other = keys(bench(measured({}), baseline=base, facts={**facts, "script": "other.py"}))
    assert other["PRF376.other"] is Status.LOOK
    longer = keys(bench(measured({}), baseline=base, facts={**facts, "steps": 50}))
    assert longer["PRF376.lengths"] is Status.NOTE and "PRF376.other" not in longer


def test_what_is_no_benchmark_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="holds no benchmark"):
        load_baseline(saved(tmp_path, Report("profiling", "profile")))
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(WorkbookError, match="broken.json"):
        load_baseline(tmp_path / "broken.json")


def test_power_is_the_cards_together_or_not_known() -> None:
    assert watts_nvidia("61.5\n70.5\n") == 132.0
    assert watts_nvidia("[N/A]\n") is None and watts_nvidia("") is None
    assert watts_npu("") is None
    assert keys(bench(measured({}, power_w=100.0)))["PRF377.best"] is Status.GOOD
    assert keys(bench(measured({})))["PRF377.unknown"] is Status.NOTE
    text = answer.report_benchmark(bench(measured({}))).text("en")
    assert "power was not measured" in text and text.count("samples/s on H100") == 1, "notes shown, the verdict once"


@pytest.mark.parametrize(("answer", "watts"), [("60\\n40\\n", 100.0), ("[N/A]\\n", None)])
def test_power_is_sampled_beside_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, watts: float | None
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\nprintf '{answer}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(resources, "EVERY_S", 0.01)
    with Power(Device("cuda", "H100", 2)) as sampled:
        deadline = time.monotonic() + 10
        while sampled.watts is None and not sampled.why and time.monotonic() < deadline:
            time.sleep(0.01)
    assert sampled.watts == watts
    assert (sampled.why is None) == (watts is not None)


def test_where_nothing_tells_the_power_the_reason_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for tier, why in (("cuda", "no_tool"), ("npu", "no_tool"), ("npu-simulated", "simulated"), ("cpu", "cpu")):
        with Power(Device(tier, "x", 1)) as sampled:
            pass
        assert sampled.watts is None and sampled.why["say"] == f"benchmark.power.{why}"  # type: ignore[index, call-overload]


def test_one_run_does_not_tell_what_differs_between_runs() -> None:
    assert keys(bench(measured({})))["PRF378.few"] is Status.NOTE
    assert keys(bench(measured({}), repeats=3))["PRF378.enough"] is Status.GOOD


def test_the_report_survives_its_json() -> None:
    report = answer.report_benchmark(sweep(1.0, 1.1))
    again = Report.from_json(report.to_json())
    assert again.facts == json.loads(json.dumps(report.facts))
    row = again.facts["benchmark"]["configurations"][0]
    assert row["rate_per_s"] == pytest.approx(8.0) and row["p50_ms"] == pytest.approx(1000.0)
    assert "batch-size=16" in again.text("zh")
