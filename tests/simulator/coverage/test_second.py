"""The second reference beside the CPU finds what the CPU alone would hide, and holds nothing against what is right."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import SampleInput

from ascend_simulator.coverage.child.second import FLOAT64, NUMPY, compare_with_second

OPERATORS = {op.name: op for op in op_db if not op.variant_test_name}
X = torch.tensor([[0.5, -1.5, 2.0], [3.0, 0.25, -4.0]])


@pytest.mark.parametrize(
    ("name", "given", "options", "kind"),
    [
        ("exp", X, {}, NUMPY),
        ("exp", X.t(), {}, NUMPY),
        ("sum", X, {"dim": 1}, NUMPY),
        ("add", torch.tensor([1, 2]), {"other": torch.tensor([3, 4])}, NUMPY),
        ("logcumsumexp", X, {"dim": 1}, FLOAT64),
        ("std", X, {"dim": 1}, FLOAT64),  # the database's formula has another default
        ("median", X, {}, FLOAT64),
    ],
)
def test_right_and_wrong_results(name: str, given: torch.Tensor, options: dict[str, Any], kind: str) -> None:
    options = dict(options)
    args = (options.pop("other"),) if "other" in options else ()
    op, sample = OPERATORS[name], SampleInput(given, args=args, kwargs=options)
    right = op(given, *args, **options)
    assert compare_with_second(op, sample, right) == (kind, "")
    wrong = right.clone(memory_format=torch.contiguous_format)
    wrong.flatten()[-1:].add_(1 if not wrong.is_floating_point() else 0.01 * wrong.abs().max())
    held, difference = compare_with_second(op, sample, wrong)
    assert held == kind and difference.startswith(f"1 of {right.numel()} values differ, at "), difference


def test_a_fault_of_the_cpus_own_kernel_is_seen() -> None:
    given = torch.tensor([5.0, 1.0, 3.0])[:1].expand(7)
    held, difference = compare_with_second(OPERATORS["masked.median"], SampleInput(given), torch.tensor(4.0))
    assert held == FLOAT64 and "at []: 4, reference 5" in difference


@pytest.mark.parametrize(
    ("name", "given"), [("exp", X.half()), ("linalg.qr", X), ("as_strided", X), ("bernoulli", X.int().bool())]
)
def test_what_has_no_second_reference(name: str, given: torch.Tensor) -> None:
    sample = SampleInput(given, args=((2, 2), (1, 2)) if name == "as_strided" else ())
    if name == "bernoulli":
        assert compare_with_second(OPERATORS["exp"], SampleInput("no tensor"), X) == ("", "")
    else:
        op = OPERATORS[name]
        assert compare_with_second(op, sample, op(given, *sample.args)) == ("", "")


def test_infinities_and_nan_are_results_too() -> None:
    given = torch.tensor([100.0, -1.0, float("nan"), 0.0])
    for name, wrong in (
        ("exp", [torch.inf, 0.3678794, torch.nan, 2.0]),
        ("log", [4.6051702, torch.nan, 0.0, -torch.inf]),
    ):
        op = OPERATORS[name]
        assert compare_with_second(op, SampleInput(given), op(given)) == (NUMPY, "")
        assert "1 of 4 values differ" in compare_with_second(op, SampleInput(given), torch.tensor(wrong))[1]


def test_small_results_are_not_lost_in_the_tolerance() -> None:
    given = torch.tensor([-9.5, -9.0, -10.0])
    right = OPERATORS["exp"](given)
    assert right.max() < 2e-4 and compare_with_second(OPERATORS["exp"], SampleInput(given), right) == (NUMPY, "")
    assert "values differ" in compare_with_second(OPERATORS["exp"], SampleInput(given), torch.zeros(3))[1]
