"""Planted faults are found at their step, and healthy trainings raise no alarm."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.finding import Status
from tests.precision.watching.trainings import FAULTS, MODELS, train, train_adversaries

HEALTHY: list[dict[str, Any]] = [
    {},
    {"clip": False},
    {"amp": True},
    {"amp": True, "skip": (1, 2, 3, 4, 5, 30, 31)},
    {"accumulate": 4},
    {"warm_up": True},
    {"last_batch": 3},
    {"average": True},
    {"adam": False},
    {"batch": 4},
    {"batch": 2, "clip": False},
    {"clamp": 0.05},
]


def check_found(folder: Path, fault: str, name: str, seed: int) -> None:
    draw = random.Random(f"{fault} {name} {seed}")
    at = draw.randrange(20, 58)
    clip = "clip" in fault or draw.random() < 0.6
    report = train(folder, name, seed, fault=fault, at=at, clip=clip)
    alarms = report.facts["alarms"]
    keys = [alarm["key"] for alarm in alarms if alarm["step"] == at]
    if fault == "scale" and not clip:  # what is divided by a wrong scale leaps too
        keys = [key for key in keys if key != "spike"]
    assert keys == [FAULTS[fault][1]]
    assert all(alarm["step"] >= at for alarm in alarms)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_at_its_step(tmp_path: Path, fault: str) -> None:
    check_found(tmp_path, fault, "perceptron", 3)


@pytest.mark.full
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_in_every_model(tmp_path: Path, fault: str, name: str) -> None:
    for seed in range(3):
        check_found(tmp_path / str(seed), fault, name, seed)


@pytest.mark.parametrize("options", [HEALTHY[3], HEALTHY[6], HEALTHY[11]])
def test_a_healthy_training_raises_no_alarm(tmp_path: Path, options: dict[str, Any]) -> None:
    report = train(tmp_path, "perceptron", 5, **options)
    assert report.facts["alarms"] == [] and report.status <= Status.NOTE


@pytest.mark.full
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("number", range(len(HEALTHY)))
def test_no_healthy_model_raises_an_alarm(tmp_path: Path, number: int, name: str) -> None:
    assert train(tmp_path, name, 100 + number, steps=150, **HEALTHY[number]).facts["alarms"] == []


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_two_networks_against_one_another_raise_no_alarm(tmp_path: Path, seed: int) -> None:
    assert train_adversaries(tmp_path, seed, 200).facts["alarms"] == []
