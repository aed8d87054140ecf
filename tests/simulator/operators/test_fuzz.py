"""Random calls of every simulated operator: no crash, and no answer that the CPU does not give. 1,000 calls take 30 s;
10,000 run in the longer suite."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("fuzz_child.py")
CALLS = 500


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 20))])
def test_random_calls_neither_crash_nor_answer_wrongly(seed: int, simulator_env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(CHILD), str(seed), str(CALLS)],
        env=simulator_env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=900,
        check=False,
    )
    lines = done.stdout.splitlines()
    last = next((line for line in reversed(lines) if line.startswith("CALL ")), "nothing was called")
    assert done.returncode == 0, f"exit {done.returncode} in {last}\n{done.stderr[:500]}"
    counts = json.loads(next(line for line in lines if line.startswith("DONE ")).removeprefix("DONE "))
    assert [line for line in lines if line.startswith("WRONG ")] == []
    assert counts["operators"] > 600 and counts["equal"] > 0.1 * CALLS, counts
