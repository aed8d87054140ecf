"""Tokens are counted where a batch tells that it is text, and not where integers may be features."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ascend_workbook.profiling.child.benchmark_plugin import _count_samples

NUMBERS = torch.arange(12).reshape(3, 4)


@pytest.mark.parametrize(
    ("batch", "tokens"),
    [
        ({"input_ids": NUMBERS, "labels": NUMBERS[:, 0]}, 12),
        ([NUMBERS, NUMBERS + 1], 12),
        ([NUMBERS, torch.rand(3, 1)], 0),
        ([NUMBERS, NUMBERS[:, :1]], 0),
        ([NUMBERS], 0),
        ({"features": NUMBERS}, 0),
        ([torch.rand(3, 4), torch.rand(3, 4)], 0),
    ],
)
def test_tokens_of_a_batch(batch: Any, tokens: int) -> None:
    pulled = {"samples": 0.0, "tokens": 0.0}
    _count_samples(batch, pulled)
    assert pulled == {"samples": 3, "tokens": tokens}
