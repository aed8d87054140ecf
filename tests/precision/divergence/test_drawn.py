"""Random numbers that differ are told as that: neither agreement nor an operator's fault."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.divergence.drawn import draws_numbers
from ascend_workbook.precision.record import Operator
from ascend_workbook.precision.views.answers import next_steps
from tests.precision.dumps import Dump


def network(root: Path, *, seed: int, task: str, p: float = 0.1, scale: float = 1.0) -> Path:
    """relu, dropout, relu, from the same data; `seed` draws the mask, `scale` is a fault of the dropout."""
    data = torch.randn(16, 64, generator=torch.Generator().manual_seed(1))
    dump = Dump(root, task=task)
    first = F.relu(data)
    dump.forward("Functional.relu", [data], [first])
    torch.manual_seed(seed)
    kept = F.dropout(first, p, True) * scale
    dump.forward("Functional.dropout", [first, p, True], [kept], line=36)
    dump.forward("Functional.relu", [kept], [F.relu(kept)], call=1)
    return dump.save().parent.parent


@pytest.mark.parametrize("task", ["tensor", "statistics"])
def test_other_masks_are_a_warning_that_names_where_they_are_drawn(tmp_path: Path, task: str) -> None:
    sides = [network(tmp_path / str(seed), seed=seed, task=task) for seed in (0, 1)]
    report = compare(*sides)
    assert report.headline is not None and report.headline.key == "ACC230.drawn" and report.status is Status.LOOK
    assert report.facts["first_divergence"] is None and report.facts["outcomes"]["drawn"] == 1
    told = {name: report.headline.args[name] for name in ("count", "behind", "before", "replayed")}
    assert told == {"count": 1, "behind": 2, "before": 1, "replayed": 2 if task == "tensor" else 0}
    assert "train.py:36" in report.verdict("en") and "dropout" in report.verdict("zh")
    steps = next_steps([report]).table
    assert steps is not None and steps.rows[0][2] == "ACC230" and "p=0" in report.headline.hint("en")


def test_numbers_drawn_alike_agree(tmp_path: Path) -> None:
    sides = [network(tmp_path / name, seed=0, task="tensor") for name in ("a", "b")]
    assert compare(*sides).headline.key == "ACC230.identical"  # type: ignore[union-attr]


@pytest.mark.parametrize("p", [0.1, 0.0])
def test_a_dropout_that_computes_wrongly_is_at_fault(tmp_path: Path, p: float) -> None:
    sick = network(tmp_path / "b", seed=1, task="tensor", p=p, scale=1.01)
    report = compare(network(tmp_path / "a", seed=0, task="tensor", p=p), sick)
    assert report.facts["first_divergence"] == "Functional.dropout.0.forward"


def call(api: str, **given: float) -> Operator:
    arguments = tuple((f"input.{name.strip('_')}", value) for name, value in given.items())
    return Operator(f"F.{api}.0.forward", f"F.{api}", 0, "forward", 0, (), (), arguments=arguments)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (call("randn"), True),
        (call("relu"), False),
        (call("dropout"), True),
        (call("dropout", p=0.0), False),
        (call("dropout", p=0.1), True),
        (call("dropout", _1=0.0), False),
        (call("dropout", training=False), False),
        (call("dropout", _2=False), False),
        (call("rrelu"), False),
        (call("rrelu", training=True), True),
        (call("rrelu", _3=True), True),
        (call("scaled_dot_product_attention"), False),
        (call("scaled_dot_product_attention", dropout_p=0.1), True),
        (call("scaled_dot_product_attention", _4=0.1), True),
    ],
)
def test_which_calls_draw(operator: Operator, expected: bool) -> None:
    assert draws_numbers(operator) is expected
