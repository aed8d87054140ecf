"""A bit that flips in the optimizer's state between two updates is told at its step; what a script writes is not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ascend_workbook.precision.child import watch_numbers
from ascend_workbook.precision.watching import watch_training

STEP = 12


def train(folder: Path, strike: Callable[[torch.optim.Optimizer, torch.Tensor, int], None], steps: int = 20) -> Any:
    """Alarms of a small training that is struck before the update of each step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    watcher = watch_training(model, optimizer, out=folder, quiet=True)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 8)).square().mean()
        loss.backward()
        if step > 1:
            strike(optimizer, model[2].weight, step)
        optimizer.step()
        watcher.log(loss)
    alarms = watcher.alarms
    watcher.close()
    return [(alarm["key"], alarm["kind"], alarm["step"], alarm["names"]) for alarm in alarms]


def flip(optimizer: torch.optim.Optimizer, weight: torch.Tensor, slot: str, bit: int) -> None:
    optimizer.state[weight][slot].data.view(-1).view(torch.int32)[3] ^= 1 << bit


@pytest.mark.parametrize(("slot", "bit"), [("exp_avg", 2), ("exp_avg", 24), ("exp_avg_sq", 0)])
def test_one_bit_is_told_at_its_step(tmp_path: Path, slot: str, bit: int) -> None:
    told = train(tmp_path, lambda o, weight, step: flip(o, weight, slot, bit) if step == STEP else None)
    assert told == [("changed", "moments", STEP, ["2.weight"])]


@pytest.mark.parametrize("kind", ["nothing", "written", "loaded", "at every step"])
def test_what_a_script_does_is_none(tmp_path: Path, kind: str) -> None:
    def strike(optimizer: torch.optim.Optimizer, weight: torch.Tensor, step: int) -> None:
        if kind == "at every step":
            optimizer.state[weight]["exp_avg"].data.mul_(0.5)
        elif kind == "written" and step == STEP:
            optimizer.state[weight]["exp_avg"].zero_()
        elif kind == "loaded" and step == STEP:
            state = copy.deepcopy(optimizer.state_dict())
            state["state"][2]["exp_avg"].mul_(0.5)
            optimizer.load_state_dict(state)

    assert train(tmp_path, strike) == []


def test_large_states_are_read_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """All is read in turn, no more than the bound at once."""
    monkeypatch.setattr(watch_numbers, "STATE_BYTES", 64)
    weight = torch.nn.Parameter(torch.ones(40))
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    optimizer.state[weight]["momentum_buffer"] = torch.arange(40.0)
    moments, parts = watch_numbers.Moments(), []
    for _ in range(3):
        moments.note(optimizer, {id(weight): 0})
        parts += [part[4][1] for part in moments._left]
        optimizer.state[weight]["momentum_buffer"].data[parts[-1].start] += 1
        assert moments.check({id(weight): 0})[:2] == ([0], [0])
    assert parts == [slice(0, 16), slice(16, 32), slice(32, 40)] and moments.error is None
