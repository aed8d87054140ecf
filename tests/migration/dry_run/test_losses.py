"""Losses side by side, reasons, fallbacks."""

from __future__ import annotations

import math

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Column
from ascend_workbook.findings.sentence import show
from ascend_workbook.machine.device import Device
from ascend_workbook.migration.dry_run import _report_uncompared
from ascend_workbook.migration.dry_run.failed import REASONS, count_fallbacks, explain_message
from ascend_workbook.migration.dry_run.judge import (
    LOSS_DIGITS,
    TOLERANCE,
    LossPair,
    choose_narrowest_type,
    drifts_apart,
    find_worst_step,
    judge_worst_step,
    pair_losses,
)
from ascend_workbook.show.cells import format_cell


@pytest.mark.parametrize(
    ("baseline", "target", "error"),
    [
        (2.0, 2.0, 0.0),
        (2.0, 2.0002, 1e-4),
        (-2.0, -1.0, 0.5),
        (0.0, 0.0, 0.0),
        (0.0, 1e-9, math.inf),
        (2.0, math.nan, math.inf),
        (math.nan, math.nan, None),
        (math.inf, math.inf, None),
        (math.inf, -math.inf, math.inf),
        (None, 2.0, None),
        (2.0, None, None),
    ],
)
def test_the_error_is_relative_to_the_baseline(
    baseline: float | None, target: float | None, error: float | None
) -> None:
    found = LossPair(1, baseline, target).error
    assert found == (None if error is None else pytest.approx(error, rel=1e-9))


@pytest.mark.parametrize(
    ("baseline", "target", "outcome", "beside"),
    [
        ([math.nan] * 3, [math.nan] * 3, "MIG140.not_finite", []),
        ([1.0, math.nan], [1.0, math.nan], "MIG140.within", ["MIG140.partly_finite"]),
        ([1.0, 2.0], [1.0, math.nan], "MIG140.drift", []),
        ([None, None, 1.0], [None, None, 1.0], "MIG140.within", ["MIG140.partly_seen"]),
        ([None, None], [None, None], "MIG140.no_loss", []),
        ([1.0, 2.0], [1.0, 2.0], "MIG140.within", []),
    ],
)
def test_what_was_not_compared_is_said(
    baseline: list[float | None], target: list[float | None], outcome: str, beside: list[str]
) -> None:
    """NaN on both sides is no agreement, and a verdict on some steps says on how many."""
    pairs = pair_losses(baseline, target)
    verdict = judge_worst_step(pairs, "float32", Device("cpu", "CPU", 1))
    assert (verdict.key, [finding.key for finding in _report_uncompared(pairs)]) == (outcome, beside)
    assert (verdict.status is Status.GOOD) == (outcome == "MIG140.within")


def test_a_shorter_run_leaves_gaps_not_zeros() -> None:
    pairs = pair_losses([1.0, 2.0, 3.0], [1.0])
    assert [entry.target for entry in pairs] == [1.0, None, None]
    assert find_worst_step(pairs) == pairs[0] and find_worst_step(pair_losses([1.0], [])) is None
    assert find_worst_step(pair_losses([1.0, 2.0], [1.1, 2.0])) == LossPair(1, 1.0, 1.1)


def test_a_difference_that_grows_is_told_from_one_that_is_there_at_once() -> None:
    assert drifts_apart(pair_losses([1.0, 1.0], [1.0, 1.1]), 1e-5)
    assert not drifts_apart(pair_losses([1.0, 1.0], [1.1, 1.0]), 1e-5) and not drifts_apart(pair_losses([], []), 1e-5)


def test_the_narrowest_type_sets_the_tolerance() -> None:
    assert choose_narrowest_type([]) == "float32" and choose_narrowest_type({"float16"}) == "float16"
    assert choose_narrowest_type({"float16", "bfloat16"}) == "bfloat16"
    assert TOLERANCE["float32"] == 1e-5


def test_losses_are_shown_with_six_digits() -> None:
    column = Column("baseline_loss", digits=LOSS_DIGITS)
    shown = [format_cell(value, column, "en") for value in (2.4452991, 1234567.8, 1.23456789e-7, None)]
    assert shown == ["2.4453", "1.23457e+06", "1.23457e-07", "-"]


@pytest.mark.parametrize(("pattern", "key"), REASONS.items())
def test_every_reason_has_words(pattern: str, key: str) -> None:
    assert show({"say": key}, "en") and show({"say": key}, "zh")


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("device(): argument 'index' (position 2) must be int, not torch.device", "migration.reason.cuda_method"),
        ("Torch not compiled with CUDA enabled", "migration.reason.still_cuda"),
        ("No module named 'flash_attn'", "migration.reason.missing"),
        ("list index out of range", None),
        ("Only contiguous_format or preserve_format is supported.", "migration.reason.layout"),
        ("Expected all tensors to be on the same device, but got weight is on cpu", "migration.reason.mixed"),
        ("the NPU simulator lacks the operator aten::x", "migration.reason.simulator"),
        ("refused\n[simulated NPU] as hardware does", None),
        ('odd\n  File "/opt/simulator lacks/python/torch_npu/a.py", line 3, in to\n', None),
    ],
)
def test_known_messages_are_explained(message: str, key: str | None) -> None:
    said = explain_message(message)
    assert (said and said["say"]) == key


def test_fallback_warnings_of_both_kinds_are_counted() -> None:
    output = (
        "CAUTION: The operator 'aten::lgamma' is not currently supported on the NPU backend and will fall back to run\n"
        "Since the NPU interface does not support operator 'aten::_x.y', the operator will fall back to CPU.\n"
        * 2
        + "the operator 'aten::add' is fine\n"
    )
    assert count_fallbacks(output) == {"aten::lgamma": 2, "aten::_x.y": 2}
