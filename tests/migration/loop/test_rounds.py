"""The rounds without a training: what the runs came to is given, and what the loop makes of it is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import ChildError, LaunchResult
from ascend_workbook.migration.loop import migrate
from ascend_workbook.migration.loop import rounds as module
from ascend_workbook.migration.loop.repository import Result
from ascend_workbook.migration.loop.rounds import judge_outcome

SCRIPT = "import torch\n\nbig = torch.cuda.get_device_capability()[0] >= 8\nagain = torch.version.cuda.split('.')\n"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("find", "find_baseline"):
        monkeypatch.setattr(devices, name, lambda wanted, python: Device(wanted, "named by the test", 1))
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "train.py").write_text(SCRIPT, encoding="utf-8")
    return tmp_path / "user" / "train.py"


def run(script: Path, **options: Any) -> Report:
    return migrate(script, out=script.parents[1] / "out", device="npu-simulated", baseline="cpu", **options)


def give(
    monkeypatch: pytest.MonkeyPatch, results: Iterator[tuple[str, int] | None], found: Status = Status.GOOD
) -> None:
    """Let each launch end as given: an error with its line of the script as it is then, or well."""

    def launch(loop: Any, plan: Any, side: str, where: Device) -> tuple[LaunchResult, float]:
        loop.runs += 1
        given = next(results)
        error, trouble = None, None
        if given is not None:
            message, line = given
            error = ChildError("TypeError", message, str(plan.out / side / "work" / "train.py"), line)
            trouble = Sentence("launch.no_steps")
        return LaunchResult("failed", 1, plan.out / side, (), 0.0, error, trouble), 0.1

    def report(*_: Any) -> Report:
        return Report("migration", "dry_run", (Finding("MIG140", found, "MIG140.no_loss", {"steps": 0}),))

    monkeypatch.setattr(module.Loop, "_launch", launch)
    monkeypatch.setattr(module, "report_runs", report)


NONE = "'NoneType' object is not subscriptable"


def test_the_same_cause_again_is_for_a_person(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script.write_text("import torch\n\nopt = torch.optim.SGD(p, 0.1, fused=True)\nopt.step()\n", encoding="utf-8")
    again = ("momentum must be positive, but got 0", 6)
    give(monkeypatch, iter([None, again, again, again]))
    report = run(script)
    assert report.facts["verdict"] == "came_back" and report.status is Status.FIX
    assert [entry["cure"] for entry in report.facts["rounds"]] == ["fused", ""]
    assert report.facts["rounds"][1]["code"] == "opt.step()"


def test_a_cure_that_is_refused_is_not_applied(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([None, (NONE, 5)]))
    report = run(script, skip=("capability",))
    assert report.facts["verdict"] == "failed" and not report.facts["rounds"][0]["commit"]


def test_what_nothing_proved_is_never_called_good(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for found, verdict in ((Status.NOT_LOOKED, "unproven"), (Status.LOOK, "differs"), (Status.FIX, "differs")):
        give(monkeypatch, iter([None, None]), found)
        report = run(script)
        assert report.facts["verdict"] == verdict and report.status is Status.FIX


def test_a_training_off_the_npu_proves_nothing() -> None:
    off = Finding("MIG140", Status.LOOK, "MIG140.off_npu", {"devices": ["cpu"]})
    apart = Finding("MIG140", Status.LOOK, "MIG140.no_loss", {"steps": 0})
    assert judge_outcome(Report("migration", "dry_run", (off,))) == "unproven"
    assert judge_outcome(Report("migration", "dry_run", (apart,))) == "differs"


def test_the_baseline_is_mended_before_the_rewrite(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([("'NoneType' object has no attribute 'split'", 4), None, None]))
    report = run(script)
    assert report.facts["verdict"] == "agrees"
    assert [(entry["side"], entry["cure"]) for entry in report.facts["rounds"]] == [
        ("baseline", "versions"),
        ("target", ""),
    ]
    out = Result(Path(report.facts["out"]))
    baseline = out.read_file("baseline", "train.py") or b""
    assert b'(torch.version.cuda or "0.0")' in baseline and b"torch_npu" not in baseline
    assert b"torch_npu" in (out.folder / "train.py").read_bytes()


def test_a_call_that_ends_while_it_writes_is_undone(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = Result.commit_changes

    def stop(result: Result, contents: Any, message: str) -> str:
        ordinary(result, contents, message)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        give(patched, iter([None, (NONE, 5)]))
        patched.setattr(Result, "commit_changes", stop)
        with pytest.raises(KeyboardInterrupt):
            run(script)
    out = script.parents[1] / "out"
    assert "or (8, 0)" in (out / "train.py").read_text(encoding="utf-8")
    give(monkeypatch, iter([None, (NONE, 5), None]))
    report = run(script)
    assert report.facts["verdict"] == "agrees"
    assert [entry["cure"] for entry in report.facts["rounds"]] == ["capability", ""]
    assert (out / "train.py").read_text(encoding="utf-8").count("or (8, 0)") == 1


def test_what_a_person_edited_is_a_commit_of_its_own(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([None, ("odd", 5)]))
    assert run(script).facts["verdict"] == "failed"
    out = script.parents[1] / "out"
    with (out / "train.py").open("a", encoding="utf-8") as stream:
        stream.write("print('by hand')\n")
    give(monkeypatch, iter([None, None]))
    report = run(script)
    assert report.facts["verdict"] == "agrees"
    assert [entry["outcome"] for entry in report.facts["rounds"]] == ["failed", "edited", "agrees"]
    assert "by hand" in report.facts["rounds"][1]["diff"]
    assert report.facts["by_hand"] == [] or all(place.startswith("train.py") for place in report.facts["by_hand"])
