"""Capturing through the real msprobe on the CPU: complete, bounded, and seen as broken where it was stopped."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.layouts import read_dump
from tests.conftest import ROOT

SCRIPT = Path(__file__).parent / "data" / "tiny_net.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two dumped steps of three, below a folder whose name msprobe would refuse."""
    folder = tmp_path_factory.mktemp("采集 a b")
    report = capture(SCRIPT, out=folder, device="cpu", steps=3, dump_steps=(0, 2))
    assert report.status is Status.GOOD and report.tier == "cpu"
    assert report.facts["standing_in"] == "cpu standing in for cuda" and len(report.facts["losses"]) == 3
    return folder


def test_a_capture_is_complete_and_ordered(made: Path) -> None:
    about = manifest.load_manifest(made)
    assert about is not None and about.complete and not about.changed_files()
    runs = read_dump(made / manifest.DUMP)
    assert [run.step for run in runs] == [0, 2]
    names = [operator.name for operator in runs[0].operators]
    assert names.count("Functional.conv2d.0.forward") == 1 and "Functional.conv2d.3.forward" not in names, "evaluation"
    assert "Functional.relu.0.forward" in names, "bound by `from ... import` before the capture would be lost"
    assert names.index("Functional.cross_entropy.0.forward") < names.index("Functional.conv2d.2.backward")
    assert names.index("Functional.conv2d.2.backward") < names.index("Functional.conv2d.0.backward")
    assert names[-1] == "Functional.conv2d.0.backward", "the update is left out"


def test_the_side_is_fingerprinted(made: Path) -> None:
    side = json.loads((made / "side.rank0.json").read_text())
    assert side["iterations"] == [0, 2] and set(side["batches"]) == {"0", "1", "2"}
    assert side["weights"]["conv1.weight"].startswith("float32[6, 1, 3, 3]:") and side["status"] == "stopped_after"
    assert side["numerics"] == {"conv": "", "matmul": ""}
    settings = side["settings"]
    assert settings["flags"]["deterministic_algorithms"] is True and "torch" in settings["packages"]
    assert {seed["call"] for seed in settings["seeds"]} >= {"torch.manual_seed"}


def test_fingerprints_need_no_msprobe(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "msprobe.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = capture(SCRIPT, out=tmp_path / "out", device="cpu", steps=3, dump_steps=(0, 2), task="fingerprints")
    assert report.headline is not None and report.headline.key == "ACC200.fingerprints"
    sides = [json.loads((folder / "side.rank0.json").read_text()) for folder in (made, tmp_path / "out")]
    assert sides[0]["weights"] == sides[1]["weights"] and sides[0]["batches"] == sides[1]["batches"]


def test_what_makes_the_experiment_is_recorded(made: Path) -> None:
    told = json.loads((made / "side.rank0.json").read_text())["experiment"]
    assert told["seeds"]["torch"] == 0 and len(told["seeds"]["numpy"]) == 12
    assert told["modules"]["norm"][0] == "BatchNorm2d" and "eps=1e-05" in told["modules"]["norm"][1]
    assert told["weights"]["norm.weight"][:2] == [pytest.approx(6**0.5), 1.0] and told["dtypes"] == {"float32": 641}
    assert len(told["batches"]["1"][0]["samples"]) == 8 and told["loss"] == "NllLossBackward"
    (optimizer,) = told["optimizers"]
    assert optimizer["class"] == "SGD" and optimizer["groups"][0]["lr"] == 0.1
    assert optimizer["groups"][0]["parameters"] == 641 and told["rates"] == {"0": [0.1], "1": [0.1], "2": [0.1]}


def test_a_second_capture_of_the_same_is_identical(made: Path, tmp_path: Path) -> None:
    capture(SCRIPT, out=tmp_path, device="cpu", steps=3, dump_steps=(0, 2))
    report = compare(made, tmp_path)
    assert "ACC230.identical" in {finding.key for finding in report.findings}
    assert report.headline is not None and report.headline.key == "ACC206.no_npu" and report.status is Status.LOOK


def test_another_seed_is_another_experiment(made: Path, tmp_path: Path) -> None:
    """The script's own seed decides, and both weights and data follow it."""
    capture(SCRIPT, ["--seed", "1"], out=tmp_path, device="cpu", steps=3, dump_steps=(0, 2), level="mix")
    report = compare(made, tmp_path)
    keys = {finding.key for finding in report.findings}
    assert {"ACC205.option", "ACC205.seed", "ACC205.weights", "ACC205.samples"} <= keys
    assert report.status is Status.FIX and report.facts["first_divergence"] is None
    (first, _) = read_dump(tmp_path / manifest.DUMP)
    assert "Module.conv1.Conv2d.forward.0" in first.containers
    assert any(operator.direction == "parameters_grad" for operator in first.operators)


def test_a_whole_capture_of_something_else_is_not_replaced_unasked(made: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.rglob("*")}
    with pytest.raises(WorkbookError) as caught:
        capture(SCRIPT, ["--seed", "1"], out=made, device="cpu")
    said = str(caught.value)
    assert caught.value.key == "precision.taken" and str(made) in said and "tiny_net.py --seed 1 (cpu)" in said
    assert before == {path: path.stat().st_mtime_ns for path in made.rglob("*")}


def test_the_earlier_capture_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    script, out = tmp_path / "train.py", tmp_path / "out"
    source = SCRIPT.read_text()
    script.write_text(source)
    early = capture(script, out=out, device="cpu", task="fingerprints", steps=9)
    (ended,) = (one for one in early.findings if one.key == "ACC200.ended_early")
    assert ended.args == {"asked": 9, "ran": 4} and early.status is Status.NOTE
    (out / "mine.txt").write_text("not of a capture")
    kept = (out / manifest.NAME).read_bytes()
    script.write_text("open('absent.csv')")
    with pytest.raises(WorkbookError) as caught:
        capture(script, out=out, device="cpu", task="fingerprints")
    assert caught.value.key == "precision.file_missing" and "rewrite" not in str(caught.value)
    assert (out / "capture.unfinished" / "output.log").is_file() and (out / manifest.NAME).read_bytes() == kept
    script.write_text(source)
    report = capture(script, ["--seed", "1"], out=out, device="cpu", task="statistics", force=True)
    whole = manifest.load_manifest(out)
    assert whole is not None and whole.complete and not whole.changed_files() and whole.about["args"] == ["--seed", "1"]
    assert report.facts["folder"] == str(out) and not (out / "capture.unfinished").exists()
    assert len(read_dump(out / manifest.DUMP)) == 1 and (out / "mine.txt").is_file()
    assert "ACC200.ended_early" not in {one.key for one in report.findings}


def test_it_stops_at_its_limit(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as caught:
        capture(SCRIPT, ["--width", "2000"], out=tmp_path, device="cpu", limit_mib=3)
    assert caught.value.key == "precision.over_limit" and "may write 3 MiB" in str(caught.value)
    with pytest.raises(WorkbookError, match="not complete"):
        compare(tmp_path, tmp_path)


def test_a_failing_script_is_told_and_leaves_no_whole_capture(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="the data ended"):
        capture(SCRIPT, ["--fail"], out=tmp_path, device="cpu", steps=3)
    about = manifest.load_manifest(tmp_path)
    assert about is not None and not about.complete


def test_a_killed_capture_is_seen_as_incomplete(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "ascend_workbook",
        "capture",
        "--device",
        "cpu",
        "--no-estimate",
        "--steps",
        "4",
        "--dump-steps",
        "0,1,2,3",
        "--out",
        str(tmp_path),
        str(SCRIPT),
    ]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("dump/step*")) and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    child = json.loads((tmp_path / "gpulog.json").read_text())["meta"]["pid"]
    for pid in (running.pid, child):
        os.kill(pid, signal.SIGKILL)
    running.wait(30)
    with pytest.raises(WorkbookError) as caught:
        compare(tmp_path, tmp_path)
    assert caught.value.key == "precision.incomplete"


def test_a_capture_that_could_not_write_is_seen_as_incomplete(tmp_path: Path) -> None:
    """As on a full disk, writing fails in the midst of a file: here no file may be larger than 20 kB."""
    command = [
        sys.executable,
        "-m",
        "ascend_workbook",
        "capture",
        "--device",
        "cpu",
        "--no-estimate",
        "--task",
        "statistics",
        "--out",
        str(tmp_path),
        str(SCRIPT),
    ]
    limit = 20_000
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2 and "the capture on cpu failed" in done.stderr and "dump.json" in done.stderr
    about = manifest.load_manifest(tmp_path)
    assert about is not None and not about.complete
    with pytest.raises(WorkbookError, match="not complete"):
        compare(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"level": "L7"}, "precision.option"),
        ({"task": "everything"}, "precision.option"),
        ({"steps": 2, "dump_steps": (2,)}, "precision.option"),
        ({"dump_steps": ()}, "precision.option"),
        ({"settings": {"LD_PRELOAD": "x.so"}}, "precision.option"),
        ({"settings": {"ASCEND_WORKBOOK_SIM_FAULT": "aten::mm:zero"}}, "precision.fault_needs_simulator"),
        ({"limit_mib": 10**9}, "precision.no_room"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(tmp_path: Path, options: dict[str, object], key: str) -> None:
    with pytest.raises(WorkbookError) as caught:
        capture(SCRIPT, out=tmp_path, device="cpu", **options)  # type: ignore[arg-type]
    assert caught.value.key == key and str(caught.value)
    assert not (tmp_path / "gpulog.json").exists()


def test_a_missing_script_is_said(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match=r"absent\.py"):
        capture(tmp_path / "absent.py", out=tmp_path, device="cpu")
