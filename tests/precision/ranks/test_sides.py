"""Samples of several ranks against those of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_workbook.precision.capturing.manifest import Manifest
from ascend_workbook.precision.ranks.sides import REGROUPED, _merge_batches


def about(*ranks: tuple[str, str]) -> Manifest:
    """Of each rank the samples of its first small batch and those of the further ones."""
    sides: dict[str, Any] = {}
    for rank, (first, further) in enumerate(ranks):
        batches = {"0": [{"samples": [*first], "numbers": [1.0]}]}
        sides[f"rank{rank}"] = {"experiment": {"batches": batches, "further_samples": {"0": [*further]}}}
    return Manifest(Path(), True, {}, {}, sides)


def judge(left: Manifest, right: Manifest) -> list[str]:
    sides: list[dict[str, Any]] = [{"experiment": {}}, {"experiment": {}}]
    return [key for _, key, _ in _merge_batches(left, right, sides)]


def test_small_batches_may_be_divided_otherwise() -> None:
    whole = about(("abcd", "efgh"))
    assert judge(whole, about(("ab", "cd"), ("ef", "gh"))) == [REGROUPED]
    assert judge(whole, about(("ab", "ef"), ("cd", "gh"))) == []
    assert judge(whole, about(("ab", "cd"), ("ef", "gx"))) == ["other"]
    assert judge(about(("abcd", "")), about(("ab", ""), ("ab", ""))) == ["repeated"]
    assert judge(about(("abcd", "efgh")), about(("abcd", "efgh"), ("abcd", "efgh"))) == []
