"""Another eps, another dim, a mask left out: the arguments tell, whatever the values say; computed numbers do not."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from ascend_workbook.precision.divergence.arguments import _same_value, plain_arguments
from helpers import compare
from tests.precision.dumps import Dump


def layer(root: Path, eps: float, *, mask: bool = True, factor: float = 0.25) -> Path:
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(4, 8, generator=draw)
    dump = Dump(root)
    hidden = x * factor
    dump.forward("Tensor.mul", [x, factor], [hidden])
    normed = F.layer_norm(hidden, (8,), eps=eps)
    dump.forward("Functional.layer_norm", [hidden, torch.Size((8,)), None, None, eps], [normed])
    chosen = x > 9.0  # selects nothing: the values agree with and without
    given = {"attn_mask": chosen} if mask else {}
    dump.forward("Functional.softmax", [normed, -1], [normed.softmax(-1)], **given)
    return dump.save().parent.parent


def test_arguments_are_read_wherever_they_nest() -> None:
    tensor, text = {"type": "torch.Tensor", "shape": []}, {"type": "str", "value": "x"}
    entry = [
        {"type": "int", "value": 2},
        None,
        [{"type": "float", "value": 0.5}],
        tensor,
        text,
        {"type": "bool", "value": True},
    ]
    assert list(plain_arguments(entry, "input")) == [("input.0", 2), ("input.2.0", 0.5), ("input.5", True)]


@pytest.mark.parametrize("eps", [1e-6, 1e-5 * (1 + 2e-6)])
def test_another_eps_is_named_where_values_agree(tmp_path: Path, eps: float) -> None:
    report = compare(layer(tmp_path / "a", 1e-5), layer(tmp_path / "b", eps), replaying=False)
    assert report.facts["first_divergence"] == "Functional.layer_norm.0.forward"
    assert "ACC230.argument" in [found.key for found in report.findings] and "input.4" in report.verdict("en")


def test_why_an_operator_was_not_run_again(tmp_path: Path) -> None:
    for name, wrong in (("a", 0.0), ("b", 0.5)):
        dump = Dump(tmp_path / name)
        dump.forward("Tensor.mystery", [torch.ones(4)], [torch.ones(4) + wrong])
        dump.save()
    reports = [compare(tmp_path / "a", tmp_path / "b", replaying=again) for again in (True, False)]
    assert "list of operators" in reports[0].verdict("en") or "off" in reports[0].verdict("en")
    assert "replaying was turned off" in reports[1].verdict("en")


def test_a_mask_on_one_side_only(tmp_path: Path) -> None:
    for with_mask in (True, False):
        folder = tmp_path / str(with_mask)
        report = compare(layer(folder / "a", 1e-5, mask=not with_mask), layer(folder / "b", 1e-5, mask=with_mask))
        side = "target" if with_mask else "baseline"
        assert report.facts["first_divergence"] == "Functional.softmax.0.forward"
        assert f"only in {side}" in report.verdict("en")


def test_numbers_that_are_computed_may_differ_by_rounding(tmp_path: Path) -> None:
    """loss / loss.item(), a scale from a norm: such numbers follow the values before them."""
    near = 0.25 * (1 + 1e-7)
    report = compare(layer(tmp_path / "a", 1e-5), layer(tmp_path / "b", 1e-5, factor=near))
    assert report.facts["first_divergence"] is None


@pytest.mark.parametrize("limits", [(-3.4028e38, -3.3895e38), (-math.inf, -math.inf), (math.nan, math.nan)])
def test_a_dtypes_limits_are_no_difference(tmp_path: Path, limits: tuple[float, float]) -> None:
    for name, limit in zip("ab", limits):
        dump = Dump(tmp_path / name)
        x = torch.ones(4)
        dump.forward("Tensor.masked_fill", [x, x > 2, limit], [x])
        dump.save()
    assert compare(tmp_path / "a", tmp_path / "b").facts["first_divergence"] is None


@pytest.mark.parametrize(
    ("left", "right", "allowed", "same"),
    [
        (True, False, 9.0, False),
        (True, 1.0, 0.0, True),
        (2, 3, 9.0, False),
        (2, 2, 0.0, True),
        (1.0, 1.5, 0.3, False),
        (1.0, 1.5, 0.34, True),
        (1.0, 1.25, 0.2, True),
        (0.5, -0.5, 1.9, False),
        (2, 2.5, 0.2, True),
        (math.nan, math.nan, 0.0, True),
        (math.nan, 1.0, 0.0, False),
        (-1.5e4, -2e4, 0.0, True),
        (1e4, 2e4, 0.1, False),
        (1.0, 2e4, 0.1, False),
    ],
)
def test_when_two_arguments_are_the_same(left: float, right: float, allowed: float, same: bool) -> None:
    """Flags and whole numbers exactly, others to a share of the larger; what stands for infinity always."""
    assert _same_value(left, right, allowed) is same and _same_value(right, left, allowed) is same
