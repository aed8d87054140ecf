"""What a real NPU refuses is refused with torch_npu's kind of error, and what it takes is taken. About 10 s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.simulator.operators.refusals.accepted import ACCEPTED
from tests.simulator.operators.refusals.refused import REFUSED
from tests.simulator.operators.refusals.refused_lists import REFUSED_LISTS

CHILD = Path(__file__).with_name("child.py")
ALL_REFUSED = [*REFUSED, *REFUSED_LISTS]


@pytest.fixture(scope="module")
def outcomes(simulator_env: dict[str, str]) -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-X", "faulthandler", str(CHILD)]
    done = subprocess.run(command, env=simulator_env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.removeprefix("CALL ") for line in done.stdout.splitlines() if line.startswith("CALL ")]
    return {entry["call"]: entry for entry in map(json.loads, lines)}


def test_the_tables_are_long_enough_and_every_call_names_its_source() -> None:
    assert len({call for call, _, _ in ALL_REFUSED}) == len(ALL_REFUSED) >= 60
    assert len(set(ACCEPTED)) == len(ACCEPTED) >= 40
    assert all(source and parts for _, parts, source in ALL_REFUSED)


@pytest.mark.parametrize("call, parts", [e[:2] for e in ALL_REFUSED], ids=[e[0][:60] for e in ALL_REFUSED])
def test_refused(call: str, parts: tuple[str, ...], outcomes: dict[str, dict[str, Any]]) -> None:
    found = outcomes[call]
    assert found["error"], "accepted, though a real NPU refuses it"
    assert found["runtime"], f"torch_npu raises RuntimeError, this is {found['error']}: {found['said']}"
    assert all(part in found["said"] for part in parts), found["said"]


@pytest.mark.parametrize("call", ACCEPTED, ids=[call[:60] for call in ACCEPTED])
def test_accepted(call: str, outcomes: dict[str, dict[str, Any]]) -> None:
    assert not outcomes[call]["error"], outcomes[call]["said"]


def test_the_device_works_after_all_refusals(outcomes: dict[str, dict[str, Any]]) -> None:
    assert "the device after all refusals" in outcomes
