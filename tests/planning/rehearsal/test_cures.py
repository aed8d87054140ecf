"""Cures that are rehearsed: PyTorch's fully_shard and its ways to the host's memory, on an unmodified script."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.planning.rehearsal.runs import Rehearsal, make_rehearsal
from ascend_workbook.planning.rehearsal.settings import make_cluster
from ascend_workbook.planning.rehearsal.variants import list_cures, run_variant

SCRIPT = Path(__file__).parent / "children" / "train_blocks.py"
MIB = 1 << 20
#: Float32 weights of 12 blocks and the head.
WEIGHTS = 4 * (12 * (2 * 1024 * 4096 + 4096 + 3 * 1024) + 10250)


def make(folder: Path, cards: int, *words: str) -> Rehearsal:
    return make_rehearsal(
        prepare_training(str(SCRIPT), words, 1), folder, make_cluster("910B3", cards, None, None), 2, seed=1
    )


def run_cure(rehearsal: Rehearsal, name: str) -> int:
    """Return what is held between the steps with a cure."""
    (variant,) = (each for each in list_cures(rehearsal) if each.name == name)
    run = run_variant(rehearsal, variant, 0)
    assert run.result.ok and run.memory is not None, run.result.error
    return run.memory.steps[-1]["held"]


def test_cures_are_in_order(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """Those that cost nothing first, those that wait for the host last; what needs other cards on several alone."""
    one, many = ([each.name for each in list_cures(make(tmp_path, cards))] for cards in (1, 8))
    assert one == [
        *("expandable_segments", "one_by_one", "recompute", "recompute_one_by_one"),
        *("offload_activations", "offload", "offload_recompute"),
    ]
    assert [name for name in many if name not in one] == ["sharded", "fsdp", "fsdp_recompute"]


@pytest.mark.parametrize("words", [(), pytest.param(("early",), marks=pytest.mark.full)])
def test_fully_shard_stands_for_data_parallelism(
    simulator_env: dict[str, str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Of 16 bytes a parameter and 4 of buckets an eighth of 16 stays; gradients go at the next step's zero_grad."""
    held = run_cure(make(tmp_path, 8, *words), "fsdp")
    assert held == pytest.approx(4 * WEIGHTS / 8, rel=0.15)


def test_states_lie_in_the_hosts_memory(simulator_env: dict[str, str], tmp_path: Path) -> None:
    assert run_cure(make(tmp_path, 1), "offload") < WEIGHTS / 8


@pytest.mark.full
def test_activations_lie_in_the_hosts_memory(simulator_env: dict[str, str], tmp_path: Path) -> None:
    rehearsal = make(tmp_path, 1)
    peaks = {}
    for name in ("one_by_one", "offload_activations"):
        (variant,) = (each for each in list_cures(rehearsal) if each.name == name)
        run = run_variant(rehearsal, variant, 0)
        assert run.result.ok and run.memory is not None
        peaks[name] = run.memory.by_kind["activations"]
    assert peaks["offload_activations"] < 0.5 * peaks["one_by_one"]
