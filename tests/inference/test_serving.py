"""Requests that a card's memory holds: numbers computed by hand, and what cannot be. 3 s."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.inference.serving import serving

GIB = 1 << 30
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return str(tmp_path / "config.json")


def test_the_cache_and_the_weights_are_the_formula(config: str) -> None:
    facts = serving(config, memory="60GiB", length=2048).facts
    assert facts["token_bytes"] == 2 * 32 * 8 * 128 * 2, "key and value, layers, heads, width, two bytes"
    tables = 2 * 4096 * 128256
    inner = 32 * (4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 14336 + 2 * 4096) + 4096
    assert facts["weight_bytes"] == 2 * (tables + inner)
    least = (60 * GIB - 1.8 * GIB - facts["weight_bytes"]) * 0.8 / facts["token_bytes"] / 2048
    most = (60 * GIB - 0.55 * GIB - facts["weight_bytes"]) / facts["token_bytes"] / 2048
    assert facts["requests"] == [int(least), int(most)]


def test_eight_bits_and_more_cards_hold_more(config: str) -> None:
    plain, narrow = serving(config).facts, serving(config, weights="8", kv="8").facts
    assert narrow["token_bytes"] == 2 * 32 * 8 * 128 + 32 * 2 * 8 * 4, "and a scale a vector"
    assert plain["weight_bytes"] / 2 < narrow["weight_bytes"] < plain["weight_bytes"] * 0.6, "tables keep 16 bits"
    spread = serving(config, tp=4).facts
    assert spread["token_bytes"] == plain["token_bytes"] / 4 and spread["requests"][0] > 4 * plain["requests"][0]
    assert serving(config, tp=16).facts["token_bytes"] == plain["token_bytes"] / 8, "a card keeps one head at least"


def test_the_verdict_follows_the_interval(config: str) -> None:
    least, most = serving(config).facts["requests"]
    words = {least: "fits", most: "unsure", most + 1: "too_many"}
    for batch, word in words.items():
        report = serving(config, batch=batch)
        assert report.headline and report.headline.key == f"INF630.{word}" and report.estimated
    small = serving(config, memory="16GiB")
    assert small.status is Status.FIX and small.headline and small.headline.key == "INF630.none"


def test_what_cannot_be_is_told(config: str) -> None:
    for options, said in (
        ({"tp": 3}, "3 cards do not divide 32"),
        ({"length": 9000}, "longer than the model's 8192"),
        ({"length": 0}, "must be positive"),
    ):
        with pytest.raises(WorkbookError) as raised:
            serving(config, **options)  # type: ignore[arg-type]
        assert said in raised.value.message("en")


def test_cards_that_key_value_heads_are_not_spread_over_are_refused(tmp_path: Path) -> None:
    uneven = {**CONFIG, "num_attention_heads": 40, "num_key_value_heads": 10, "hidden_size": 5120}
    (tmp_path / "config.json").write_text(json.dumps(uneven), encoding="utf-8")
    for cards in (4, 8):
        with pytest.raises(WorkbookError, match="10 key-value heads"):
            serving(str(tmp_path / "config.json"), length=128, tp=cards)
    assert serving(str(tmp_path / "config.json"), length=128, tp=5).facts["token_bytes"] == 2 * 32 * 2 * 128 * 2
