"""torch_npu.profiler works end to end and does not pretend to have device-side data. 15 s."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

PROFILE = """
import sys, torch, torch_npu, torch.nn as nn
profiler = torch_npu.profiler
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).npu()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
config = profiler._ExperimentalConfig(
    profiler_level=profiler.ProfilerLevel.Level1, aic_metrics=profiler.AiCMetrics.PipeUtilization
)
with profiler.profile(
    activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
    schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=profiler.tensorboard_trace_handler(sys.argv[1]),
    record_shapes=True, profile_memory=True, with_stack=True, experimental_config=config,
) as running:
    for _ in range(5):
        loss = net(torch.randn(32, 64).npu()).sum()
        loss.backward(); optimizer.step(); optimizer.zero_grad(); running.step()
"""


def test_profile(simulator_env: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROFILE, str(tmp_path)],
        env=simulator_env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    (output,) = tmp_path.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT")
    names = {event.get("name") for event in json.loads((output / "trace_view.json").read_text())}
    assert {"aten::addmm", "aten::relu", "ProfilerStep#2", "ProfilerStep#3"} <= names
    with (output / "operator_details.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert any(row["Name"] == "aten::addmm" and "32,64" in row["Input Shapes"] for row in rows)
    assert all(float(row["Device Self Duration(us)"]) == 0 for row in rows), "there is no device to take time on"
    assert (output / "operator_memory.csv").is_file()
    assert not (output / "kernel_details.csv").exists(), "no kernel ran on a device"
    assert "CANN Profiling data does not exist" in done.stdout + done.stderr
