"""A bit that flips in the optimizer's state between two updates is told at its step; what a script writes is not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.child import watch_numbers
from ascend_workbook.precision.watching import watch_training
from ascend_workbook.precision.watching.findings import judge_watched
from ascend_workbook.precision.watching.reading import read_watched

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


@pytest.mark.parametrize("every", [8, 10])
def test_a_state_that_is_set_anew_everywhere_is_a_remark(tmp_path: Path, every: int) -> None:
    """A warm restart through `.data`, and a broadcast into it, which torch counts as no write either."""

    def restart(optimizer: torch.optim.Optimizer, weight: torch.Tensor, step: int) -> None:
        for state in optimizer.state.values() if step % every == 0 else ():
            state["exp_avg"].data.zero_()

    told = train(tmp_path, restart)
    assert [(kind, step) for _, kind, step, _ in told] == [("moments_set", step) for step in range(every, 21, every)]
    watched = read_watched(tmp_path / "watch.jsonl")
    assert {finding.status for finding in judge_watched(watched, {}) if finding.rule == "ACC246"} == {Status.NOTE}


def test_one_state_that_changed_is_for_a_look(tmp_path: Path) -> None:
    """Nothing tells a bit of the memory from a write that torch does not count."""
    train(tmp_path, lambda o, weight, step: flip(o, weight, "exp_avg", 2) if step == STEP else None)
    (finding,) = (each for each in judge_watched(read_watched(tmp_path / "watch.jsonl"), {}) if each.rule == "ACC246")
    assert finding.status == Status.LOOK and finding.key == "ACC246.moments"
    assert "dist.broadcast" in finding.message("en") and "one of these" in finding.message("en")


def test_a_state_that_is_no_dict_is_left_out() -> None:
    """As `self.state[parameter] = tensor` leaves it; the others are read."""
    first, second = (torch.nn.Parameter(torch.ones(4)) for _ in range(2))
    optimizer = torch.optim.SGD([first, second], lr=0.1, momentum=0.9)
    optimizer.state[first] = torch.zeros(4)
    optimizer.state[second]["momentum_buffer"] = torch.ones(4)
    moments, places = watch_numbers.Moments(), {id(first): 0, id(second): 1}
    moments.note(optimizer, places)
    optimizer.state[second] = torch.zeros(4)
    assert moments.check(places) == ([], [], [])
    optimizer.state[second] = {"momentum_buffer": torch.ones(4)}
    moments.note(optimizer, places)
    assert moments.check(places) == ([1], [], []) and moments.error is None


def test_a_state_in_another_order_is_read_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the whole for each part takes half a second of 256 MiB."""
    monkeypatch.setattr(watch_numbers, "STATE_BYTES", 64)
    weight = torch.nn.Parameter(torch.ones(2, 4, 3, 1).to(memory_format=torch.channels_last))
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    buffer = torch.arange(24.0).reshape(2, 4, 3, 1).to(memory_format=torch.channels_last)
    optimizer.state[weight]["momentum_buffer"] = buffer
    read: list[torch.Tensor] = []
    digest = watch_numbers._digest
    monkeypatch.setattr(watch_numbers, "_digest", lambda value: (read.append(value), digest(value))[1])
    moments = watch_numbers.Moments()
    moments.note(optimizer, {id(weight): 0})
    moments.note(optimizer, {id(weight): 0})
    assert [(part.data_ptr() - buffer.data_ptr(), part.numel()) for part in read] == [(0, 16), (64, 8)]


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
