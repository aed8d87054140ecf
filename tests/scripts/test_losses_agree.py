"""The example scripts, unmodified: transfer_to_npu on the simulated NPU against the CPU standing in for CUDA.

About 90 seconds on a quiet machine: eight children.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, launch

SCRIPTS = Path(__file__).resolve().parents[2] / "notebooks" / "scripts"
STEPS = 20


def devices(env: dict[str, str], count: int) -> dict[str, str]:
    return {**env, "ASCEND_WORKBOOK_SIM_DEVICES": str(max(2, count))}


def run(tmp_path: Path, tier: str, script: str, args: list[str], nproc: int, env: dict[str, str]) -> LaunchResult:
    out = tmp_path / tier
    out.mkdir()
    simulated = tier == "npu-simulated"
    spec = LaunchSpec(
        out=out,
        script=SCRIPTS / script,
        args=args,
        cwd=out,
        env=env,
        nproc=nproc,
        steps=STEPS,
        transform="transfer_to_npu" if simulated else "baseline_cpu",
        tier=tier,
        simulated=simulated,
        timeout_s=300,
    )
    return launch(spec)


@pytest.mark.parametrize(
    ("script", "args", "nproc"),
    [
        ("resnet_digits.py", [], 1),
        ("chatglm_tiny.py", ["--tune", "lora", "--precision", "bf16", "--num-layers", "2", "--batch-size", "4"], 1),
        pytest.param("chatglm_tiny.py", ["--tune", "prefix"], 1, marks=pytest.mark.full),
        pytest.param("chatglm_tiny.py", ["--tune", "full", "--precision", "fp16"], 1, marks=pytest.mark.full),
        ("gpt_text.py", ["--accumulate", "2", "--batch-size", "8"], 1),
        ("gpt_text.py", ["--layers", "2", "--batch-size", "8"], 2),
        pytest.param("gpt_text.py", ["--layers", "2", "--batch-size", "8"], 4, marks=pytest.mark.full),
    ],
)
def test_npu_losses_are_those_of_the_baseline(
    tmp_path: Path, simulator_env: dict[str, str], script: str, args: list[str], nproc: int
) -> None:
    npu = run(tmp_path, "npu-simulated", script, args, nproc, devices(simulator_env, nproc))
    cpu = run(tmp_path, "cpu", script, args, nproc, device.child_environment("cpu"))
    for result in (npu, cpu):
        assert result.ok, (result.trouble, result.error)
        assert result.outcome == "stopped_after"
        assert len(result.losses) == STEPS
        assert len(result.logs) == nproc
    assert cpu.standing_in == "cpu standing in for cuda"
    assert cpu.logs[0].meta["standing_in"] == "cpu standing in for cuda"
    assert npu.standing_in is None
    assert npu.logs[0].meta["parameter_devices"] == ["npu:0"]
    assert npu.logs[0].meta["simulated"] is True
    for rank in range(nproc):
        allowed = 1e-5 if nproc == 1 else 1e-6
        assert npu.logs[rank].losses == pytest.approx(cpu.logs[rank].losses, rel=allowed), f"rank {rank}"
    if nproc > 1:
        assert npu.logs[1].meta["parameter_devices"] == ["npu:1"]
        assert npu.logs[0].losses != npu.logs[1].losses, "the ranks read different parts of the text"
    assert len(set(npu.losses)) == STEPS, "a loss that stands still proves nothing"
