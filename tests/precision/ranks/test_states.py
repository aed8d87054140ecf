"""Steps of several ranks merged to whole tensors."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_workbook.precision.ranks.copies import check_copies
from ascend_workbook.precision.ranks.states import merge_states
from tests.precision.ranks.records import call, write_ranks
from tests.precision.ranks.states import pack, part, record

WHOLE = np.random.default_rng(3).normal(size=(6, 4))
BIAS = np.zeros(4)


def test_copies_stay_and_pieces_are_added_up_at_their_places() -> None:
    ranks = []
    for rank in (0, 1):
        piece = WHOLE[:, 2 * rank : 2 * rank + 2]
        possible = [part("0.0.1", (12, 2), (6 * rank, 0), piece), part("0.1.1", (6, 4), (0, 2 * rank), piece)]
        ranks.append({"w": pack(piece, possible), "b": pack(BIAS)})
    left, right = merge_states(record([{"w": pack(WHOLE), "b": pack(BIAS)}]), record(ranks), (False, False))
    assert right.how == {"w": "0.1.1", "b": "copy"}
    tensors = [merged.states.ranks[0][0].updates[0].weights["w"] for merged in (left, right)]
    assert tensors[0].shape == tensors[1].shape
    assert tensors[0].distance(tensors[1]) < 1e-6
    assert np.allclose(tensors[0].sample, tensors[1].sample, atol=1e-6)
    assert tensors[1].norm == pytest.approx(np.linalg.norm(WHOLE))
    assert not right.copies
    assert right.holders["w"] == [(0, [6, 2], [0, 0]), (1, [6, 2], [0, 2])]


def test_query_key_and_value_in_one_weight_are_put_in_their_places() -> None:
    ranks = []
    for rank in (0, 1):
        piece = WHOLE.reshape(3, 2, 4)[:, rank]
        possible = [
            part("0.0.1", (6, 4), (3 * rank, 0), piece),
            part("0.0.3", (6, 4), (3, rank, 2), piece.reshape(3, 4)),
        ]
        ranks.append({"w": pack(piece, [possible[1]])})
    left, right = merge_states(record([{"w": pack(WHOLE)}]), record(ranks), (False, False))
    tensors = [merged.states.ranks[0][0].updates[0].weights["w"] for merged in (left, right)]
    assert tensors[0].distance(tensors[1]) < 1e-6


def test_a_shape_that_no_arrangement_gives_is_not_compared() -> None:
    ranks = [{"w": pack(WHOLE[:, :1])}, {"w": pack(WHOLE[:, 1:2])}]
    _, right = merge_states(record([{"w": pack(WHOLE)}]), record(ranks), (False, False))
    assert right.unmerged == {"w": "shape"}
    assert right.states.ranks[0][0].updates[0].weights == {}


def test_copies_that_differ_are_told_with_stage_and_rank() -> None:
    same = [{"w": pack(WHOLE)}, {"w": pack(WHOLE)}]
    other = [{"w": pack(WHOLE)}, {"w": pack(WHOLE * 1.5)}]
    _, right = merge_states(record([{"w": pack(WHOLE)}]), record(same, other), (False, True))
    assert ("gradient", "w", (1,)) in [(stage, name, ranks) for _, stage, name, ranks in right.copies]
    assert "weight" not in [stage for _, stage, _, _ in right.copies]
    mean = right.states.ranks[0][0].gradients["w"]
    assert mean.norm == pytest.approx(np.linalg.norm(right.states.ranks[0][0].gradients["w"].sketch))
    assert np.allclose(mean.sample, (WHOLE * 1.25).reshape(-1)[: len(mean.sample)], atol=1e-6)


def test_experts_get_the_numbers_that_they_have_in_the_whole() -> None:
    whole = record([{f"moe.experts.{number}.w": pack(WHOLE + number) for number in range(4)}])
    ranks = [{f"moe.experts.{at}.w": pack(WHOLE + at + 2 * rank) for at in range(2)} for rank in (0, 1)]
    left, right = merge_states(whole, record(ranks), (False, False))
    tensors = [merged.states.ranks[0][0].updates[0].weights for merged in (left, right)]
    assert sorted(tensors[1]) == sorted(tensors[0])
    assert all(tensors[0][name].distance(tensors[1][name]) < 1e-6 for name in tensors[0])
    assert right.divided == {"moe"}


@pytest.mark.parametrize(
    "weights, gradients, kind",
    [
        ((WHOLE, WHOLE), (WHOLE, WHOLE), None),
        ((WHOLE, WHOLE * 2), (WHOLE, WHOLE), "copies_weight"),
        ((WHOLE, WHOLE), (WHOLE, WHOLE * 2), "copies_gradient"),
    ],
)
def test_one_run_alone_tells_its_copies_by_what_it_reduces(
    tmp_path: object, weights: tuple[object, ...], gradients: tuple[object, ...], kind: str | None
) -> None:
    states = record([{"w": pack(w)} for w in weights], [{"w": pack(g)} for g in gradients])
    reduced = [[call("all_reduce", [WHOLE], [WHOLE], reduce="sum", names=("w.grad",))] for _ in weights]
    faults = list(check_copies(write_ranks(tmp_path, reduced), states))  # type: ignore[arg-type]
    assert [(fault.kind, fault.ranks, fault.names) for fault in faults] == ([(kind, (1,), ("w",))] if kind else [])
    assert not list(check_copies(write_ranks(tmp_path, [[], []]), states))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["weight", "gradient"])
def test_what_is_alike_on_the_other_run_is_a_copy(kind: str) -> None:
    alike, parted = [{"w": pack(WHOLE)}, {"w": pack(WHOLE)}], [{"w": pack(WHOLE)}, {"w": pack(WHOLE * 1.01)}]
    other = record(alike)
    states = record(parted, alike) if kind == "weight" else record(alike, parted)
    faults = list(check_copies({}, states, other))
    assert [(fault.kind, fault.ranks, fault.names) for fault in faults] == [(f"copies_{kind}", (1,), ("w",))]
    assert not list(check_copies({}, states))
    assert not list(check_copies({}, states, states))
    near = record([{"w": pack(WHOLE)}, {"w": pack(WHOLE * (1 + 1e-5))}])
    assert not list(check_copies({}, near, other))
    assert not list(check_copies({}, states, record([{"w": pack(WHOLE)}])))


def test_shards_that_two_ranks_hold_with_other_data_are_averaged() -> None:
    ranks = []
    for rank in range(4):
        piece = WHOLE[3 * (rank % 2) : 3 * (rank % 2) + 3]
        ranks.append((piece, piece * (1.5 if rank < 2 else 0.5)))
    packs = [
        [{"w": pack(value, [part("0.0.1", (6, 4), (3 * (rank % 2), 0), value)])} for value in values]
        for rank, values in enumerate(ranks)
    ]
    states = record([weight for weight, _ in packs])
    for rank, (_, gradient) in enumerate(packs):
        states.ranks[rank][0].raw["gradients"] = [gradient]
    left, right = merge_states(record([{"w": pack(WHOLE)}]), states, (False, True))
    tensors = [merged.states.ranks[0][0].gradients["w"] for merged in (left, right)]
    assert tensors[0].distance(tensors[1]) < 1e-6
    assert tensors[1].norm == pytest.approx(np.linalg.norm(right.states.ranks[0][0].gradients["w"].sketch))
    assert not right.copies
