"""What the manifests and the recorded streams tell of two runs before a step is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.precision.capturing.manifest import Manifest
from ascend_workbook.precision.state.events import known_conditions
from ascend_workbook.precision.state.reading import States, Step


def side(tier: str, kind: str = "Linear", form: str = "", **about: Any) -> Manifest:
    facts = {"experiment": {"modules": {"": [kind, {}]}}, "numerics": {"conv": form, "matmul": ""}}
    return Manifest(Path(), True, {"tier": tier, **about}, {}, {"rank0": facts})


def streams(**values: tuple[str, str]) -> States:
    steps = [Step({"step": at, "random": {kind: pair[at] for kind, pair in values.items()}}) for at in (0, 1)]
    return States({0: {step.number: step for step in steps}})


@pytest.mark.parametrize(
    ("target", "drawn", "differ"),
    [
        (side("npu"), streams(npu=("a", "b")), True),
        (side("npu"), streams(npu=("a", "a"), torch=("a", "b")), False),
        (side("npu", "Dropout"), streams(npu=("a", "a")), True),
        (side("cpu"), streams(torch=("a", "b")), False),
    ],
)
def test_masks_differ_where_a_device_draws_its_own(target: Manifest, drawn: States, differ: bool) -> None:
    assert known_conditions(side("cpu"), target, (), states=(streams(torch=("a", "b")), drawn)).draws_differ is differ


def test_draws_of_the_host_are_the_same_everywhere() -> None:
    both = (side("cpu", "Dropout", draws="host"), side("npu", "Dropout", draws="host"))
    known = known_conditions(*both, (), states=(streams(npu=("a", "b")),))
    assert not known.draws_differ and known.same_streams
    assert not known_conditions(both[0], side("npu"), ()).same_streams


@pytest.mark.parametrize(
    ("kind", "form", "unit"), [("Conv2d", "hf32", 2**-12), ("Linear", "hf32", 0), ("Conv2d", "", 0)]
)
def test_a_reduced_format_counts_where_the_model_convolves(kind: str, form: str, unit: float) -> None:
    assert known_conditions(side("cpu", kind), side("npu", kind, form), ()).reduced == unit


def test_the_layers_that_a_format_rounds_in_are_counted() -> None:
    modules = {name: [kind, {}] for name, kind in zip("abcd", ("Conv2d", "ConvTranspose2d", "Linear", "BatchNorm2d"))}
    for forms, depth in (({"conv": "hf32"}, 2), ({"conv": "hf32", "matmul": "hf32"}, 3), ({"matmul": "tf32"}, 1)):
        facts = {"experiment": {"modules": modules}, "numerics": forms}
        target = Manifest(Path(), True, {"tier": "npu"}, {}, {"rank0": facts})
        assert known_conditions(side("cpu"), target, ()).depth == depth, forms
