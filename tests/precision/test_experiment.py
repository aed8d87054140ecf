"""What makes two captures different experiments, and what does not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.precision.experiment import differences, surroundings
from helpers.precision.manifest import Manifest
from helpers.precision.rules import participants, settings


def side(batches: dict[str, str], weights: dict[str, str] | None = None, **about: Any) -> Manifest:
    told = {"weights": weights or {"w": "1"}, "batches": batches}
    return Manifest(Path("capture"), True, {"seed": 1, **about}, sides={"rank0": told})


def test_a_step_that_one_side_did_not_take_is_no_other_batch() -> None:
    assert differences(side({"0": "a"}), side({"0": "a", "2": "b"})) == {}
    assert differences(side({"0": "a", "2": "b"}), side({"0": "x", "2": "b"})) == {"batches": ["0"]}


def test_a_weight_that_one_side_lacks_is_a_difference() -> None:
    assert differences(side({}, {"w": "1"}), side({}, {"w": "1", "v": "2"})) == {"weights": ["v"]}


def test_a_data_folder_elsewhere_is_the_same_experiment_and_another_option_is_not() -> None:
    left, right = side({}, args=["--data", "/home/a/digits"]), side({}, args=["--data", "/cache/digits"])
    assert differences(left, right) == {}
    assert differences(left, side({}, args=["--data", "/cache/letters"])) == {"args": []}


@pytest.mark.parametrize(
    ("tier", "devices", "expected"),
    [
        ("npu-simulated", ["cpu"], ["ACC206.off_npu"]),
        ("npu", ["cpu", "npu:0"], []),
        ("npu", [], []),
        ("cpu", ["cpu"], ["ACC206.no_npu"]),
    ],
)
def test_a_target_whose_parameters_stayed_on_the_cpu_says_nothing_of_an_npu(
    tier: str, devices: list[str], expected: list[str]
) -> None:
    left, right = side({}, tier="cpu"), side({}, tier=tier, parameter_devices=devices)
    facts: Any = SimpleNamespace(baseline=SimpleNamespace(about=left), target=SimpleNamespace(about=right))
    assert [finding.key for finding in participants.check(facts)] == expected


def recorded(tier: str, **settings: Any) -> Manifest:
    """A capture whose plugin recorded these settings."""
    told = {"packages": {"torch": "2.9.0"}, "environment": {}, "flags": {"conv_format": ""}, "seeds": [], **settings}
    return Manifest(Path("capture"), True, {"seed": 1, "tier": tier}, sides={"rank0": {"settings": told}})


def noted(left: Manifest | None, right: Manifest | None) -> list[Any]:
    facts: Any = SimpleNamespace(baseline=SimpleNamespace(about=left), target=SimpleNamespace(about=right))
    return list(settings.check(facts))


def test_settings_that_change_numbers_are_noted_riskiest_first() -> None:
    packages = {"torch": "2.8.0", "numpy": "2.1.0", "torch_npu": "2.8.0", "rich": "15"}
    (found,) = noted(recorded("cuda"), recorded("npu", packages=packages))
    assert found.status.name == "NOTE" and found.args["what"] == "torch" and found.args["count"] == 2
    assert "numpy" in found.message("en") and found.message("zh") and found.hint("zh")


def test_what_the_tolerances_allow_for_and_what_is_not_recorded_is_not_noted() -> None:
    assert not noted(recorded("cpu"), recorded("npu-simulated", flags={"conv_format": "hf32"}))
    assert not noted(recorded("cpu"), None) and not noted(side({}), side({}))
    assert surroundings(side({}), recorded("npu")) == []
