"""FSDP of both generations over the simulator's hccl gives gloo's losses, two processes. 60 s."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "children" / "sharded.py"


@pytest.mark.parametrize("generation", ["1", "2"])
def test_a_sharded_model_has_the_losses_of_gloo(simulator_env: dict[str, str], generation: str) -> None:
    losses = {}
    for backend in ("gloo", "hccl"):
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(SCRIPT)]
        done = subprocess.run(
            [*command, backend, generation], env=simulator_env, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        losses[backend] = sorted(line for line in done.stdout.splitlines() if line.startswith("loss"))
    assert len(losses["gloo"]) == 10
    assert losses["hccl"] == losses["gloo"]
