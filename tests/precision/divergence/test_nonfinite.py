"""The first infinity or NaN: its producer, not the place where it is first seen."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.divergence.nonfinite import LARGEST
from tests.precision.dumps import Dump

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
INF, NAN = torch.full((2, 2), float("inf")), torch.full((2, 2), float("nan"))


def dump(
    root: Path,
    *,
    middle: torch.Tensor = X,
    last: torch.Tensor = X,
    first: torch.Tensor = X,
    grads: tuple[torch.Tensor, torch.Tensor] = (X, X),
    dtype: torch.dtype = torch.float32,
    alone: bool = False,
) -> Path:
    """relu -> exp -> linear, and back; the gradient that linear hands back shows only where exp takes it.
    `alone`: a mask stands before it that the other side does not draw up."""
    made = Dump(root, task="statistics")
    if alone:
        made.forward("Tensor.masked_fill", [X], [-INF])
    values = {name: value.to(dtype) for name, value in (("first", first), ("middle", middle), ("last", last))}
    made.forward("Functional.relu", [values["first"]], [values["first"] + 1], requires_grad=(0,))
    made.forward("Torch.exp", [values["first"] + 1], [values["middle"] + 2], requires_grad=(0,))
    made.forward("Functional.linear", [values["middle"] + 2, X], [values["last"] + 3], requires_grad=(0,))
    made.backward("Functional.linear", [X], [X.reshape(4)])
    made.backward("Torch.exp", [grads[0]], [grads[0]])
    made.backward("Functional.relu", [grads[0]], [grads[1]])
    made.save()
    return root


def told(baseline: Path, target: Path) -> list[tuple[str, object, object]]:
    report: Report = compare(baseline, target)
    return [(one.key, one.args["operator"], one.args["side"]) for one in report.findings if one.rule == "ACC232"]


@pytest.mark.parametrize(
    ("wrong", "key", "name"),
    [
        ({"middle": INF, "last": NAN}, "made", "Torch.exp.0.forward"),
        ({"last": NAN}, "made", "Functional.linear.0.forward"),
        ({"first": NAN, "middle": NAN, "last": NAN}, "came", "Functional.relu.0.forward"),
        ({"grads": (NAN, NAN)}, "handed", "Functional.linear.0.backward"),
        ({"grads": (X, INF)}, "made", "Functional.relu.0.backward"),
    ],
)
def test_who_made_it(tmp_path: Path, wrong: dict[str, torch.Tensor], key: str, name: str) -> None:
    found = told(dump(tmp_path / "a"), dump(tmp_path / "b", **wrong))  # type: ignore[arg-type]
    assert found == [(f"ACC232.{key}", [name], {"say": "precision.side_target"})]


def test_what_both_sides_have_is_no_difference(tmp_path: Path) -> None:
    """The minus infinity of a mask."""
    masked = torch.tensor([[1.0, float("-inf")], [3.0, 4.0]])
    both = [dump(tmp_path / side, middle=masked) for side in ("a", "b")]
    assert told(both[0], both[1]) == []
    assert told(both[0], dump(tmp_path / "c", middle=masked, last=INF))[0][1] == ["Functional.linear.0.forward"]


def test_the_baseline_is_looked_at_as_well(tmp_path: Path) -> None:
    found = told(dump(tmp_path / "a", middle=INF, last=INF), dump(tmp_path / "b"))
    assert found == [("ACC232.made", ["Torch.exp.0.forward"], {"say": "precision.side_baseline"})]


def test_an_overflow_is_told_with_the_limit_of_its_dtype(tmp_path: Path) -> None:
    large = torch.full((2, 2), 64000.0)
    report = compare(
        dump(tmp_path / "a", middle=large, dtype=torch.float16),
        dump(tmp_path / "b", middle=INF, last=INF, dtype=torch.float16),
    )
    found = next(one for one in report.findings if one.rule == "ACC232")
    assert found.args["limit"] == 65504.0 and found.args["expected"] == pytest.approx(64000.0, rel=1e-2)
    assert "6.55e+04" in found.message("zh") and "float16" in found.message("en")


def masked(root: Path, *, alone: bool, given: torch.Tensor = X, result: torch.Tensor = X) -> Path:
    """softmax after a mask that one side alone may draw up."""
    made = Dump(root, task="statistics")
    made.forward("Functional.relu", [X], [X])
    if alone:
        made.forward("Tensor.masked_fill", [X], [-INF])
    made.forward("Functional.softmax", [given], [result])
    made.save()
    return root


def test_a_mask_of_one_side_alone_is_no_overflow(tmp_path: Path) -> None:
    plain = masked(tmp_path / "a", alone=False)
    report = compare(plain, masked(tmp_path / "b", alone=True))
    assert [one.rule for one in report.findings if one.status >= Status.LOOK] == ["ACC210"]
    assert report.status is Status.LOOK and told(masked(tmp_path / "c", alone=True), plain) == []


@pytest.mark.parametrize(
    ("given", "key", "name"),
    [(INF, "made", "Tensor.masked_fill.0.forward"), (X, "made", "Functional.softmax.0.forward")],
)
def test_an_operator_of_one_side_alone_is_named_where_a_paired_one_is_given_its_value(
    tmp_path: Path, given: torch.Tensor, key: str, name: str
) -> None:
    wrong = masked(tmp_path / "b", alone=True, given=given, result=NAN)
    assert told(masked(tmp_path / "a", alone=False), wrong) == [
        (f"ACC232.{key}", [name], {"say": "precision.side_target"})
    ]


def test_a_mask_in_the_forward_hands_no_gradient(tmp_path: Path) -> None:
    wrong = dump(tmp_path / "b", grads=(NAN, NAN), alone=True)
    assert told(dump(tmp_path / "a"), wrong) == [
        ("ACC232.handed", ["Functional.linear.0.backward"], {"say": "precision.side_target"})
    ]


def test_the_largest_numbers_are_those_of_torch() -> None:
    assert set(LARGEST) == {"float16", "bfloat16", "float32"}
    for name, largest in LARGEST.items():
        assert largest == pytest.approx(torch.finfo(getattr(torch, name)).max, rel=1e-4)
