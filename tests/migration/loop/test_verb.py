"""The loop on the simulated NPU: a cause is named, mended and committed, and the result trains as the CPU does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.migration.loop import migrate

SCRIPT = """
import torch
from parts import capability
net = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
print(capability())
for step in range(3):
    loss = net(torch.ones(2, 4).cuda() * (step + 1)).pow(2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
PARTS = "import torch\n\n\ndef capability():\n    return torch.cuda.get_device_capability()[0] >= 8\n"


@pytest.fixture(autouse=True)
def known_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices a test names are taken as found: each question to a child costs a second import of torch."""
    for name in ("find", "find_baseline"):
        monkeypatch.setattr(devices, name, lambda wanted, python: Device(wanted, "named by the test", 1))


def make_project(folder: Path, script: str = SCRIPT) -> Path:
    folder.mkdir()
    (folder / "parts.py").write_text(PARTS, encoding="utf-8")
    (folder / "train.py").write_text(script, encoding="utf-8")
    return folder / "train.py"


def run(script: Path, **options: Any) -> Any:
    return migrate(script, device="npu-simulated", baseline="cpu", steps=3, timeout_s=200, **options)


def log(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "log", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_cause_is_mended_and_the_call_goes_on(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    script = make_project(tmp_path / "user")
    before = {path.name: path.read_bytes() for path in script.parent.iterdir()}
    out = tmp_path / "out"
    first = run(script, out=out, rounds=1)  # the baseline that runs is no round
    assert first.facts["verdict"] == "rounds" and first.status is Status.FIX
    (entry,) = first.facts["rounds"]
    assert (entry["side"], entry["outcome"], entry["cure"]) == ("target", "failed", "capability")
    assert (entry["place"]["path"], entry["place"]["line"]) == ("parts.py", 5)
    assert "get_device_capability()[0]" in entry["code"] and "+    return (torch.cuda" in entry["diff"]
    second = run(script, out=out)
    assert second.facts["verdict"] == "agrees" and second.status <= Status.NOTE, second.text("en")
    assert [entry["outcome"] for entry in second.facts["rounds"]] == ["failed", "agrees"]
    losses = second.facts["rounds"][-1]["losses"]
    assert losses["baseline"] == losses["target"] and len(losses["target"]) == 3
    assert {path.name: path.read_bytes() for path in script.parent.iterdir()} == before
    subjects = log(out, "--reverse", "--format=%s").splitlines()
    assert len(subjects) == 3 and "capability" in subjects[2]
    assert "parts.py:5" in log(out, "-1", "--format=%b") and "https://" in log(out, "-1", "--format=%b")
    assert json.loads(second.to_json())["facts"]["rounds"][0]["place"]["line"] == 5
    third = run(script, out=out)  # nothing has changed: said again, not run again
    assert third.created == second.created
    script.write_text(SCRIPT + "print('later')\n", encoding="utf-8")
    with pytest.raises(WorkbookError) as refused:
        run(script, out=out)
    assert refused.value.key == "loop.source_changed"


def test_what_no_cure_knows_is_for_a_person(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    odd = SCRIPT.replace("print(capability())", "assert 'npu' not in str(net.weight.device), 'odd'")
    script = make_project(tmp_path / "user", odd)
    report = run(script, out=tmp_path / "out")
    assert report.facts["verdict"] == "failed" and report.status is Status.FIX
    assert report.headline is not None and report.headline.key == "MIG300.failed"
    assert "odd" in report.verdict("en") and "train.py:6" in report.verdict("zh")


def test_bad_calls_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    script = make_project(tmp_path / "user")
    for options, key in (
        ({"rounds": 0}, "loop.rounds"),
        ({"mode": "odd"}, "migration.mode"),
        ({"branch": "npu"}, "loop.no_repository"),
        ({"out": script.parent}, "loop.out_is_source"),
        ({"root": tmp_path / "elsewhere"}, "loop.root"),
        ({"skip": ["capability", "odd"]}, "loop.skip"),
    ):
        with pytest.raises(WorkbookError) as refused:
            run(script, **{"out": tmp_path / "out", **options})
        assert refused.value.key == key
    assert sorted(path.name for path in tmp_path.iterdir()) == ["user"]


def test_a_script_in_a_home_folder_does_not_take_all_of_it_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = make_project(tmp_path / "home")
    monkeypatch.setenv("HOME", str(script.parent))
    with pytest.raises(WorkbookError) as refused:
        run(script, out=tmp_path / "out")
    assert refused.value.key == "loop.too_wide" and "--root" in str(refused.value)
    assert not (tmp_path / "out").exists()
