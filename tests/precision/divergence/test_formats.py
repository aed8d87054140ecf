"""A reduced format that no record tells of, from how far replayed calls are off: by hand, at the limits."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ascend_workbook.precision.divergence.formats import (
    _error_ratio,
    _format_of_ratios,
    find_formats,
    kind_of_api,
    possible_kinds,
)
from ascend_workbook.precision.divergence.replay import Own, Replay
from ascend_workbook.precision.pairing import Pair
from tests.precision.divergence.test_divergence import agreement

#: What HF32 allows, as a replay measures it.
MEASURED = 1e-3


def calls(
    api: str, *shares: float, overflow: bool = False, way: str = "forward"
) -> tuple[list[Pair], dict[str, Replay]]:
    """Calls of one API, each off by this share of what HF32 allows."""
    pairs, replays = [], {}
    for number, share in enumerate(shares):
        pair = agreement(f"Functional.{api}.{number}.{way}", 0.0, 0.0).pair
        if overflow:
            output = replace(pair.target.outputs[0], maximum=math.inf, minimum=0.0)
            pair = Pair(replace(pair.target, outputs=(output,)), pair.baseline)
        pairs.append(pair)
        replays[pair.target.name] = Replay((Own(share * MEASURED, 0.0, 0.0, MEASURED),))
    return pairs, replays


def found(*kinds: tuple[list[Pair], dict[str, Replay]], told: dict[str, str] | None = None) -> dict[str, str]:
    replays = {name: replay for _, part in kinds for name, replay in part.items()}
    return find_formats([pair for pairs, _ in kinds for pair in pairs], replays, told or {})


@pytest.mark.parametrize(
    ("ratios", "fewest", "form"),
    [
        ([0.5, 0.5, 0.5], 3, "hf32"),
        ([0.5, 0.5], 3, ""),
        ([0.1, 1.0, 0.1], 3, "hf32"),
        ([0.09, 0.09, 0.09], 3, ""),
        ([1.1, 1.9, 2.0], 3, "tf32"),
        ([2.1, 2.1, 2.1], 3, ""),
        ([0.5, 0.5, 0.5, 0.0], 3, "hf32"),
        ([0.5, 0.5, 0.0], 3, ""),
        ([0.15, 1.5, 1.5, 1.5], 3, "tf32"),
        ([], 0, "hf32"),
    ],
)
def test_three_in_four_calls_off_by_a_tenth_to_the_whole(ratios: list[float], fewest: int, form: str) -> None:
    """TF32 has one bit less than HF32: twice as much."""
    assert _format_of_ratios(ratios, fewest) == form


def test_a_format_is_one_kinds() -> None:
    assert found(calls("conv2d", 0.5, 0.6, 0.7)) == {"conv": "hf32"}
    assert found(calls("linear", 1.5, 1.6, 1.7)) == {"matmul": "tf32"}
    assert found(calls("gelu", 0.5, 0.6, 0.7)) == {} == found(calls("conv2d", 0.5, 0.6, 0.7, way="backward"))
    assert found(calls("conv2d", 0.5, 0.6, 0.7), told={"conv": "hf32"}) == {}
    assert [kind_of_api(api) for api in ("conv2d", "linear", "gelu")] == ["conv", "matmul", ""]


def test_a_single_call_follows_the_others_format() -> None:
    """A network's only linear layer, beside convolutions in HF32; in another format it stays a fault."""
    assert found(calls("conv2d", 0.5, 0.6, 0.7), calls("linear", 0.5)) == {"conv": "hf32", "matmul": "hf32"}
    assert found(calls("conv2d", 0.5, 0.6, 0.7), calls("linear", 1.5)) == {"conv": "hf32"}
    assert found(calls("conv2d", 0.5, 0.6, 0.7), calls("linear", 0.0, 0.0, 0.0)) == {"conv": "hf32"}
    assert found(calls("linear", 0.5)) == {}


def test_beside_an_overflow_one_call_is_enough() -> None:
    lost = calls("conv1d", 0.5, overflow=True)
    assert found(calls("conv2d", 0.5), lost) == {"conv": "hf32"} and found(calls("conv2d", 0.5)) == found(lost) == {}
    assert found(calls("conv2d", 0.5), calls("linear", 0.5, overflow=True)) == {}


def test_calls_without_a_replay_count_for_nothing() -> None:
    pairs, replays = calls("conv2d", 0.5, 0.6, 0.7)
    del replays[pairs[0].target.name]
    assert find_formats(pairs, replays, {}) == {}


@pytest.mark.parametrize(
    ("own", "ratio"),
    [
        (Own(5e-4, 0.0, 0.0, MEASURED), 0.5),
        (Own(0.0, 5e-4, 0.0, MEASURED), 0.5),
        (Own(5e-4, 0.0, 0.0, 0.0), None),
        (Own(math.inf, 0.0, 0.0, MEASURED), None),
        (Own(5e-4, 0.0, 5e-4, MEASURED), 0.0),
        (Own(32 / 2**24, 0.0, 0.0, MEASURED), 0.0),
        (Own(33 / 2**24, 0.0, 0.0, MEASURED), 33 / 2**24 / MEASURED),
    ],
)
def test_an_error_that_rounding_explains_tells_of_no_format(own: Own, ratio: float | None) -> None:
    pair = agreement("Functional.conv2d.0.forward", 0.0, 0.0).pair
    assert _error_ratio(pair, Replay((own,))) == ratio and _error_ratio(pair, Replay(())) is None
    assert _error_ratio(pair, Replay((own, Own(0.0, 0.0, 0.0, 1.0)))) == ratio, "the worst output tells"


def test_only_exact_calls_with_values_refute_a_format() -> None:
    """An error above rounding, an output of zeros, a backward and what could not be compared say nothing."""
    floor = 32 / 2**24
    exact = [agreement(f"Functional.conv2d.{call}.forward", 0.0, floor) for call in range(2)]
    assert possible_kinds(exact, {}, recorded=False) == {"matmul"}
    for weak in (
        agreement("Functional.conv2d.1.forward", 0.0, 1.01 * floor),
        agreement("Functional.conv2d.1.forward", 0.0, None),
        agreement("Functional.conv2d.1.forward", 0.0, 0.0, size_out=0.0),
        agreement("Functional.conv2d.1.backward", 0.0, 0.0),
        agreement("Functional.linear.0.forward", 0.0, 0.0),
    ):
        assert possible_kinds([exact[0], weak], {}, recorded=False) == {"conv", "matmul"}
