"""What a capture says before it starts, what it costs, what it selects, and that msprobe's hooks are out afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.cli.main import _set_language
from ascend_workbook.cli.options import derive_options
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.capturing.options import check_room
from ascend_workbook.precision.layouts import read_dump
from tests.conftest import ROOT

DATA = Path(__file__).parent / "data"
SCRIPT, SAVING, BUNDLED = DATA / "tiny_net.py", DATA / "saving_net.py", ROOT / "notebooks" / "scripts"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, list[str]]:
    said: list[str] = []
    folder = tmp_path_factory.mktemp("budget")
    report = capture(SCRIPT, out=folder, device="cpu", steps=2, level="mix", estimate=True, progress=said.append)
    return report, said


def test_what_it_will_write_is_told_before_it_starts_and_holds(told: tuple[Report, list[str]]) -> None:
    report, said = told
    would, wrote = report.facts["budget"]["bytes"], report.facts["bytes"]
    assert abs(would - wrote) < 0.2 * wrote and report.status is Status.GOOD
    assert "will write 0.001 GB" in said[1] and said.index("cpu: step 2/2") > 1
    assert not list(Path(report.facts["folder"]).glob("dry*")), "the copy leaves nothing behind"


def test_that_tests_estimate_nothing_unasked_changes_no_option() -> None:
    """Pages and command lines are derived from the signature, and kept: a test behind these would see another one."""
    flags = {option.keyword: option.flag for option in derive_options(capture, {})}
    assert flags["estimate"] == "--no-estimate" and capture.__kwdefaults__["estimate"] is False


def test_the_hooks_are_out_after_the_last_captured_step(told: tuple[Report, list[str]]) -> None:
    hooks = manifest.load_manifest(Path(told[0].facts["folder"])).sides["rank0"]["hooks"]  # type: ignore[union-attr]
    assert hooks["left"] == [] and hooks["replaced"] > 500 and hooks["hooks"] > 4
    assert "ACC200.hooks_out" in {finding.key for finding in told[0].findings}


def test_the_overhead_is_that_of_a_captured_step_over_a_plain_one(told: tuple[Report, list[str]]) -> None:
    cost = told[0].facts["overhead"]
    assert 0 < cost["plain_s"] < cost["captured_s"]
    (finding,) = (one for one in told[0].findings if one.key == "ACC200.overhead")
    assert f"{round(cost['plain_s'], 4):g} s" in finding.message("en")


def test_more_than_may_be_written_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as caught:
        capture(SCRIPT, ["--width", "300"], out=tmp_path, device="cpu", limit_mib=3, estimate=True)
    assert caught.value.key == "precision.over_budget" and not (tmp_path / manifest.DUMP).exists()


@pytest.mark.full
@pytest.mark.parametrize(
    ("script", "args"),
    [("resnet_digits.py", ["--epochs", "1"]), ("gpt_text.py", ["--text-bytes", "100000"]), ("chatglm_tiny.py", [])],
)
def test_the_budget_of_the_bundled_scripts_holds(script: str, args: list[str], tmp_path: Path) -> None:
    facts = capture(BUNDLED / script, args, out=tmp_path, device="cpu", estimate=True).facts
    assert abs(facts["budget"]["bytes"] - facts["bytes"]) < 0.2 * facts["bytes"]


@pytest.mark.full
def test_ranks_under_torchrun_are_estimated_and_selected(tmp_path: Path) -> None:
    report = capture(
        BUNDLED / "gpt_text.py",
        ["--text-bytes", "100000"],
        out=tmp_path,
        device="cpu",
        nproc=2,
        ranks=(1,),
        estimate=True,
    )
    assert [run.rank for run in read_dump(tmp_path / manifest.DUMP)] == [1]
    assert abs(report.facts["budget"]["bytes"] - report.facts["bytes"]) < 0.2 * report.facts["bytes"]


def test_a_part_of_the_operators_with_checksums(tmp_path: Path) -> None:
    mode = ("forward", "output")
    capture(SCRIPT, out=tmp_path, device="cpu", task="md5", names=("conv2d.0", "conv2d.1"), data_mode=mode)
    (run,) = read_dump(tmp_path / manifest.DUMP)
    assert [op.name for op in run.operators] == ["Functional.conv2d.0.forward", "Functional.conv2d.1.forward"]
    assert not any(op.inputs for op in run.operators)
    (path,) = tmp_path.glob("dump/step0/*/dump.json")
    (entry,) = json.loads(path.read_text())["data"]["Functional.conv2d.0.forward"]["output"]
    assert len(entry["md5"]) == 8 and "data_name" not in entry


def test_level_debug_records_what_the_script_saves(tmp_path: Path) -> None:
    """Its own start, stop and step do nothing: the capture counts the steps."""
    report = capture(SAVING, out=tmp_path, device="cpu", steps=3, dump_steps=(1,), level="debug")
    assert report.table is not None and [row[:4] for row in report.table.rows] == [(1, 0, 2, 2)]
    assert len(list(tmp_path.glob("dump/step1/*/dump_tensor_data/*.pt"))) == 2


@pytest.mark.full
@pytest.mark.parametrize(
    ("script", "options", "key"),
    [(SAVING, {"level": "debug"}, "debug_silent"), (SCRIPT, {"names": ("absent",)}, "selected_nothing")],
)
def test_a_capture_that_recorded_nothing_says_why(
    script: Path, options: dict[str, Any], key: str, tmp_path: Path
) -> None:
    with pytest.raises(WorkbookError) as caught:
        capture(script, ["--silent"] if script == SAVING else [], out=tmp_path, device="cpu", **options)
    assert caught.value.key == f"precision.{key}"


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"ranks": (1,)}, "precision.option"),
        ({"data_mode": ("sideways",)}, "precision.option"),
        ({"scope": ("Functional.conv2d.0.forward",)}, "precision.scope"),
        ({"scope": ("Module.a.Linear.forward.0", "Module.b.Linear.forward.0")}, "precision.scope"),
        ({"level": "debug", "names": ("conv",)}, "precision.debug_selects"),
    ],
)
def test_what_cannot_be_selected_is_said_first(tmp_path: Path, options: dict[str, Any], key: str) -> None:
    with pytest.raises(WorkbookError) as caught:
        capture(SCRIPT, out=tmp_path, device="cpu", **options)
    assert caught.value.key == key and str(caught.value) and not (tmp_path / "gpulog.json").exists()


def test_what_is_told_meanwhile_is_in_the_language_asked_for(tmp_path: Path) -> None:
    said: list[str] = []
    for lang in ("zh", "en"):
        with _set_language(lang):
            check_room(tmp_path, 1, "cpu", said.append)
    assert said[0].startswith("cpu：最多 1 MiB") and said[1].startswith("cpu: at most 1 MiB")
