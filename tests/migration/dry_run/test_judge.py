"""A draw at random excuses only what follows it: earlier steps and a loss that breaks on one side alone do not pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.machine.launch.result import RunLog, Step
from ascend_workbook.migration.dry_run.judge import judge_losses, judge_ranks, pair_losses
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.migration.dry_run.sides import Plan

NAN = float("nan")


def _result(
    *losses: Sequence[float], first: Sequence[int | None] = (None,), printed: Sequence[float] = ()
) -> LaunchResult:
    """One log per rank; `first`: the step in which each rank first drew."""
    logs = []
    for rank, kept in enumerate(losses):
        drew = first[rank] if rank < len(first) else None
        meta = {"random": {"first_step": drew, "modules": [], "count": 0}}
        steps = tuple(Step(number, loss, None, None, 0.0) for number, loss in enumerate(kept, 1))
        logs.append(RunLog(Path("log"), "finished", meta, steps))
    return LaunchResult("finished", 0, Path(), tuple(logs), 0.0, log_losses=tuple(printed))


def _keys(tmp_path: Path, before: Sequence[float], after: LaunchResult) -> list[tuple[str, Status]]:
    (tmp_path / "train.py").write_text("import torch\n", encoding="utf-8")
    plan = Plan(prepare_training(tmp_path / "train.py", (), 1), tmp_path, 5, 0, "python", None)
    found = judge_losses(plan, pair_losses(before, after.losses), "float32", Device("cpu", "", 1), after)
    assert found == sorted(found, key=lambda one: (one.status, one.weight), reverse=True)
    return [(one.key, one.status) for one in found]


@pytest.mark.parametrize(
    ("losses", "first", "expected"),
    [
        ([2, 2, 2, 2, 1], 4, [("MIG140.beyond", Status.FIX), ("MIG149.parted", Status.LOOK)]),
        ([1.001, 1, 1, 1, 1], 4, [("MIG140.beyond", Status.LOOK), ("MIG149.parted", Status.LOOK)]),
        ([1, NAN, NAN, NAN, NAN], 5, [("MIG140.drift", Status.FIX), ("MIG149.parted", Status.LOOK)]),
        ([1, 1, NAN, 1, 1], 1, [("MIG140.beyond", Status.FIX), ("MIG149.parted", Status.LOOK)]),
        ([1, 1, 1, 2, 2], 4, [("MIG149.parted", Status.LOOK)]),
        ([2, 2, 2, 2, 2], 0, [("MIG149.parted", Status.LOOK)]),
        ([1, 1, 1, 1, 1.000001], 4, [("MIG149.within", Status.NOTE)]),
        ([1, 1, 1, 1, 1], 4, [("MIG140.within", Status.GOOD), ("MIG149.drawn", Status.GOOD)]),
        ([2, 2, 2, 2, 2], None, [("MIG140.beyond", Status.FIX)]),
    ],
)
def test_what_no_draw_accounts_for_is_the_verdict(
    tmp_path: Path, losses: list[float], first: int | None, expected: list[tuple[str, Status]]
) -> None:
    assert _keys(tmp_path, [1.0] * 5, _result(losses, first=[first])) == expected


def test_printed_losses_need_not_be_those_of_the_steps(tmp_path: Path) -> None:
    """The second of two printed in ten steps may be the tenth step's."""
    after = _result([1.0] * 10, first=[4], printed=[1.0, 2.0])
    assert _keys(tmp_path, [1.0, 1.0], after) == [("MIG149.parted", Status.LOOK)]


@pytest.mark.parametrize(
    ("second", "first", "rank", "status"),
    [
        ([1, 2, 1, 1], [4, 4], 1, Status.FIX),
        ([1, 1, 1, 2], [4, 4], 1, Status.LOOK),
        ([1, 1, 2, 2], [4, 3], 1, Status.LOOK),
        ([1, 1, 1, NAN], [2, 2], 1, Status.FIX),
        ([1, 1, 1, 1], [2, 2], 0, Status.GOOD),
    ],
)
def test_ranks_are_judged_alike(second: list[float], first: list[int], rank: int, status: Status) -> None:
    same = [1.0] * 4
    (found,) = judge_ranks(_result(same, same), _result(same, second, first=first), "float32")
    assert found.status is status and found.args["rank"] == rank
