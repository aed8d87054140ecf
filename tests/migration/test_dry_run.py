"""dry_run on the simulated NPU: equal losses where the migration is right, a red verdict with a place where not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.device import Device
from ascend_workbook.migration import dry_run as module
from ascend_workbook.migration.dry_run import dry_run

SCRIPT = """
import torch
from parts import move
torch.manual_seed(0)
net = move(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x = torch.ones(2, 4).cuda() * (step + 1)
    {body}
    optimizer.zero_grad(); loss.backward(); optimizer.step()
open("written.txt", "w").write("x")
"""
PARTS = "def move(net):\n    return net.cuda('cuda:0')  # 移到显卡\n"
PLAIN = "loss = net(x).pow(2).mean()"


@pytest.fixture(autouse=True)
def known_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices a test names are taken as found: each question to a child costs a second import of torch."""
    monkeypatch.setattr(module.devices, "find", lambda wanted, python: Device(wanted, "named by the test", 1))
    monkeypatch.setattr(module.devices, "find_baseline", lambda wanted, python: Device(wanted, "named by the test", 1))


def _script(tmp_path: Path, body: str = PLAIN) -> Path:
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "parts.py").write_text(PARTS, encoding="utf-8")
    script = tmp_path / "user" / "train.py"
    script.write_text(SCRIPT.format(body=body), encoding="utf-8")
    return script


def _keys(report: Report) -> dict[str, Any]:
    return {finding.key: finding for finding in report.findings}


def test_losses_agree_and_the_users_folder_is_untouched(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    script = _script(tmp_path)
    told: list[str] = []
    report = dry_run(
        script,
        device="npu-simulated",
        baseline="cpu",
        steps=4,
        out=tmp_path / "out",
        on_progress=lambda side, progress: told.append(side),
    )
    assert report.status is Status.GOOD and report.simulated, report.text("en")
    assert report.table is not None and report.table.column_values("step") == [1, 2, 3, 4]
    assert report.table.column_values("relative_error") == [0.0] * 4
    assert report.table.column_values("baseline_loss") == report.table.column_values("target_loss")
    assert set(told) == {"baseline", "target"}
    assert sorted(file.name for file in script.parent.iterdir()) == ["parts.py", "train.py"]
    assert "standing in" in report.verdict("en") and "1e-05" in report.verdict("en")


def test_a_wrong_value_on_the_npu_is_not_green(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    wrong = "loss = net(x).pow(2).mean() * (1.0005 if 'npu' in str(x.device) else 1.0)"
    report = dry_run(_script(tmp_path, wrong), device="npu-simulated", baseline="cpu", steps=1)
    found = _keys(report)["MIG140.beyond"]
    assert found.status is Status.LOOK and found.args["step"] == 1 and found.args["worst"] == "0.0005"


def test_a_failing_target_names_the_line_and_explains(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    body = "loss = net(torch.asarray(x.cpu().tolist(), device=''.join(['cu', 'da']))).mean()"
    report = dry_run(_script(tmp_path, body), device="npu-simulated", baseline="cpu", steps=2, out=tmp_path / "out")
    failed = _keys(report)["MIG140.failed"]
    assert report.status is Status.FIX and failed.place is not None and failed.place.path == "train.py"
    assert "MIG140.reason" in _keys(report)
    assert report.table is not None and None in report.table.column_values("target_loss")


def test_without_an_npu_the_target_is_said_not_to_have_run(tmp_path: Path) -> None:
    report = dry_run(_script(tmp_path), device="cpu", baseline="cpu", steps=1)
    assert report.status is Status.NOT_LOOKED and "MIG140.not_run" in _keys(report)
    assert report.table is not None and report.table.column_values("target_loss") == [None]


def test_low_precision_is_noted_and_loosens_the_tolerance(tmp_path: Path) -> None:
    body = "with torch.autocast('cuda', dtype=torch.bfloat16):\n        loss = net(x).pow(2).mean()"
    report = dry_run(_script(tmp_path, body), device="cpu", baseline="cpu", steps=1)
    assert report.facts["dtype"] == "bfloat16" and report.facts["tolerance"] == module.judge.TOLERANCE["bfloat16"]


def test_a_missing_script_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match=r"gone\.py"):
        dry_run(tmp_path / "gone.py")


def test_a_training_that_stays_on_the_cpu_is_not_green(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    script = tmp_path / "plain.py"
    script.write_text(
        "import torch\nnet = torch.nn.Linear(2, 1)\nbest = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "net(torch.ones(1, 2)).sum().backward()\nbest.step()\n"
    )
    report = dry_run(script, device="npu-simulated", baseline="cpu", steps=1)
    assert report.headline is not None and report.headline.key == "MIG140.off_npu"
    assert report.status is Status.LOOK and "trained on cpu" in report.verdict("en")


def test_the_log_that_a_failure_names_is_there(tmp_path: Path) -> None:
    report = dry_run(_script(tmp_path, "raise ValueError('broken')"), device="cpu", baseline="cpu", steps=1)
    log = Path(str(_keys(report)["MIG140.failed"].args["log"]))
    try:
        assert "broken" in log.read_text(encoding="utf-8")
    finally:
        shutil.rmtree(log.parents[1], ignore_errors=True)


def test_nothing_is_left_behind_where_all_went_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    dry_run(_script(tmp_path), device="cpu", baseline="cpu", steps=1)
    assert not list((tmp_path / "tmp").glob("dry-run-*"))


def test_faults_numerics_and_fallbacks_of_the_target_are_told(
    tmp_path: Path, simulator_env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_SIM_FAULT", "addmm@3:scale=1.5")
    monkeypatch.setenv("ASCEND_WORKBOOK_SIM_NUMERICS", "ascend")
    others = "torch.linalg.det(torch.eye(2).cuda()) + 0 * torch.ones(1).cuda().logit_(0.1)"
    script = _script(tmp_path, f"loss = (net(x).pow(2).mean() + {others}).sum()")
    report = dry_run(script, device="npu-simulated", baseline="cpu", steps=4, out=tmp_path / "out")
    fallen = "aten::_linalg_det.result"
    unknown = report.facts["simulator"].pop("dtypes_unknown")
    assert unknown == ["aten::logit_"]
    assert report.facts["simulator"] == {
        "numerics": "ascend",
        "faults": ["addmm@3:scale=1.5"],
        "fallbacks": {fallen: 4},
    }
    assert report.status is Status.FIX and "Fault on purpose in this run: addmm@3:scale=1.5" in report.text("en")
    assert _keys(report)["MIG141.fallback"].args == {"count": 1, "operators": [f"{fallen} (4x)"]}


def test_a_killed_target_still_tells_its_faults(
    tmp_path: Path, simulator_env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_SIM_FAULT", "addmm:zero; mm@2:nan")
    kill = "import os, signal\n    loss = net(x).sum()\n    x.device.type == 'npu' and os.kill(os.getpid(), 9)"
    report = dry_run(_script(tmp_path, kill), device="npu-simulated", baseline="cpu", steps=4, out=tmp_path / "out")
    assert "SIGKILL" in report.verdict("en") and report.on_purpose == ["addmm:zero", "mm@2:nan"], report.text("en")
