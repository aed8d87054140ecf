"""On the simulated NPU: alarms at their steps, writes told from silent corruption, torch_npu's own words read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.precision.watching import watch
from ascend_workbook.precision.watching.reading import read_watched

SCRIPT = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(1, 45):
    y = model(torch.randn(32, 8).cuda())
    if step == 42:
        y = torch.nn.functional.softplus(y)
    loss = (y - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    if step == 24:
        model[2].weight.grad.mul_(80)
    if step == 40:
        print("feature detection detects abnormal results!")
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step == 28:
        with torch.no_grad():
            model[0].weight[0, 0] += 1
    if step == 37:
        model[0].weight.data[0, 0] += 1
"""


def test_alarms_have_their_steps_and_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_SIM_FAULT", "softplus:nan")
    (tmp_path / "train.py").write_text(SCRIPT)
    report = watch(tmp_path / "train.py", out=tmp_path / "out", device="npu-simulated", cwd=tmp_path)
    assert report.simulated and report.facts["steps"] == 44
    watched = read_watched(tmp_path / "out" / "watch.jsonl")
    assert watched.head["device"] == "npu"
    told = [(alarm["key"], alarm.get("kind"), alarm["step"], alarm["names"]) for alarm in watched.alarms]
    assert told[:3] == [
        ("spike", "one", 24, ["2.weight"]),
        ("changed", "program", 29, ["0.weight"]),
        ("changed", "silent", 38, ["0.weight"]),
    ]
    assert [alarm[:3] for alarm in told[3:]] == [("nonfinite", "loss", 42)]
    keys = {finding.key for finding in report.findings}
    assert keys >= {"ACC247.feature", "ACC249.in_turn"} and "ACC247.silent" not in keys
