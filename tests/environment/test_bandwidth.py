"""Copies and the collective: right, wrong, refused, hanging, crashing; a part cut short is never called good."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.environment import compute
from ascend_workbook.environment import compute as bandwidth
from ascend_workbook.environment.child import collective as rank_child
from ascend_workbook.environment.child import compute as probe
from ascend_workbook.findings.finding import Status
from tests.environment.test_compute import GOOD

COPY = {
    "device": "npu:0",
    "operation": "copy_on_device",
    "dtype": "int32",
    "mib": 64,
    "time_ms": 1.0,
    "gb_per_s": 134.0,
}
SUM = {
    "rank": 0,
    "world": 2,
    "device": "npu:0",
    "operation": "all_reduce",
    "dtype": "float32",
    "mib": 4,
    "backend": "hccl",
    "wrong": 0,
    "elements": 100,
    "time_ms": 1.0,
    "bus_gb_per_s": 4.0,
}


@pytest.mark.parametrize(
    ("row", "key", "status", "said"),
    [
        (COPY, "ENV103.ok", Status.GOOD, "134 GB/s (64 MiB)"),
        ({**COPY, "structure": "int32 [9], 3 elements changed"}, "ENV101.structure", Status.FIX, "3 elements changed"),
        ({**COPY, "untold": "12 MiB are free"}, "ENV103.untold", Status.NOT_LOOKED, "could not be told: 12 MiB"),
        ({**COPY, "error": "RuntimeError: NPU out of memory."}, "ENV103.untold", Status.NOT_LOOKED, "out of memory"),
        ({**COPY, "error": "RuntimeError: 507899"}, "ENV103.error", Status.FIX, "507899"),
        (
            {"part": "transfers", "untold": "late"},
            "ENV103.cut_transfers",
            Status.NOT_LOOKED,
            "could not be told in full",
        ),
        (
            {"part": "collective", "untold": "late"},
            "ENV103.cut_collective",
            Status.NOT_LOOKED,
            "could not be told: late",
        ),
        ({"part": "collective", "ranks": 1}, "ENV104.one", Status.NOTE, "needs two"),
        (
            {"part": "collective", "untold": "EI0006", "failed": True, "ranks": 8},
            "ENV104.failed",
            Status.FIX,
            "over 8 devices failed: EI0006",
        ),
    ],
)
def test_one_row(row: dict[str, Any], key: str, status: Status, said: str) -> None:
    made = compute.report_on([GOOD, row], None, "npu")
    found = made.findings[2]
    assert (found.key, found.status) == (key, status) and said in found.message("en")
    assert made.status is status
    if status is Status.NOT_LOOKED:
        assert made.headline and made.headline.key == "ENV100.partly" and said in made.verdict("en")
    for lang in ("en", "zh"):
        assert "{" not in made.text(lang) and made.html(lang)


def test_ranks_join_to_the_slowest_and_all_wrong_elements() -> None:
    slow = {**SUM, "rank": 1, "time_ms": 2.0, "bus_gb_per_s": 2.0, "wrong": 3, "place": 7, "got": "1.0", "exact": "2.0"}
    row = bandwidth.join_ranks([SUM, slow], 2)
    assert (row["time_ms"], row["bus_gb_per_s"], row["elements"], row["device"]) == (2.0, 2.0, 200, "2 x hccl")
    found = bandwidth.judge_transfer(row)
    assert found.status is Status.FIX
    assert "3 of 200 elements wrong; rank 1 at 7: got 1.0, exact 2.0" in found.message("en")
    assert bandwidth.join_ranks([SUM], 2) == {}


@pytest.mark.parametrize(
    ("code", "accelerator", "status", "said"),
    [
        ("import time; time.sleep(60)", "npu", Status.NOT_LOOKED, "no end within 8 s"),
        ("raise ValueError('no link')", "npu", Status.FIX, "no link"),
        ("raise ValueError('no link')", "cpu", Status.NOT_LOOKED, "no link"),
        ("raise RuntimeError('EI0006: x')", "npu", Status.FIX, "did not connect in time"),
    ],
)
def test_a_collective_that_does_not_end_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, accelerator: str, status: Status, said: str
) -> None:
    """One rank tells its row; the other never does, so there is no result."""
    launcher = tmp_path / "torchrun.py"
    launcher.write_text(f"print({str(SUM)!r}.replace(chr(39), chr(34)), flush=True)\n{code}")
    monkeypatch.setattr(bandwidth, "LAUNCHER", tmp_path)
    rows = bandwidth.measure_collectives("cpu", accelerator, 2, timeout_s=8 if "sleep" in code else 60)
    assert [row.get("operation") for row in rows] == [None]
    found = bandwidth.judge_transfer(rows[0])
    assert found.status is status and said in found.message("en")


def test_copies_cut_short_keep_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "probe.py"
    path.write_text(f"import json, os; print(json.dumps({COPY!r}), flush=True); os.kill(os.getpid(), 9)")
    rows = bandwidth.measure_transfers("cpu", "cpu", probe=path)
    assert rows[0] == COPY and bandwidth.judge_transfer(rows[1]).message("en").endswith("in full: signal 9")


def test_a_jobs_own_variables_do_not_reach_the_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in bandwidth.OF_A_JOB:
        monkeypatch.setenv(name, "7")
    assert not set(bandwidth.OF_A_JOB) & bandwidth._child_environment("cpu", 60).keys()


def test_a_wrong_sum_is_seen(simulator_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The gathered parts are joined by an operator that the simulated NPU gets wrong on purpose."""
    monkeypatch.setenv("ASCEND_WORKBOOK_SIM_FAULT", "cat:scale=1.5")
    rows = bandwidth.measure_collectives(
        "npu-simulated", "npu", 2, operations=("all_reduce", "broadcast", "all_gather")
    )
    assert [(row["operation"], row["wrong"] > 0, row["ranks"]) for row in rows] == [
        ("all_reduce", False, 2),
        ("broadcast", False, 2),
        ("all_gather", True, 2),
    ]
    assert bandwidth.judge_transfer(rows[2]).key == "ENV104.wrong"


def test_the_childs_own_measure() -> None:
    torch = pytest.importorskip("torch")
    exact = rank_child.make_pattern(torch, 600, 0) + rank_child.make_pattern(torch, 600, 1)
    assert rank_child.make_row(exact, exact, 2.0, 4e6)["bus_gb_per_s"] == 2.0
    shifted = exact.clone()
    shifted[[5, 9]] += 1
    row = rank_child.make_row(shifted, exact, 1.0, 1.0)
    assert (row["wrong"], row["place"], row["exact"]) == (2, 5, str(float(exact[5])))
    assert probe.time_copy_on_device(torch, "cpu", 1)["gb_per_s"] > 0
    assert os.environ.get("RANK") is None
