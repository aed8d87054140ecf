"""A wrong gradient that no entry of its maker shows: named by running the maker's whole backward again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from ascend_workbook.precision.comparison import Comparison, examine_captures
from ascend_workbook.precision.divergence.nonfinite import find_takers, list_handings
from ascend_workbook.precision.layouts import read_runs
from ascend_workbook.precision.pairing import Pair, Pairing, pair_runs
from ascend_workbook.precision.record import Operator, Run, TensorRecord
from benchmarks.matrix.recorder import Recorder, Tampering
from benchmarks.matrix.replaying import in_this_process

#: Parallel products of one activation, whose backward entries are views: only gelu's entry shows what they hand back.
WEIGHTS = [torch.randn(6, 6, generator=torch.Generator().manual_seed(i)) for i in range(3)]


def network(x: torch.Tensor, takers: int, turned: bool) -> torch.Tensor:
    middle = F.gelu(F.linear(x, WEIGHTS[0]))
    given = middle.transpose(1, 2) if turned else middle
    parts = [torch.matmul(given, F.softmax(torch.matmul(given.transpose(1, 2), given), -1))]
    parts += [F.linear(middle, WEIGHTS[at]) for at in range(1, takers)]
    return torch.stack([part.square().sum() for part in parts]).sum()


def recorded(folder: Path, takers: int, turned: bool = False, fault: str = "", times: float = 1.01) -> Path:
    values = torch.randn(4, 6, 6, generator=torch.Generator().manual_seed(9)).requires_grad_()
    change = {fault: lambda outgoing, incoming: tuple(g if g is None else g * times for g in outgoing)}
    where = folder / "step0" / "rank0"
    recorder = Recorder(where, Tampering(backward=change if fault else {}))
    with recorder:
        loss = network(values, takers, turned)
    loss.backward()
    recorder.save(where)
    return folder


def examined(tmp_path: Path, **target: object) -> Comparison:
    takers, turned = int(str(target["takers"])), bool(target.get("turned"))
    baseline = recorded(tmp_path / "a", takers, turned)
    with in_this_process():
        return examine_captures(baseline, recorded(tmp_path / "b", **target))  # type: ignore[arg-type]


@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "transposed between"])
def test_the_maker_of_a_hidden_gradient_is_named(tmp_path: Path, turned: bool) -> None:
    found = examined(tmp_path, takers=1, turned=turned, fault="Torch.matmul.1")
    assert found.named == ["Torch.matmul.1.backward"] and found.first is not None
    own = found.first[1].own
    assert own is not None and own.target > 1e-3 > 1e-5 > own.baseline


def test_of_several_makers_the_one_whose_gradient_is_scaled_is_named(tmp_path: Path) -> None:
    assert examined(tmp_path, takers=3, fault="Functional.linear.2").named == ["Functional.linear.2.backward"]


def test_makers_that_cannot_be_told_apart_are_named_together(tmp_path: Path) -> None:
    found = examined(tmp_path, takers=3, fault="Functional.linear.1", times=float("nan"))
    assert "Functional.linear.1.backward" in found.named and 1 < len(found.named) <= 4


def test_a_right_gradient_names_nobody(tmp_path: Path) -> None:
    assert examined(tmp_path, takers=3).named == []


def test_only_doubtful_receivers_are_asked_for(tmp_path: Path) -> None:
    ((run,), _) = read_runs(recorded(tmp_path, 2))
    pairing = pair_runs(run, run)
    asked = list_handings(pairing, frozenset({"Functional.gelu.0.backward"}), 0.0)
    assert [order["receiver"]["target"] for order in asked] == ["Functional.gelu.0.backward"]
    names = {taker["name"]["target"] for taker in asked[0]["takers"]}
    assert names == {"Torch.matmul.0.backward", "Torch.matmul.1.backward", "Functional.linear.1.backward"}
    assert list_handings(pairing, frozenset(), 0.0) == []


def test_a_taker_without_saved_tensors_leaves_nothing_to_ask(tmp_path: Path) -> None:
    ((run,), _) = read_runs(recorded(tmp_path, 2))
    pairing = pair_runs(run, run)
    pairs = []
    for pair in pairing.pairs:
        bare = replace(pair.target, inputs=tuple(replace(record, file=None) for record in pair.target.inputs))
        pairs.append(replace(pair, target=bare) if pair.target.name == "Functional.linear.1.forward" else pair)
    assert list_handings(replace(pairing, pairs=tuple(pairs)), frozenset({"Functional.gelu.0.backward"}), 0.0) == []


def test_a_backward_that_takes_more_gradients_than_the_call_made_is_not_asked_about(tmp_path: Path) -> None:
    ((run,), _) = read_runs(recorded(tmp_path, 2))
    pairing = pair_runs(run, run)
    name = "Functional.gelu.0.backward"
    (receiver,) = (pair for pair in pairing.pairs if pair.target.name == name)
    more = replace(receiver.baseline, inputs=receiver.baseline.inputs * 2)
    pairs = tuple(replace(pair, baseline=more) if pair is receiver else pair for pair in pairing.pairs)
    assert list_handings(replace(pairing, pairs=pairs), frozenset({name}), 0.0) == []


def test_takers_are_forward_calls_of_interfaces_that_took_the_values_made_last() -> None:
    """A module's entry and a backward in between hold the same values, and neither makes nor takes them."""

    def entry(name: str, order: int, took: float | None, gave: float | None) -> Pair:
        head, call, direction = name.rsplit(".", 2)
        tensors = [
            TensorRecord(slot, "float32", (2,), norm, 0.0, 0.0, norm) for slot, norm in (("i", took), ("o", gave))
        ]
        operator = Operator(name, head, int(call), direction, order, (tensors[0],), (tensors[1],))
        return Pair(operator, operator)

    pairs = [
        entry("F.a.0.forward", 0, 1.0, 2.0),
        entry("Module.m.0.forward", 1, 2.0, 2.0),
        entry("F.a.0.backward", 2, 2.0, 2.0),
        entry("F.b.0.forward", 3, 2.0, 3.0),
        entry("F.c.0.forward", 4, None, None),
        entry("F.d.0.forward", 5, 3.0, 2.0),
        entry("F.e.0.forward", 6, 2.0, 4.0),
        entry("F.f.0.forward", 7, 9.0, 9.0),
        entry("F.f.1.forward", 8, 9.0, 8.0),
    ]
    run = Run(Path("x"), 0, 0, "tensor", "L1", tuple(pair.target for pair in pairs))
    found = find_takers(Pairing(run, run, tuple(reversed(pairs)), (), ()))
    assert {(maker[0], slot): [(taker[0], at) for taker, at in takers] for (maker, slot), takers in found.items()} == {
        ("F.a", "o"): [("F.b", "i")],
        ("F.b", "o"): [("F.d", "i")],
        ("F.d", "o"): [("F.e", "i")],
        ("F.f", "o"): [("F.f", "i")],
    }
