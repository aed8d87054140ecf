"""Calls that draw on a device are found in the source by what they are, not by how they are spelt."""

from __future__ import annotations

import pytest

from ascend_workbook.migration.dry_run.judge import find_draw_lines
from ascend_workbook.migration.reading.source import parse_text

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn, randn as 随机\n"


@pytest.mark.parametrize(
    "code",
    [
        "nn.Dropout(0.1)",
        "nn.Dropout(config.dropout)",
        "F.dropout(x, p=0.5)",
        "F.dropout(x, training=True)",
        "随机(3, device='cuda')",
        "torch.rand(3, device=x.device)",
        "torch.randn_like(x)",
        "x.normal_(0, 0.02)",
        "nn.init.xavier_uniform_(x)",
        "F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)",
        "nn.TransformerEncoderLayer(4, 2, dropout=0.1)",
    ],
)
def test_draws_are_found(code: str) -> None:
    assert list(find_draw_lines(parse_text(HEAD + code))) == [4]


@pytest.mark.parametrize(
    "code",
    [
        "nn.Dropout(0.0)",
        "nn.Dropout(p=0)",
        "F.dropout(x, 0.)",
        "随机(3).to('cuda')",
        "torch.randn(3, device='cpu')",
        "F.relu(x)",
        "nn.init.zeros_(x)",
        "F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)",
        "random.random()",
        "print('nn.Dropout(0.1)')",
    ],
)
def test_what_draws_on_the_cpu_or_not_at_all_is_left(code: str) -> None:
    assert not list(find_draw_lines(parse_text(HEAD + code)))
