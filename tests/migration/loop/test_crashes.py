"""Each cause crashes on the simulated NPU with the real torch_npu, and its cure lets the training go on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.migration.loop import migrate

SCRIPT = """
import numpy as np
import torch
import torch.cuda.nvtx as nvtx
import torch.distributed as dist

torch.manual_seed(0)
big = torch.cuda.get_device_properties(0).major >= 8
release = int(torch.version.cuda.split(".")[0])
net = torch.nn.Linear(8, 4).cuda()
data = torch.from_numpy(np.random.RandomState(0).rand(16, 8)).cuda()
x = torch.matmul(data, data.t()).float()[:, :8]
y = torch.ones(16, 4).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, fused=True)
scaler = torch.cuda.amp.GradScaler()
for step in range(4):
    nvtx.range_push("step")
    optimizer.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    nvtx.range_pop()
"""
CURES = {"versions", "capability", "operators", "nvidia_tools", "fused"}


@pytest.mark.full
def test_causes_are_mended_one_by_one(
    tmp_path: Path, simulator_env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("find", "find_baseline"):
        monkeypatch.setattr(devices, name, lambda wanted, python: Device(wanted, "named by the test", 1))
    (tmp_path / "user").mkdir()
    script = tmp_path / "user" / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    report = migrate(script, out=tmp_path / "out", device="npu-simulated", baseline="cpu", steps=3, timeout_s=300)
    assert report.facts["verdict"] == "agrees", report.text("en")
    assert {entry["cure"] for entry in report.facts["rounds"]} - {""} == CURES
    assert script.read_text(encoding="utf-8") == SCRIPT
    words = ["git", "diff", "--numstat", "original", "HEAD"]
    changed = subprocess.run(words, cwd=tmp_path / "out", check=True, capture_output=True, text=True).stdout
    assert changed.split()[1:] == ["6", "train.py"]  # one line of the original per cause, and two of NVTX
