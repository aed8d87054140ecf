"""What ranks have alike on one side alone: averages that are missing, weights that one rank keeps to itself, shards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.precision.ranks.copies import check_copies
from ascend_workbook.precision.state.judge import Event
from ascend_workbook.precision.state.reading import States, Step
from tests.precision.state import running
from tests.precision.state.cases import WORKING, Case
from tests.precision.state.judged import judge_case, judge_folders


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


def judge(root: Path, recipe: str, fault: str = "", start: int = 1) -> list[Event]:
    base = running.record_once(root / recipe, recipe)
    target = running.record(root / f"{recipe}-{fault.replace(' ', '-') or 'healthy'}", recipe, fault, start, "ulp")
    return judge_folders(base, target)


def test_an_average_over_ranks_that_is_missing_is_named(root: Path) -> None:
    first, *_ = judge(root, "ddp", "not averaged", 2)
    assert (first.step, first.kind, first.detail, first.side) == (2, "ranks", "gradient", "target")
    assert first.args["count"] == first.args["of"]
    assert judge(root, "ddp") == []


def test_a_shard_that_is_not_gathered_shows_in_the_next_steps_weights(root: Path) -> None:
    first, *_ = judge(root, "zero", "shard not gathered")
    assert (first.step, first.kind, first.detail) == (2, "ranks", "weight")


def test_shards_of_weights_are_recorded_and_one_that_is_lost_is_named(root: Path) -> None:
    first, *_ = judge(root, "fsdp", "shard of one rank lost")
    assert (first.step, first.kind, first.detail, len(first.names)) == (1, "changed", "zero", 1)
    assert judge(root, "fsdp") == []


def test_a_sum_over_ranks_in_place_of_a_mean_is_a_factor_where_it_is_read(root: Path) -> None:
    first, *_ = judge(root, "zero", "summed for averaged")
    assert (first.step, first.kind, first.detail) == (1, "changed", "read_factor")
    assert first.args["factor"] == pytest.approx(2.0, rel=1e-3)


def test_one_rank_tells_nothing_of_the_others(root: Path) -> None:
    base = running.record_once(root / "ddp", "ddp")
    steps = [Step(step) for step in json.loads((base / "state.rank0.json").read_text())["steps"]]
    alone = States({0: {step.number: step for step in steps}})
    assert [*check_copies({}, alone, alone)] == []


def test_the_corpus_runs_such_cases(root: Path) -> None:
    verdict = judge_case(Case("averaged", "all-reduce of one parameter missing", 1, "none", WORKING), root)
    assert verdict.outcome == "right", verdict.words
