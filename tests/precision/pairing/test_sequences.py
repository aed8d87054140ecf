"""Alignment against the definition of a longest common subsequence, and the reasons told for what is left."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.precision import pairing
from ascend_workbook.precision.pairing import Keys, align_keys, find_gaps, pair_runs
from ascend_workbook.precision.pairing.reasons import find_reasons
from ascend_workbook.precision.record import Module, Operator, Run, TensorRecord
from tests.precision.pairing.test_pairing import names, run_of

LETTERS = st.lists(st.sampled_from("abcd"), max_size=12)


def longest(left: Keys, right: Keys) -> int:
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(LETTERS, LETTERS)
def test_as_many_as_can_be(left: list[str], right: list[str]) -> None:
    found = align_keys(left, right)
    assert all(left[i] == right[j] for i, j in found) and len(found) == longest(left, right)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in zip(found, found[1:]))
    between = find_gaps(found, len(left), len(right))
    assert all(a < b and c < d for a, b, c, d in between)


def test_windows_lose_nothing_in_repeated_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cast before every other operator of 200 layers: more differences than are aligned at once."""
    plain = [f"op{n % 8}" for n in range(1600)]
    cast = [key for n, key in enumerate(plain) for key in ([f"to{n % 3}", key] if n % 2 else [key])]
    dropped = [key for n, key in enumerate(plain) if n % 50]
    monkeypatch.setattr(pairing, "DIFFERENCES", 10)
    assert len(align_keys(cast, plain)) == len(plain) and len(align_keys(plain, dropped)) == len(dropped)


def modules(path: str, classes: list[str]) -> Run:
    record = (TensorRecord("output.0", "float32", (4,)),)
    heads = [f"Module.{path}.{n}.{kind}" for n, kind in enumerate(classes)]
    operators = [Operator(f"{head}.forward.0", head, 0, "forward", n, record, record) for n, head in enumerate(heads)]
    grads = [
        Operator(f"{head}.parameters_grad.0", head, 0, "parameters_grad", n + len(heads), (), record)
        for n, head in enumerate(heads)
    ]
    return Run(Path("x"), 0, 0, "statistics", "L0", (*operators, *grads))


def test_renamed_modules_are_partners_and_told() -> None:
    classes = ["Linear", "GELU", "Linear", "Dropout", "LayerNorm"] * 3
    fewer = [kind for kind in classes if kind != "Dropout"]
    found = pair_runs(modules("transformer.h", fewer), modules("model.layers", classes))
    assert len(found.pairs) == 2 * len(fewer) == len(found.renamed_pairs) and not found.only_target
    assert {op.head.rpartition(".")[2] for op in found.only_baseline} == {"Dropout"}
    order = [int(one.baseline.head.split(".")[3]) for one in found.pairs[: len(fewer)]]
    assert order == [n for n, kind in enumerate(classes) if kind != "Dropout"]


def in_modules(calls: list[tuple[str, int, str]]) -> Run:
    """Linear layers by the modules that they ran in: (API, elements of the output, path)."""
    run = run_of([call[:2] for call in calls], backward=False)
    operators = [
        dataclasses.replace(op, module=Module(path, "Linear")) for op, (_, _, path) in zip(run.operators, calls)
    ]
    return dataclasses.replace(run, operators=tuple(operators))


def test_calls_of_one_module_are_partners_whatever_their_sizes() -> None:
    """Heads are divided on one side, which makes the last layer the first of its size; wrappers add to paths."""
    whole = [("mask", 1, "")] + [("linear", 16, f"block.{name}") for name in ("query", "key", "value", "out")]
    whole.append(("gather", 1, ""))
    divided = [("linear", 8, f"module.block.{name}") for name in ("query", "key", "value")]
    found = pair_runs(in_modules([*divided, ("linear", 16, "module.block.out"), ("sum", 1, "")]), in_modules(whole))
    assert [(pair.target.call, pair.baseline.call) for pair in found.pairs] == [(0, 0), (1, 1), (2, 2), (3, 3)]


CASES = [
    ("target", ["a", "to", "b"], ["a", "b"], {"to": "cast"}),
    ("target", ["a", "npu_rms_norm", "b"], ["a", "pow", "mean", "mul", "b"], {"npu_rms_norm": "fused"}),
    ("baseline", ["a", "npu_rms_norm", "b"], ["a", "pow", "mean", "b"], {"pow": "decomposed", "mean": "decomposed"}),
    ("target", ["a", "mul", "erf", "b"], ["a", "gelu", "b"], {"mul": "decomposed", "erf": "decomposed"}),
    ("baseline", ["a", "mul", "erf", "b"], ["a", "gelu", "b"], {"gelu": "fused"}),
    ("baseline", ["a", "b"], ["a", "b", "c", "d", "e", "f"], dict.fromkeys("cdef", "stopped")),
    ("target", ["a", "b", "a", "b", "c"], ["a", "b", "c"], {"a": "repeated", "b": "repeated"}),
    ("target", ["a", "x", "b"], ["a", "b"], {"x": "extra"}),
]


@pytest.mark.parametrize(("side", "target", "baseline", "expected"), CASES)
def test_the_likely_reason(side: str, target: list[str], baseline: list[str], expected: dict[str, str]) -> None:
    left, right = ([(api, 1) for api in apis] for apis in (target, baseline))
    found = pair_runs(run_of(left, backward=False), run_of(right, backward=False))
    assert {operator.api: why for operator, why in find_reasons(found, side)} == expected
    assert all(mine.split(".")[1] == other.split(".")[1] for mine, other in names(found))


def test_a_backward_that_one_side_lacks() -> None:
    left, right = run_of([("a", 1), ("b", 1)]), run_of([("a", 1), ("b", 1)], backward=False)
    assert {why for _, why in find_reasons(pair_runs(left, right), "target")} == {"backward"}


def test_what_lies_between_matches() -> None:
    assert find_gaps([(1, 2), (4, 3)], 7, 5) == [(0, 1, 0, 2), (5, 7, 4, 5)]
    assert find_gaps([], 2, 3) == [(0, 2, 0, 3)] and find_gaps([(0, 0)], 1, 4) == []


@given(LETTERS, LETTERS)
def test_windows_give_pairs_in_order(left: list[str], right: list[str]) -> None:
    """However small the windows, nothing is paired twice, and equal sequences are paired whole."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("DIFFERENCES", 0), ("WINDOW", 4), ("CERTAIN", 2)):
            patch.setattr(pairing, name, value)
        found, same = align_keys(left, right), pairing._align_windows(left, left)
    assert all(left[i] == right[j] for i, j in found) and same == [(at, at) for at in range(len(left))]
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in zip(found, found[1:]))


def test_of_several_alignments_one_is_taken_always() -> None:
    """A swap has two: the elements of the right side come first."""
    assert align_keys("abxcd", "abycd") == [(0, 0), (1, 1), (3, 3), (4, 4)]
    assert align_keys("ab", "ba") == [(1, 0)] and align_keys("aba", "bab") == [(1, 0), (2, 1)]


@pytest.mark.parametrize(("more", "why"), [(3, "extra"), (4, "stopped")])
def test_a_short_tail_is_no_stop(more: int, why: str) -> None:
    tail = [(api, 1) for api in "cdef"[:more]]
    found = pair_runs(run_of([("a", 1), ("b", 1)], backward=False), run_of([("a", 1), ("b", 1), *tail], backward=False))
    assert {reason for _, reason in find_reasons(found, "baseline")} == {why}


def test_what_a_damaged_record_lacks_is_cut() -> None:
    whole = run_of([("a", 1), ("x", 1), ("b", 1), ("c", 1)], backward=False)
    rest = dataclasses.replace(run_of([("a", 1), ("b", 1)], backward=False), cut=True)
    assert {operator.api: why for operator, why in find_reasons(pair_runs(rest, whole), "baseline")} == {
        "x": "extra",
        "c": "cut",
    }


def shaped(*calls: tuple[str, int]) -> Run:
    """Calls by their whole head, one output of so many elements each."""
    counts: dict[str, int] = {}
    operators = []
    for order, (head, size) in enumerate(calls):
        call = counts[head] = counts.get(head, -1) + 1
        record = (TensorRecord("output.0", "float32", (size,)),)
        operators.append(Operator(f"{head}.{call}.forward", head, call, "forward", order, (), record))
    return Run(Path("x"), 0, 0, "tensor", "L1", tuple(operators))


@pytest.mark.parametrize(
    ("target", "baseline", "paired"),
    [
        # an API by another path, and in place
        ([("Torch.relu", 1)], [("Tensor.relu_", 1)], [("Torch.relu.0", "Tensor.relu_.0")]),
        # a module is no API of the same name
        ([("Module.a.relu", 1)], [("Torch.relu", 1)], []),
        # the name decides before the kind, whatever the shapes
        (
            [("Torch.add", 1), ("Tensor.add", 2)],
            [("Tensor.add", 1), ("Torch.mul", 1)],
            [("Tensor.add.0", "Tensor.add.0")],
        ),
        # of two of one name that of the same shape
        ([("F.a", 1), ("F.a", 2)], [("F.a", 2), ("F.b", 3)], [("F.a.1", "F.a.0")]),
        # of two of one kind that of the same shape
        ([("F.a", 1), ("F.a", 2)], [("G.a", 2), ("F.b", 3)], [("F.a.1", "G.a.0")]),
        # and else the one of another shape
        ([("F.a", 1)], [("G.a", 2), ("F.b", 3)], [("F.a.0", "G.a.0")]),
    ],
)
def test_by_what_calls_are_paired(
    target: list[tuple[str, int]], baseline: list[tuple[str, int]], paired: list[tuple[str, str]]
) -> None:
    pairs = names(pair_runs(shaped(*target), shaped(*baseline)))
    assert pairs == [(f"{mine}.forward", f"{other}.forward") for mine, other in paired]


def test_how_many_differences_are_aligned_at_once() -> None:
    """Exactly as many as are given: what is left over on both sides is counted."""
    assert pairing._align_by_myers("axb", "ayb", 1) is None
    assert pairing._align_by_myers("axb", "ayb", 2) == [(0, 0), (2, 2)]
    assert pairing._align_by_myers("", "", 0) == [] == pairing._align_by_myers("ab", "", 2)
    assert pairing._align_by_myers("ab", "", 1) is None and pairing._align_by_myers("ab", "ab", 0) == [(0, 0), (1, 1)]


def test_each_window_begins_where_the_one_before_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of four, of which two are certain; where nothing of them matches, the next begins two on."""
    monkeypatch.setattr(pairing, "WINDOW", 4)
    monkeypatch.setattr(pairing, "CERTAIN", 2)
    assert pairing._align_windows("abcdef", "abcdef") == [(at, at) for at in range(6)]
    assert pairing._align_windows("xyabcd", "abcd") == [(4, 2), (5, 3)], "a and b stand behind what is certain"
    assert pairing._align_windows("abcd", "xyabcd") == [(2, 4), (3, 5)], "on either side"
    assert pairing._align_windows("uvwxab", "abcdef") == [], "what is certain of neither window is passed over"
    assert pairing._align_windows("abuvwx", "ab") == [(0, 0), (1, 1)]


@pytest.mark.parametrize(
    ("side", "target", "baseline", "expected"),
    [
        ("target", ["a", "to_", "b"], ["a", "b"], {"to_": "cast"}),
        # one for one is no fusion, unless the call is known for one
        ("target", ["a", "x", "b"], ["a", "y", "b"], {"x": "extra"}),
        ("target", ["a", "gelu", "b"], ["a", "y", "b"], {"gelu": "fused"}),
        ("target", ["a", "gelu", "b"], ["a", "b"], {"gelu": "extra"}),
        ("target", ["a", "x", "y", "b"], ["a", "u", "v", "w", "b"], {"x": "extra", "y": "extra"}),
        # a cast beside it counts for nothing
        ("target", ["a", "x", "b"], ["a", "to", "y", "b"], {"x": "extra"}),
        ("target", ["x", "a"], ["u", "v", "a"], {"x": "fused"}),
        # what stands in other places is no part of it
        ("target", ["a", "x", "b"], ["a", "b", "u", "v"], {"x": "extra"}),
        # a tail beside something of the other side's is no stop
        ("baseline", ["a", "b", "x"], ["a", "b", "c", "d", "e", "f"], dict.fromkeys("cdef", "decomposed")),
    ],
)
def test_reasons_at_their_limits(side: str, target: list[str], baseline: list[str], expected: dict[str, str]) -> None:
    test_the_likely_reason(side, target, baseline, expected)


def test_where_nothing_is_paired_nothing_has_stopped() -> None:
    found = pair_runs(run_of([], backward=False), run_of([(api, 1) for api in "abcde"], backward=False))
    assert {why for _, why in find_reasons(found, "baseline")} == {"extra"}


def test_of_a_record_that_was_cut_only_its_own_missing_end_is_cut() -> None:
    """What it has and the other lacks is not; nor what lies before its last call."""
    rest = dataclasses.replace(run_of([("a", 1), ("z", 1), ("b", 1), ("y", 1)], backward=False), cut=True)
    whole = run_of([("a", 1), ("b", 1)], backward=False)
    assert {why for _, why in find_reasons(pair_runs(rest, whole), "target")} == {"extra"}


def test_backward_entries_follow_the_reason_of_their_own_forward() -> None:
    """A call that one side lacks whole is not called `backward`."""
    left, right = run_of([("a", 1), ("x", 1), ("b", 1)]), run_of([("a", 1), ("b", 1)])
    reasons = {operator.name: why for operator, why in find_reasons(pair_runs(left, right), "target")}
    assert reasons == {"F.x.0.forward": "extra", "F.x.0.backward": "extra"}
