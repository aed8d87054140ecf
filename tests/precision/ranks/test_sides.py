"""Samples of several ranks against those of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_workbook.precision.capturing.manifest import Manifest
from ascend_workbook.precision.ranks.sides import REGROUPED, _are_stages, _merge_batches
from tests.precision.ranks.states import pack, record


def about(*ranks: tuple[str, str]) -> Manifest:
    """Of each rank the samples of its first small batch and those of the further ones."""
    sides: dict[str, Any] = {}
    for rank, (first, further) in enumerate(ranks):
        batches = {"0": [{"samples": [*first], "numbers": [1.0]}]}
        sides[f"rank{rank}"] = {"experiment": {"batches": batches, "further_samples": {"0": [*further]}}}
    return Manifest(Path(), True, {}, {}, sides)


def judge(left: Manifest, right: Manifest, staged: bool = False) -> list[str]:
    sides: list[dict[str, Any]] = [{"experiment": {}}, {"experiment": {}}]
    return [key for _, key, _ in _merge_batches(left, right, sides, staged)]


def test_small_batches_may_be_divided_otherwise() -> None:
    whole = about(("abcd", "efgh"))
    assert judge(whole, about(("ab", "cd"), ("ef", "gh"))) == [REGROUPED]
    assert judge(whole, about(("ab", "ef"), ("cd", "gh"))) == []
    assert judge(whole, about(("ab", "cd"), ("ef", "gx"))) == ["other"]
    assert judge(about(("abcd", "")), about(("ab", ""), ("ab", ""))) == ["repeated"]
    assert judge(about(("abcd", "efgh")), about(("abcd", "efgh"), ("abcd", "efgh"))) == []


def test_a_later_stage_is_given_no_samples() -> None:
    whole, stages = about(("abcd", "")), about(("abcd", ""), ("wxyz", ""))
    assert judge(whole, stages, staged=True) == []
    assert judge(whole, stages) == ["other"]
    assert judge(whole, about(("abcx", ""), ("wxyz", "")), staged=True) == ["other"]


def test_stages_have_other_parameters_and_owners_of_updates_have_not() -> None:
    stages = record([{"a.w": pack([1.0, 2.0])}, {"b.w": pack([3.0, 4.0])}])
    assert _are_stages(stages)
    for rank, other in ((0, "b.w"), (1, "a.w")):
        stages.ranks[rank][0].raw["other_weight"] = {other: pack([3.0, 4.0])}
        stages.ranks[rank][0].__dict__.pop("other_weights", None)
    assert not _are_stages(stages)
    assert not _are_stages(record([{"a.w": pack([1.0, 2.0])}]))
