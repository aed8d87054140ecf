"""A run of shapes only takes the memory of an ordinary run, alone as among all ranks, and each time the same. 90 s."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "children" / "trainings.py"
#: Small trainings whose tensors are large beside this.
SHAPES_ONLY = {"ASCEND_WORKBOOK_SIM_SHAPES_ONLY": "1", "ASCEND_WORKBOOK_SIM_KEEP_BYTES": "4096"}
#: Part of the peak by which the two may differ.
MOST = 0.001
#: Convolutions: the CPU's kernels take scratch memory, which an ordinary run books as the device's and no NPU takes.
WITH_SCRATCH = 0.06
TRAININGS = {
    "mlp": MOST,
    "gpt": MOST,
    "lstm": MOST,
    "sgd_momentum": MOST,
    "bert": MOST,
    "bfloat16": MOST,
    "autocast": MOST,
    "recomputing": MOST,
    "accumulation": MOST,
    "vit": MOST,
    "gan": MOST,
    "moe": MOST,
    "seq2seq": MOST,
    "embedding_bag": MOST,
    "gru": MOST,
    "mixer": MOST,
    "graph": MOST,
    "two_towers": MOST,
    "cnn": WITH_SCRATCH,
    "resnet_amp": WITH_SCRATCH,
    "unet": WITH_SCRATCH,
}
QUICK = 3
DISTRIBUTED = ["ddp", "fsdp2", "zero"]
Facts = dict[str, int]


def run_training(env: dict[str, str], name: str, *launcher: str, **variables: str) -> list[Facts]:
    """Return what each process of a training prints."""
    command = [sys.executable, *launcher, str(SCRIPT), name]
    environ = {**os.environ, **env, "ASCEND_WORKBOOK_SIM_MEMORY_MIB": "16384", **variables}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def run_all(env: dict[str, str], name: str) -> dict[int, Facts]:
    """Return what both ranks of a training in shapes only print."""
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    return {facts["rank"]: facts for facts in run_training(env, name, *launcher, **SHAPES_ONLY)}


def run_alone(env: dict[str, str], name: str, rank: int, world_size: int = 2) -> Facts:
    """Return what one rank of many prints that runs alone."""
    devices = min(world_size, 8)
    world = {"RANK": rank, "LOCAL_RANK": rank % 8, "WORLD_SIZE": world_size, "ASCEND_WORKBOOK_SIM_DEVICES": devices}
    variables = {key: str(value) for key, value in world.items()}
    return run_training(env, name, **SHAPES_ONLY, ASCEND_WORKBOOK_SIM_ALONE="1", **variables)[0]


@pytest.mark.parametrize(
    "name",
    [each if number < QUICK else pytest.param(each, marks=pytest.mark.full) for number, each in enumerate(TRAININGS)],
)
def test_it_takes_the_memory_of_an_ordinary_run(simulator_env: dict[str, str], name: str) -> None:
    ordinary, shapes_only = run_training(simulator_env, name)[0], run_training(simulator_env, name, **SHAPES_ONLY)[0]
    assert shapes_only["peak"] == pytest.approx(ordinary["peak"], rel=TRAININGS[name]), (ordinary, shapes_only)


@pytest.mark.parametrize("name", ["ddp", "fsdp2", pytest.param("zero", marks=pytest.mark.full)])
def test_a_rank_alone_takes_the_memory_of_one_among_all(simulator_env: dict[str, str], name: str) -> None:
    together = run_all(simulator_env, name)
    assert [run_alone(simulator_env, name, rank) for rank in (0, 1)] == [together[0], together[1]]


def test_two_runs_take_the_same_memory(simulator_env: dict[str, str]) -> None:
    """Whatever torch_npu's watchdog is doing at the time: it wakes once a second, a step takes a tenth of that."""
    assert run_alone(simulator_env, "ddp", 37, 64) == run_alone(simulator_env, "ddp", 37, 64)


@pytest.mark.full
@pytest.mark.parametrize("name", DISTRIBUTED)
def test_two_ranks_take_the_memory_of_an_ordinary_run(simulator_env: dict[str, str], name: str) -> None:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    slow = {"ASCEND_WORKBOOK_TEST_PAUSE": "1.2"}  # as long as the watchdog sleeps
    ordinary = {facts["rank"]: facts["peak"] for facts in run_training(simulator_env, name, *launcher, **slow)}
    together = {rank: facts["peak"] for rank, facts in run_all(simulator_env, name).items()}
    assert together == pytest.approx(ordinary, rel=MOST)
