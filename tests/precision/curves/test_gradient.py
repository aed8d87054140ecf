"""The gradient norm beside the loss: a backward that is wrong while the forward agrees, and what is only noise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.precision.views.questions import DIVERGENCE, question_of
from helpers import curves

LOSSES = [2.0 / (1 + at / 20) for at in range(40)]
NORMS = [1.5 + 0.5 * (at % 3) for at in range(40)]


def log(path: Path, losses: Sequence[float], norms: Sequence[float], begin: int = 1) -> Path:
    rows = (f"{begin + at},{loss!r},{norm!r}\n" for at, (loss, norm) in enumerate(zip(losses, norms)))
    path.write_text("step,loss,grad_norm\n" + "".join(rows))
    return path


def judged(folder: Path, norms: Sequence[float], losses: Sequence[float] = LOSSES, begin: int = 1) -> list[Finding]:
    left = log(folder / "a.csv", LOSSES, NORMS, begin)
    report = curves(left, log(folder / "b.csv", losses, norms, begin))
    return [found for found in report.findings if found.rule == "ACC258"]


def test_a_backward_that_is_wrong_from_the_first_step_is_told(tmp_path: Path) -> None:
    draw = random.Random(1)
    (found,) = judged(tmp_path, [norm * draw.uniform(1.02, 1.3) for norm in NORMS])
    assert found.key == "ACC258.first" and found.args["step"] == 1 and found.status is Status.LOOK
    assert "do not part" in found.message("en") and "未出现分歧" in found.message("zh")
    assert found.place is not None and found.place.line == 2 and question_of(found) == DIVERGENCE


def test_a_norm_that_parts_before_the_loss_names_both_steps(tmp_path: Path) -> None:
    norms = [norm * (1.0 if at < 10 else 1.2 + at / 50) for at, norm in enumerate(NORMS)]
    losses = [loss * (1.0 if at < 20 else 1.1) for at, loss in enumerate(LOSSES)]
    (found,) = judged(tmp_path, norms, losses)
    assert found.args["step"] == 11 and "step 21 only" in found.message("en")


@pytest.mark.parametrize("factor", [0.125, 4.0, 65536.0])
def test_one_factor_is_told_as_such(tmp_path: Path, factor: float) -> None:
    (found,) = judged(tmp_path, [norm * factor for norm in NORMS])
    assert found.key == "ACC258.factor" and found.args["factor"] == pytest.approx(factor)


@pytest.mark.parametrize(
    "norms",
    [
        NORMS,
        [norm * (1 + 5e-3 * (-1) ** at) for at, norm in enumerate(NORMS)],  # rounding at the first step
        [norm * (1 + 0.002 * at) for at, norm in enumerate(NORMS)],  # rounding that training amplifies
        [float("inf") if at == 7 else norm for at, norm in enumerate(NORMS)],  # a step that AMP left out
    ],
)
def test_equal_norms_and_noise_are_not_told(tmp_path: Path, norms: list[float]) -> None:
    assert judged(tmp_path, norms) == []


def test_a_norm_that_parts_after_the_loss_is_its_consequence(tmp_path: Path) -> None:
    losses = [loss * (1.0 if at < 5 else 1.1) for at, loss in enumerate(LOSSES)]
    assert judged(tmp_path, [norm * (1.0 if at < 8 else 1.5) for at, norm in enumerate(NORMS)], losses) == []


def test_the_first_value_counts_only_before_an_update(tmp_path: Path) -> None:
    norms = [NORMS[0] * 1.05, *NORMS[1:]]
    assert [found.args["step"] for found in judged(tmp_path, norms, begin=1)] == [1]
    assert judged(tmp_path, norms, begin=500) == []


@pytest.mark.parametrize("at", [3, 20, 39])
@pytest.mark.parametrize("factor", [80.0, 0.0, 0.01])
def test_a_norm_that_leaps_at_one_step_alone_is_told(tmp_path: Path, at: int, factor: float) -> None:
    draw = random.Random(at)
    norms = [norm * draw.uniform(0.99, 1.01) * (factor if step == at else 1.0) for step, norm in enumerate(NORMS)]
    (found,) = judged(tmp_path, norms, begin=2)
    assert found.key == "ACC258.lone" and found.status is Status.LOOK and found.args["step"] == at + 2
    assert found.args["count"] == 1 and found.place is not None and found.place.line == at + 2
    assert question_of(found) == DIVERGENCE


def test_norms_that_both_sides_have_or_that_noise_makes_are_not_told(tmp_path: Path) -> None:
    draw = random.Random(5)
    wild = [norm * draw.lognormvariate(0, 0.02) for norm in NORMS]
    assert judged(tmp_path, wild, begin=2) == []
    leap = [norm * (80.0 if at == 20 else 1.0) for at, norm in enumerate(NORMS)]
    both = curves(log(tmp_path / "a.csv", LOSSES, leap, 2), log(tmp_path / "b.csv", LOSSES, leap, 2))
    assert not [found for found in both.findings if found.rule == "ACC258"]
    apart = [loss * (1.5 if at > 15 else 1.0) for at, loss in enumerate(LOSSES)]
    assert judged(tmp_path, leap, apart, begin=2) == [], "behind the parting of the losses norms differ"
