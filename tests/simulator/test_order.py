"""Values are right whatever TASK_QUEUE_ENABLE says, in scripts and in interactive Python. 30 s.

The same loops gave 85 wrong of 400 with a simulator that ran kernels past torch_npu's task queue.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHILDREN = Path(__file__).with_name("children")


def with_queue(env: dict[str, str], setting: str | None) -> dict[str, str]:
    plain = {name: value for name, value in env.items() if name != "TASK_QUEUE_ENABLE"}
    return plain if setting is None else {**plain, "TASK_QUEUE_ENABLE": setting}


@pytest.mark.parametrize("setting", [None, "0", "1", "2"])
def test_400_loops(simulator_env: dict[str, str], setting: str | None) -> None:
    """Pinned and pageable copies, three streams joined by events, two devices, views and in-place writes."""
    done = subprocess.run(
        [sys.executable, str(CHILDREN / "order.py")],
        env=with_queue(simulator_env, setting),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert f"TASK_QUEUE_ENABLE {setting} wrong []" in done.stdout, done.stdout + done.stderr[-2000:]


def test_400_loops_typed_in(simulator_env: dict[str, str]) -> None:
    """torch_npu sets TASK_QUEUE_ENABLE to 0 where Python is interactive; 1 is what the user has asked for."""
    done = subprocess.run(
        [sys.executable, "-i"],
        input=(CHILDREN / "interactive.txt").read_text(),
        env=with_queue(simulator_env, "1"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "interactive wrong 0" in done.stdout, done.stdout + done.stderr[-2000:]
