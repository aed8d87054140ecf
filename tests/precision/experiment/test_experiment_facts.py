"""What rides in the training process reads of a run: without msprobe, in this process."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch

import ascend_workbook

CHILD = Path(ascend_workbook.__file__).parent / "precision" / "child"


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"tested_{name}", CHILD / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


facts = loaded("experiment_facts")


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Installed, and everything it replaced is put back afterwards."""
    for owner, name in (
        (torch.autocast, "__enter__"),
        (torch.amp.GradScaler, "__init__"),
        (torch.optim.lr_scheduler.LRScheduler, "__init__"),
        (numpy.random, "default_rng"),
        (torch.utils.data.DataLoader, "__init__"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    log = SimpleNamespace(content={"meta": {"seeds": [{"call": "torch.manual_seed", "seed": 5}]}})
    losses = SimpleNamespace(backward_from=lambda tensors: None)
    made = facts.Facts(SimpleNamespace(log=log, losses=losses, active=True))
    made.install()
    yield made


def test_a_run_under_amp_with_a_schedule_is_read(recorder: Any) -> None:
    generator = torch.Generator().manual_seed(9)
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    torch.utils.data.DataLoader(data, batch_size=2, shuffle=True, generator=generator)
    numpy.random.default_rng(7)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW([{"params": [model.weight], "weight_decay": 0.1}, {"params": [model.bias]}], lr=0.5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3)
    torch.amp.GradScaler("cpu", init_scale=128.0)
    recorder.model(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.mse_loss(model(torch.ones(2, 3)), torch.ones(2, 2))
    recorder.observer.losses.backward_from(loss * 4 / 2)
    recorder.update(0, optimizer)
    told = recorder.told
    assert told["autocast"] == [[True, "bfloat16"]] and told["scaler"]["init_scale"] == 128.0
    assert told["loss"] == "MseLossBackward" and told["schedulers"] == [
        {"class": "StepLR", "step_size": 3, "gamma": 0.1}
    ]
    assert [group["weight_decay"] for group in told["optimizers"][0]["groups"]] == [0.1, 0.01]
    assert told["rates"] == {"0": [0.5, 0.5]} and schedule.last_epoch == 0
    assert told["loaders"][0]["generator"] == 9 and told["loaders"][0]["sampler"] == "RandomSampler"
    assert {"call": "numpy.random.default_rng", "seed": 7} in told["seeds"]["calls"]
    assert told["modules"] == {"": ["Linear", "in_features=3, out_features=2, bias=True"]}


def test_what_a_script_made_anew_is_told_whether_the_first_is_collected_or_not(recorder: Any) -> None:
    """A resume makes optimizer and schedule again; the first ones may live on in a cycle, or leave their number."""
    kept = []
    for keeps in (True, False):
        recorder.told.update(optimizers=[], schedulers=[])
        for _ in range(3):
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.5)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3)
            recorder.update(0, optimizer)
            kept += [schedule] if keeps else []
            del optimizer, schedule
            gc.collect()
        assert [len(recorder.told[name]) for name in ("optimizers", "schedulers")] == [3, 3]


def test_each_sample_has_its_own_fingerprint() -> None:
    batch = torch.randn(4, 3, 2)
    order = torch.tensor([2, 0, 3, 1])
    assert facts.hash_samples(batch[order]) == [facts.hash_samples(batch)[at] for at in order.tolist()]
    assert facts.fingerprint(batch) != facts.fingerprint(batch[order]) and facts.hash_samples(torch.tensor(1.0)) == []
    assert facts.hash_samples(torch.empty(0, 3)) == [] and len(facts.hash_samples(torch.empty(3, 0))) == 3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.bool, torch.float64])
def test_numbers_of_every_dtype(dtype: torch.dtype) -> None:
    assert facts.list_numbers(torch.ones(4, dtype=dtype)) == [2.0, 1.0, 1.0, 1.0, 1.0]


def test_what_is_not_finite_is_none_and_what_has_no_numbers_is_empty() -> None:
    assert facts.list_numbers(torch.tensor([1.0, float("nan")])) == [None, 1.0, None]
    assert facts.list_numbers(torch.empty(0)) == [] and facts.list_numbers(torch.ones(2, dtype=torch.complex64)) == []


def test_reading_draws_no_random_numbers(recorder: Any) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    recorder.model(torch.nn.Sequential(torch.nn.Flatten()))
    recorder.batch(0, [torch.ones(2, 2)])
    assert torch.equal(torch.get_rng_state(), before) and recorder.told["seeds"]["torch"] == 3
