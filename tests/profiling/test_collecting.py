"""What the profilers would drop without a word is refused or told; a recording that was cut off is seen."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling import analyse, recording
from ascend_workbook.profiling.child import profiler_plugin as recorder
from ascend_workbook.profiling.collecting import account
from ascend_workbook.profiling.collecting.account import Recording, count_data, measure_overhead, report_recording
from ascend_workbook.profiling.collecting.options import Options, for_child, list_remarks
from ascend_workbook.profiling.facts import load_profile
from ascend_workbook.profiling.rules.recorded import check_whole
from ascend_workbook.profiling.savings import ADVISED
from tests.page.reading import read_page
from tests.profiling.conftest import DATA
from tests.profiling.ranks.test_reading import on_cpu

NPU, SIMULATED = Device("npu", "Ascend910B2", 1), Device("npu-simulated", "Ascend910B2", 1)
CPU = Device("cpu", "x86_64", 1)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"level": 0, "metrics": "memory"}, "profiling.metrics_level0"),
        ({"level": 3}, "profiling.option_value"),
        ({"level": True}, "profiling.option_value"),
        ({"metrics": "AicoreArithmeticUtilization"}, "profiling.option_value"),
        ({"export": "Db"}, "profiling.option_value"),
        ({"l2_cache": "true"}, "profiling.option_not_bool"),
        ({"op_attr": True}, "profiling.op_attr_text"),
        ({"gc_ms": "1"}, "profiling.option_value"),
        ({"gc_ms": -1.0}, "profiling.option_value"),
        ({"aicore_metrics": "pipe"}, "profiling.option_unknown"),
        ({"steps": 0}, "profiling.too_few"),
        ({"wait": -1}, "profiling.too_few"),
    ],
)
def test_what_would_be_dropped_is_refused(given: dict[str, Any], key: str) -> None:
    with pytest.raises(WorkbookError) as caught:
        Options.from_mapping(given)
    assert caught.value.key == key
    assert caught.value.message("zh") and caught.value.message("en")


def test_what_is_taken_reaches_the_profiler_by_its_own_names() -> None:
    asked: dict[str, Any] = {"level": 2, "metrics": "arithmetic", "export": "both", "op_attr": True, "gc_ms": 0}
    npu = for_child(Options.from_mapping(asked), "npu", "out")["npu"]
    assert (npu["profiler_level"], npu["aic_metrics"]) == ("Level2", "ArithmeticUtilization")
    assert npu["export_type"] == ["Text", "Db"] and npu["op_attr"] and npu["gc_detect_threshold"] == 0
    assert for_child(Options.from_mapping({"level": 0}), "npu", "out")["npu"]["aic_metrics"] == "AiCoreNone"
    assert for_child(Options.from_mapping({"modules": True}), "cpu", "out")["what"]["with_stack"]
    assert not for_child(Options.from_mapping({"modules": True}), "npu", "out")["what"]["with_stack"]


def test_what_asks_for_nothing_is_not_given_to_the_profiler() -> None:
    def given(**options: Any) -> dict[str, Any]:
        return recorder.drop_unset(for_child(Options.from_mapping(options), "npu", "out")["npu"])

    always = {"profiler_level", "aic_metrics", "export_type"}
    assert given().keys() == always
    assert given(gc_ms=0)["gc_detect_threshold"] == 0, "all collections, which is not none"
    assert given(simplify=False, mstx=True).keys() == {*always, "data_simplification", "mstx"}


def test_what_a_device_makes_of_an_option_is_told() -> None:
    def told(found: Device, **given: Any) -> list[str]:
        return [key for key, _ in list_remarks(Options.from_mapping(given), found)]

    assert told(CPU, level=2, modules=True) == ["PRF300.ignored", "PRF300.modules"]
    assert told(NPU, level=2, modules=True, metrics="l2", export="db", op_attr=True) == []
    assert told(NPU, flops=True) == ["PRF300.no_flops"]
    assert told(SIMULATED, metrics="l2", mstx=True) == ["PRF300.not_simulated"]
    assert told(SIMULATED, level=1) == []
    with pytest.raises(WorkbookError, match="no exporter of databases"):
        list_remarks(Options.from_mapping({"export": "both"}), SIMULATED)


def test_ranks_that_are_not_there_are_refused() -> None:
    Options.from_mapping({"ranks": (0, 1)}).check_ranks(2)
    for ranks in ((2,), ()):
        with pytest.raises(WorkbookError, match="cannot be recorded"):
            Options.from_mapping({"ranks": ranks}).check_ranks(2)


def test_only_what_is_ours_is_cleared(tmp_path: Path) -> None:
    for name in ("rank0.pt.trace.json", "rank1.pt.trace.json", "notes.txt", "collected.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "rank0_1_2_ascend_pt").mkdir()
    account.clear_recording(tmp_path, 0)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["collected.json", "notes.txt", "rank1.pt.trace.json"]
    account.clear_recording(tmp_path)
    assert (tmp_path / "notes.txt").exists() and not (tmp_path / "rank1.pt.trace.json").exists()


def test_a_trace_without_a_record_is_not_ours_and_a_half_written_record_is(tmp_path: Path) -> None:
    (tmp_path / "collected.json.part").write_text("{")
    account.check_folder(tmp_path)
    (tmp_path / "rank0.pt.trace.json").write_text("{}")
    with pytest.raises(WorkbookError, match="not written by profile"):
        account.check_folder(tmp_path)


def ended(tmp_path: Path, record: dict[str, Any]) -> list[Finding]:
    shutil.copy(DATA / "cuda.pt.trace.json", tmp_path / "rank0.pt.trace.json")
    (tmp_path / "collected.json").write_text(json.dumps(record))
    return list(check_whole(load_profile(tmp_path)))


@pytest.mark.parametrize(("status", "expected"), [("running", "Look"), ("failed", "Look"), ("complete", "Good")])
def test_a_killed_recording_is_seen(tmp_path: Path, status: str, expected: str) -> None:
    (found,) = ended(tmp_path, {"tier": "cuda", "status": status})
    assert found.status.json == expected


@pytest.mark.parametrize("damaged", [b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_record_is_one_finding_and_the_trace_is_read(tmp_path: Path, damaged: bytes) -> None:
    shutil.copy(DATA / "cuda.pt.trace.json", tmp_path / "rank0.pt.trace.json")
    (tmp_path / "collected.json").write_bytes(damaged)
    report = analyse(tmp_path)
    (told,) = [one for one in report.findings if one.rule == "PRF307"]
    assert (told.key, told.status.json) == ("PRF307.unread", "Look")
    assert str(tmp_path / "collected.json") in told.message("en") and "采集的记录" in told.message("zh")
    (tmp_path / "collected.json").unlink()
    alone = analyse(tmp_path)
    assert report.verdict("en") == alone.verdict("en") and report.tier == alone.tier == "cuda"
    assert report.to_json() and report.text("zh")


def test_one_that_was_killed_before_it_wrote_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "collected.json").write_text('{"status": "running"}')
    for path in (tmp_path, tmp_path / "data"):
        with pytest.raises(WorkbookError, match="was killed before"):
            load_profile(path)
    shutil.copy(DATA / "cuda.pt.trace.json", tmp_path / "data" / "rank0.pt.trace.json")
    assert load_profile(tmp_path).record == {"status": "running"}, "the folder given to profile is the profile's"


def test_who_did_not_record_it_is_not_asked_how_it_ended(tmp_path: Path) -> None:
    assert ended(tmp_path, {"tier": "cuda"}) == []


def run_of(times_s: list[float], **given: Any) -> Recording:
    return Recording(Options.from_mapping(given), CPU, Path(), [0], times_s)


def test_overhead_is_told_of_steps_that_tell_it() -> None:
    given = {"wait": 3, "warmup": 1, "steps": 2}
    assert measure_overhead(run_of([9, 0.10, 0.10, 5, 0.12, 0.12], **given)) == {
        "without_ms": 100.0,
        "with_ms": 120.0,
        "percent": 20.0,
    }
    assert measure_overhead(run_of([9, 0.30, 0.30, 5, 0.12, 0.12], **given)) is None, "not warm before"
    assert measure_overhead(run_of([9, 0.10, 0.20, 5, 0.12, 0.12], **given)) is None, "the steps before differ"
    assert measure_overhead(run_of([9, 0.10, 5, 0.12, 0.12], wait=2, warmup=1, steps=2)) is None, "one step before"


def gloo(tmp_path: Path, times_s: list[float]) -> Recording:
    (tmp_path / "rank0.pt.trace.json").write_text(json.dumps(on_cpu(0, 0)))
    return Recording(Options.from_mapping({"steps": 2, "wait": 3, "warmup": 1}), CPU, tmp_path, [0], times_s, nproc=2)


def test_collectives_on_a_cpu_are_counted_as_analyse_finds_them(tmp_path: Path) -> None:
    run = gloo(tmp_path, [0.1] * 6)
    counts = {name: count for name, count, _ in count_data(load_profile(run.data_path(0)), run)}
    assert counts["collectives"] == 4, "gloo's, on its own thread"


def test_it_ends_with_where_the_profile_is_and_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = report_recording(gloo(tmp_path, [0.1] * 6))
    assert told.text("en").splitlines()[-1].strip() == f"Next: `ascend-workbook analyse {tmp_path}`"
    monkeypatch.chdir(tmp_path.parent)
    told = report_recording(gloo(tmp_path, [0.1] * 6))
    assert told.text("zh").splitlines()[-1].strip() == f"下一步：`ascend-workbook analyse {tmp_path.name}`"
    (shown,) = read_page(told.html("en"))["tabs"].values()
    assert shown["findings"][-1]["hint"][0].endswith(f"`ascend-workbook analyse {tmp_path.name}`")


def test_a_recording_that_seems_faster_is_noise(tmp_path: Path) -> None:
    told = report_recording(gloo(tmp_path, [0.12] * 4 + [0.1] * 2))
    assert told.facts["overhead"]["percent"] == -16.7
    assert "within noise" in told.text("en") and "-16.7" not in told.text("en")


def info(tmp_path: Path, **changed: Any) -> None:
    asked = {
        "_profiler_level": "Level1",
        "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION",
        "_l2_cache": False,
        "_op_attr": False,
        "_mstx": False,
        "_export_type": ["text"],
        "_data_simplification": True,
        "_gc_detect_threshold": None,
        **changed,
    }
    (tmp_path / "profiler_info_0.json").write_text(json.dumps({"config": {"experimental_config": asked}}))


def test_settings_that_the_profiler_changed_are_found(tmp_path: Path) -> None:
    info(tmp_path)
    assert account.find_changed_settings(tmp_path, Options(), NPU) == []
    info(tmp_path, _profiler_level="Level0", _aic_metrics="ACL_AICORE_NONE")
    (found,) = account.find_changed_settings(tmp_path, Options(), NPU)
    assert found.status is Status.FIX
    assert "profiler_level=Level0 (Level1), aic_metrics=ACL_AICORE_NONE" in found.message("en")


def test_metrics_that_did_not_come_are_absent(tmp_path: Path) -> None:
    output = tmp_path / "ASCEND_PROFILER_OUTPUT"
    output.mkdir()
    (output / "kernel_details.csv").write_text("Name,Type,aic_mac_ratio,aiv_vec_time(us)\n")
    assert account.count_npu_data(tmp_path, Options(), NPU) == [("metrics", 2, Status.GOOD)]
    (output / "kernel_details.csv").write_text("Name,Type\n")
    assert account.count_npu_data(tmp_path, Options(), NPU) == [("metrics", 0, Status.FIX)]
    assert account.count_npu_data(tmp_path, Options(), SIMULATED) == [("metrics", 0, Status.NOTE)]
    assert account.count_npu_data(tmp_path, Options(level=0), NPU) == []
    assert account.count_npu_data(tmp_path, Options(export="db"), NPU) == [("database", 0, Status.FIX)]


def test_the_parsers_own_log_is_asked_for_the_error(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    line = "[2026-01-01] [ERROR] [12] profiler.py: CANN does not support export db"
    (tmp_path / "logs" / "a.log").write_text(f"[INFO] fine\n{line}\n[INFO] end\n", encoding="utf-8")
    assert account.logged_error(tmp_path) == "profiler.py: CANN does not support export db"


@pytest.fixture
def step() -> Any:
    import torch

    model = torch.nn.Linear(8, 8)
    return lambda: model(torch.randn(4, 8)).sum().backward()


def test_a_loop_of_ones_own_is_recorded(tmp_path: Path, step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HCCL_BUFFSIZE", "512")
    with recording(tmp_path, device="cpu", steps=2, warmup=1, wait=1, flops=True) as recorder:
        with pytest.raises(WorkbookError, match="has no report"):
            _ = recorder.report
        while not recorder.done:
            step()
            recorder.step()
    assert recorder.report.table is not None
    counts = dict(
        zip((row[0]["say"] for row in recorder.report.table.rows), recorder.report.table.column_values("count"))
    )  # type: ignore[index, call-overload]
    assert counts["profiling.data.steps"] == 2 and counts["profiling.data.flops"]
    assert recorder.report.facts["flops_per_step"] == 2 * (2 * 4 * 8 * 8), "forward, and the weight's gradient"
    assert recorder.report.status <= Status.NOTE
    assert analyse(recorder.report.facts["profile"]).tier == "cpu"
    record = json.loads((tmp_path / "data" / "collected.json").read_text())
    assert record["status"] == "complete" and record["environment"]["HCCL_BUFFSIZE"] == "512"
    assert set(record["environment"]) == set(ADVISED), "nothing else of the environment is kept"


def test_a_loop_that_fails_raises_its_own_error_and_leaves_a_failed_record(tmp_path: Path, step: Any) -> None:
    with pytest.raises(ZeroDivisionError), recording(tmp_path, device="cpu", steps=5) as recorder:
        step()
        recorder.step()
        _ = 1 / 0
    assert recorder.report.status is Status.FIX
    assert "ZeroDivisionError" in recorder.report.verdict("en")
    assert json.loads((tmp_path / "data" / "collected.json").read_text())["status"] == "failed"


def test_room_is_estimated_before_and_refused_past_the_limit(tmp_path: Path) -> None:
    import torch

    model = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(50)))
    with pytest.raises(WorkbookError, match="would need"):
        recording(tmp_path, device="cpu", limit_mib=1, model=model).__enter__()
    assert not list((tmp_path / "data").glob("*.pt.trace.json"))


def test_another_device_than_the_processes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="this process works on cpu"):
        recording(tmp_path, device="npu")
