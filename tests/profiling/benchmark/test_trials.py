"""Trials: rounds in turns, until decided; what fails, cannot act or is interrupted is a row with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Progress, RunLog, Step
from ascend_workbook.machine.launch.result import ChildError
from ascend_workbook.profiling import benchmark
from ascend_workbook.profiling.benchmark import presets, runs, script
from ascend_workbook.profiling.benchmark.configurations import Configuration, from_words, parse_axes
from ascend_workbook.profiling.benchmark.presets import lines_to_copy, trials_of_presets
from ascend_workbook.profiling.benchmark.trials import trials_of_axes

NPU = Device("npu", "Ascend910B3", 8)
SIMULATED = Device("npu-simulated", "simulated", 1)
CPU = Device("cpu", "a CPU", 1)
Seconds = Callable[[LaunchSpec, int], float]


def said(report: Report, lang: str = "en") -> list[str]:
    return [finding.key for finding in report.findings]


def rows(report: Report) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in report.facts["benchmark"]["configurations"]}


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[LaunchSpec]]:
    """In the place of launches: steps of so many seconds by the spec and the number of the launch, or an error."""

    def install(seconds: Seconds, loss: Callable[[LaunchSpec], float] = lambda spec: 1.0) -> list[LaunchSpec]:
        specs: list[LaunchSpec] = []

        def run(spec: LaunchSpec, on_progress: Callable[[Progress], None]) -> LaunchResult:
            specs.append(spec)
            took = seconds(spec, len(specs))
            spec.out.mkdir(parents=True, exist_ok=True)
            if took < 0:
                error = ChildError("RuntimeError", "no such queue")
                return LaunchResult("failed", 1, spec.out, (), 1.0, error, Sentence("benchmark.interrupted"))
            steps = spec.steps or 0
            columns = {"times_s": [took] * steps, "loading_s": [0.0] * steps, "samples": [8] * steps}
            content = {**columns, "tokens": [0] * steps, "host_peak_mib": 100, "device_peak_mib": None}
            (spec.out / runs.TOLD).write_text(json.dumps(content))
            log = RunLog(
                spec.out, "stopped_after", {}, tuple(Step(at, loss(spec), None, None, took) for at in range(steps))
            )
            return LaunchResult("stopped_after", 0, spec.out, (log,), 1.0)

        monkeypatch.setattr(runs, "launch", run)
        monkeypatch.setattr(script.devices, "find", lambda wanted, **_: CPU)
        return specs

    return install


def queue_of(spec: LaunchSpec) -> str:
    return (spec.env or {}).get("Q", "")


def wobble(number: int) -> float:
    """A machine that gets slower, and is never twice the same."""
    return (1 + 0.01 * number) * (1 + 0.001 * (number % 3))


def test_a_faster_setting_is_found_and_given_as_lines(launched: Any, tmp_path: Path) -> None:
    specs = launched(lambda spec, number: {"": 1.0, "1": 1.0, "2": 0.8}[queue_of(spec)] * wobble(number))
    told: list[str] = []
    report = benchmark(
        tmp_path / "train.py",
        device="cpu",
        steps=4,
        warmup=1,
        env=["Q=1,2"],
        out=tmp_path / "out",
        on_progress=lambda now: told.extend(now.lines),
    )
    found = rows(report)
    assert (found["Q=2"]["trial"]["verdict"], found["as-is"]["trial"]) == ("faster", None)
    assert found["Q=2"]["trial"]["ratio"] == pytest.approx(1.25, rel=0.02)
    assert found["Q=2"]["trial"]["low"] > 1 and found["Q=2"]["trial"]["high"] > found["Q=2"]["trial"]["ratio"]
    assert "PRF379.best" in said(report) and report.listing is not None
    assert report.listing.text == "export Q=2\n"
    best = next(finding for finding in report.findings if finding.key == "PRF379.best")
    assert best.args["lines"] == ["export Q=2"]
    assert [queue_of(spec) for spec in specs[:6]] == ["", "1", "2", "2", "1", ""], "the other way in every other round"
    assert {spec.seed for spec in specs} == {specs[0].seed} != {None}
    assert len(specs) < 3 * 12, "it stops where all is decided"
    assert told[0].startswith("round 1 of at most 12, run 1 of 3: as-is")
    assert "PRF389.same" in said(report)


def test_a_decided_setting_is_run_no_more(launched: Any, tmp_path: Path) -> None:
    noise = (1.0, 0.7, 1.4, 0.8, 1.2)
    seconds = {"": 1.0, "1": 0.5}
    specs = launched(
        lambda spec, number: seconds.get(queue_of(spec), noise[number % 5]) * wobble(number) if number else 0.0
    )
    report = benchmark(
        tmp_path / "t.py", device="cpu", steps=2, warmup=1, env=["Q=1,x"], rounds=6, out=tmp_path / "out"
    )
    ran = [queue_of(spec) for spec in specs]
    assert ran.count("1") < ran.count("x") == ran.count("") == 6
    assert rows(report)["Q=x"]["trial"]["verdict"] == "open" and "PRF379.open" in said(report)


def test_a_setting_that_fails_is_one_row_and_the_rest_goes_on(launched: Any, tmp_path: Path) -> None:
    specs = launched(lambda spec, number: -1 if queue_of(spec) == "1" else wobble(number))
    report = benchmark(tmp_path / "t.py", device="cpu", steps=2, warmup=1, env=["Q=1,2"], out=tmp_path / "out")
    assert [row["outcome"] for row in rows(report).values()] == ["measured", "failed", "measured"]
    assert [queue_of(spec) for spec in specs].count("1") == 1
    assert rows(report)["Q=2"]["trial"]["rounds"] > 1
    assert "PRF372.failed" in said(report)


def test_where_the_script_fails_as_it_is_nothing_is_tried(launched: Any, tmp_path: Path) -> None:
    specs = launched(lambda spec, number: -1)
    report = benchmark(tmp_path / "t.py", device="cpu", steps=2, warmup=1, env=["Q=1,2"], out=tmp_path / "out")
    assert len(specs) == 1
    assert [row["outcome"] for row in rows(report).values()] == ["failed", "not_run", "not_run"]


def test_what_ran_before_an_interruption_is_kept(launched: Any, tmp_path: Path) -> None:
    def seconds(spec: LaunchSpec, number: int) -> float:
        if number == 6:
            raise KeyboardInterrupt
        return wobble(number)

    launched(seconds)
    report = benchmark(tmp_path / "t.py", device="cpu", steps=2, warmup=1, env=["Q=1,2"], out=tmp_path / "out")
    assert rows(report)["as-is"]["outcome"] == "measured" and rows(report)["Q=1"]["trial"]["rounds"] == 1
    assert "PRF379.interrupted" in said(report) and report.facts["benchmark"]["interrupted"] is True
    launched(lambda spec, number: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        benchmark(tmp_path / "t.py", device="cpu", steps=2, warmup=1, env=["Q=1,2"], out=tmp_path / "out")


def test_an_interrupted_sweep_keeps_its_rows(launched: Any, tmp_path: Path) -> None:
    def seconds(spec: LaunchSpec, number: int) -> float:
        if number == 2:
            raise KeyboardInterrupt
        return 1.0

    launched(seconds)
    report = benchmark(tmp_path / "t.py", device="cpu", steps=2, warmup=1, sweep=["b=1,2"], out=tmp_path / "out")
    assert [row["outcome"] for row in rows(report).values()] == ["measured", "not_run"]
    assert rows(report)["b=2"]["why"] == {"say": "benchmark.interrupted"}


def test_other_losses_are_told_and_such_a_setting_is_not_the_best(launched: Any, tmp_path: Path) -> None:
    launched(
        lambda spec, number: (0.5 if queue_of(spec) else 1.0) * wobble(number),
        loss=lambda spec: 1.5 if queue_of(spec) else 1.0,
    )
    report = benchmark(tmp_path / "t.py", device="cpu", steps=2, warmup=1, env=["Q=1"], out=tmp_path / "out")
    apart = next(finding for finding in report.findings if finding.key == "PRF389.loss")
    assert (apart.args["apart"], apart.args["spread"]) == (50.0, 0.0)
    assert "PRF379.best" not in said(report) and report.listing is None


def test_arguments_are_no_reason_for_the_same_losses(launched: Any, tmp_path: Path) -> None:
    launched(lambda spec, number: wobble(number), loss=lambda spec: float(len(spec.args)))
    report = benchmark(tmp_path / "t.py", device="cpu", steps=2, warmup=1, arg=["batch_size=8"], out=tmp_path / "out")
    assert rows(report)["batch_size=8"]["trial"]["loss_apart"] is None
    assert "PRF389.untold" in said(report)


def test_what_can_act_is_tried_without_what_cannot() -> None:
    axes = parse_axes(sweep=["batch-size=8,16"], env=["TASK_QUEUE_ENABLE=1,2", "MY_SETTING=a,b"])
    trials = trials_of_axes(axes, SIMULATED, 1)
    assert [trial.configuration.name for trial in trials if trial.refused] == [
        "TASK_QUEUE_ENABLE=1",
        "TASK_QUEUE_ENABLE=2",
    ]
    tried = [trial.configuration.settings for trial in trials if not trial.refused]
    assert tried == [{"batch-size": size, "MY_SETTING": name} for size in ("8", "16") for name in "ab"]


def test_what_cannot_act_is_refused_with_a_sentence(launched: Any, tmp_path: Path) -> None:
    specs = launched(lambda spec, number: wobble(number))
    report = benchmark(
        tmp_path / "t.py",
        device="cpu",
        steps=2,
        warmup=1,
        preset=["task-queue,hccl-buffer", "memory-fraction"],
        env=["PYTORCH_NPU_ALLOC_CONF=expandable_segments:True"],
        out=tmp_path / "out",
    )
    refused = [finding for finding in report.findings if finding.key == "PRF379.refused"]
    assert len(refused) == 6 and not specs, "nothing is left to run"
    reasons = {finding.args["why"]["say"] for finding in refused}  # type: ignore[index,call-overload]
    assert reasons == {"benchmark.trial.no_npu", "benchmark.trial.no_accelerator"}


@pytest.mark.parametrize(
    ("device", "nproc", "reasons"),
    [
        (NPU, 1, {"hccl-buffer": "benchmark.trial.one_process"}),
        (NPU, 8, {}),
        (SIMULATED, 8, dict.fromkeys(("task-queue", "stream-memory", "hccl-buffer"), "benchmark.trial.simulated")),
        (CPU, 1, {"memory-fraction": "benchmark.trial.no_accelerator", "task-queue": "benchmark.trial.no_npu"}),
    ],
)
def test_where_presets_act(device: Device, nproc: int, reasons: dict[str, str]) -> None:
    asked = ("task-queue", "stream-memory", "hccl-buffer", "memory-fraction", "python-gc")
    trials = trials_of_presets([*asked], device, nproc)
    refused = {trial.configuration.settings["preset"]: trial.refused.key for trial in trials if trial.refused}
    assert refused.items() >= reasons.items()
    assert "python-gc" not in refused and set(refused) - set(reasons) <= {"stream-memory", "hccl-buffer"}


def test_a_library_that_is_preloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(presets, "PLACES", (str(tmp_path),))
    (missing,) = trials_of_presets(["jemalloc"], CPU, 1)
    assert missing.refused == Sentence("benchmark.trial.no_library", library="jemalloc")
    library = tmp_path / "x86_64-linux-gnu" / "libjemalloc.so.2"
    library.parent.mkdir()
    library.touch()
    (there,) = trials_of_presets(["jemalloc"], CPU, 1)
    assert (there.refused, there.configuration.environment) == (None, {"LD_PRELOAD": str(library)})
    with pytest.raises(WorkbookError, match="no preset"):
        trials_of_presets(["malloc"], CPU, 1)
    assert {str(trial.configuration.settings["preset"]) for trial in trials_of_presets(["all"], NPU, 8)} == set(
        presets.PRESETS
    )


def test_lines_of_every_kind() -> None:
    made = Configuration("x", {}, ("--b", "8"), environment={"A": "1", "B": None}, child={"gc_threshold": 5})
    assert lines_to_copy(made) == ["export A=1", "unset B", "import gc; gc.set_threshold(5, 50, 50)", "--b 8"]


def test_variables_are_read_from_words() -> None:
    (axis,) = parse_axes(env=["PYTORCH_NPU_ALLOC_CONF=expandable_segments:True|a:1,b:2|unset"])
    assert axis.values == ("expandable_segments:True", "a:1,b:2", "unset")
    words = from_words("TASK_QUEUE_ENABLE=1,2 preset=jemalloc batch-size=8 workers=0,2")
    assert words == {
        "sweep": ["batch-size=8"],
        "loader": ["workers=0,2"],
        "autocast": False,
        "env": ["TASK_QUEUE_ENABLE=1,2"],
        "preset": ["jemalloc"],
    }
    for wrong in ("=1", "A", "A=", "A=1,1", "1A=2"):
        with pytest.raises(WorkbookError, match="cannot be read as a variable"):
            parse_axes(env=[wrong])
