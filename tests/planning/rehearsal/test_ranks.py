"""Which ranks have to be run: those that differ, found by halving; without ranks that differ three are enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.machine.launch.result import ChildError
from ascend_workbook.planning.rehearsal.report import Material, make_report
from ascend_workbook.planning.rehearsal.runs import MOST_DISTINCT, TOLD, WANTED, RankRun, run_ranks
from ascend_workbook.planning.rehearsal.settings import DISTINCT, make_cluster
from tests.planning.rehearsal.made import make_memory, make_rehearsal, make_run


def ranks_of(out: Path, cards: int, gib: Callable[[int], float], failing: int = -1) -> list[int]:
    def run_rank(rank: int) -> RankRun:
        error = ChildError("ValueError", "no") if rank == failing else None
        return make_run(make_memory(gib(rank), rank=rank), rank=rank, error=error)

    rehearsal: Any = SimpleNamespace(
        cluster=make_cluster("910B3", cards, None, None), run_rank=run_rank, plan=SimpleNamespace(out=out)
    )
    return [run.rank for run in run_ranks(rehearsal, DISTINCT)]


def test_ranks_that_are_alike_need_three(tmp_path: Path) -> None:
    assert ranks_of(tmp_path, 64, lambda rank: 10.0) == [0, 31, 63]
    assert ranks_of(tmp_path, 2, lambda rank: 10.0) == [0, 1]


def test_the_border_between_two_stages_is_found(tmp_path: Path) -> None:
    """Of a pipeline of two stages over 16 ranks: the last of the first stage and the first of the second."""
    ranks = ranks_of(tmp_path, 16, lambda rank: 10.0 if rank < 8 else 20.0)
    assert {7, 8} <= set(ranks) and len(ranks) <= MOST_DISTINCT


def test_a_stage_in_the_middle_is_seen(tmp_path: Path) -> None:
    ranks = ranks_of(tmp_path, 16, lambda rank: 30.0 if 5 <= rank <= 10 else 10.0)
    assert any(5 <= rank <= 10 for rank in ranks)


def test_the_search_ends(tmp_path: Path) -> None:
    assert len(ranks_of(tmp_path, 64, lambda rank: float(rank + 1))) == MOST_DISTINCT


def test_a_rank_that_fails_ends_the_search(tmp_path: Path) -> None:
    assert ranks_of(tmp_path, 64, lambda rank: 10.0, failing=63) == [0, 63]


def test_a_stage_that_wanted_to_know_is_run_again_after_the_first(tmp_path: Path) -> None:
    """A rank alone in the middle of a pipeline: rank 0 is run for what it tells, and is not in the answer."""
    started: list[int] = []

    def run_rank(rank: int) -> RankRun:
        started.append(rank)
        mark = tmp_path / f"rank{rank}" / TOLD / WANTED
        if rank == 5 and 0 not in started:
            mark.parent.mkdir(parents=True)
            mark.touch()
            return make_run(None, rank=rank, error=ChildError("RuntimeError", "nothing told stage 2"))
        return make_run(make_memory(float(rank)), rank=rank)

    rehearsal: Any = SimpleNamespace(
        cluster=make_cluster("910B3", 8, None, None), run_rank=run_rank, plan=SimpleNamespace(out=tmp_path)
    )
    (run,) = run_ranks(rehearsal, [5])
    assert started == [5, 0, 5] and run.result.ok and run.rank == 5


@pytest.mark.parametrize(("ranks", "key"), [((0,), "PLN501.one"), ((0, 3), "PLN501.alike")])
def test_one_rank_alone_stands_for_none(ranks: tuple[int, ...], key: str) -> None:
    runs = tuple(make_run(make_memory(10.0, rank=rank), rank=rank) for rank in ranks)
    report = make_report(Material(make_rehearsal(make_cluster("910B3", 8, None, None)), runs, load_basis()))
    assert [finding.key for finding in report.findings if finding.rule == "PLN501"] == [key]
