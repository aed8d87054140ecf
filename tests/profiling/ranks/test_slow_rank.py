"""A real run of two processes of which one sleeps in every step: the profile of both names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.profiling import analyse, profile

SCRIPT = """
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
dist.init_process_group("nccl")
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
model = DistributedDataParallel(torch.nn.Linear(64, 10).to(device))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(10):
    if dist.get_rank() == 1:
        time.sleep(0.05)
    optimizer.zero_grad()
    model(torch.randn(32, 64, device=device)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.full
@pytest.mark.parametrize("device", ["npu-simulated", "cpu"])
def test_the_rank_that_sleeps_is_named(tmp_path: Path, device: str, simulator_env: dict[str, str]) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    profile(script, device=device, steps=6, out=tmp_path / "out", nproc=2, timeout_s=200)
    report = analyse(tmp_path / "out")
    slow = next(one for one in report.findings if one.rule == "PRF353")
    assert slow.args["rank"] == 1 and slow.args["part"] == {"say": "ranks.part.free"}
    assert 20 < float(str(slow.args["gain_ms"])) < 200, "what else runs on the machine counts too"
    late = next(one for one in report.findings if one.rule == "PRF352" and one.status is not Status.NOT_LOOKED)
    assert (late.args["rank"], late.args["waited_rank"]) == (0, 1)
    assert "rank 1 is slow" in report.verdict("en")
    simulated = device == "npu-simulated"
    assert report.simulated is simulated and (slow.status is Status.NOTE) is simulated
