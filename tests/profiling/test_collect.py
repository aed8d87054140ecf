"""Profiles really taken, in a child, on the CPU and on the simulated NPU; and what is said when none came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.profiling import analyse, join, profile

SCRIPT = """
import sys, torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
if "--fail" in sys.argv: raise RuntimeError("no such 数据")
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(torch.randn(int(sys.argv[1]) * 8, 16)), batch_size=8):
    loss = model(x.cuda()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


@pytest.mark.parametrize("tier", ["cpu", "npu-simulated"])
def test_steps_of_an_unmodified_cuda_script(
    script: Path, tmp_path: Path, tier: str, request: pytest.FixtureRequest
) -> None:
    if tier == "npu-simulated":
        request.getfixturevalue("simulator_env")
    report = profile(script, ["20"], device=tier, steps=4, warmup=2, wait=3, out=tmp_path / "out", timeout_s=120)
    assert report.table is not None
    counts = dict(
        zip((row[0]["say"].rpartition(".")[2] for row in report.table.rows), report.table.column_values("count"))
    )  # type: ignore[index, call-overload]
    assert (counts["steps"], counts["loading"]) == (4, 4)
    assert (counts["kernels"] > 0) == (tier == "npu-simulated")
    assert counts["host"] and counts["shapes"] and counts["memory"]
    assert report.tier == tier
    assert report.status <= Status.NOTE
    assert len(report.facts["losses"]) == 9
    seen = json.loads((tmp_path / "out" / "data" / "rank0.lines.json").read_text())
    assert len(seen["calm_steps"]) == (7 if tier == "npu-simulated" else 2), "and five behind those that are recorded"

    answer = analyse(report.facts["profile"])
    assert answer.tier == tier
    assert [part.verb for part in join(report, answer).parts][:2] == ["profile", "time_by_kind"]
    calls = next(part.facts["calls_per_step"] for part in answer.parts if part.verb == "top_operators")
    assert (calls["aten::addmm"], calls["aten::mm"]) == (2, 3)  # two layers forward; two weights and one input back
    keys = {found.key for part in answer.parts for found in part.findings}
    assert ("PRF306.same" in keys) == (tier == "npu-simulated"), "torch_npu's own parser found the same steps"


def test_faults_on_purpose_go_with_the_profile(
    script: Path, tmp_path: Path, simulator_env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_SIM_FAULT", "addmm@2:delay=1; relu:scale=2")
    out = tmp_path / "out"
    report = profile(script, ["3"], device="npu-simulated", steps=2, warmup=1, wait=0, out=out, timeout_s=120)
    answer = analyse(report.facts["profile"])
    assert report.on_purpose == answer.on_purpose == ["addmm@2:delay=1", "relu:scale=2"]
    assert "Fault on purpose in this run: relu:scale=2" in answer.text("en")


def test_a_failing_script_is_told_with_its_error_and_stale_data_is_gone(script: Path, tmp_path: Path) -> None:
    data = tmp_path / "out" / "data"
    data.mkdir(parents=True)
    (data / "collected.json").write_text("{}")
    (data / "rank0.pt.trace.json").write_text("stale")
    report = profile(script, ["20", "--fail"], device="cpu", steps=2, warmup=1, out=tmp_path / "out", timeout_s=120)
    assert report.status is Status.FIX
    assert "no such 数据" in report.verdict("en")
    assert "no such 数据" in report.verdict("zh")
    assert not (data / "rank0.pt.trace.json").exists()
    assert json.loads((data / "collected.json").read_text())["tier"] == "cpu"


def test_a_script_that_ends_too_early_is_not_good(script: Path, tmp_path: Path) -> None:
    report = profile(script, ["4"], device="cpu", steps=10, warmup=1, wait=0, out=tmp_path / "out", timeout_s=120)
    assert report.status is Status.FIX
    assert "4 of 11 steps" in report.text("en")


def test_bad_numbers_and_folders_are_refused_before_anything_runs(script: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="steps is 0"):
        profile(script, device="cpu", steps=0, out=tmp_path / "out")
    mine = tmp_path / "out" / "data" / "thesis.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(WorkbookError) as caught:
        profile(script, device="cpu", out=tmp_path / "out")
    assert caught.value.key == "profiling.not_ours"
    assert mine.read_text() == "mine"
