"""Alignment against the definition of a longest common subsequence, and the reasons told for what is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.precision.pairing import pair, sequences
from helpers.precision.pairing.reasons import reasons
from helpers.precision.pairing.sequences import Keys, align, gaps
from helpers.precision.record import Operator, Run, TensorRecord
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
    found = align(left, right)
    assert all(left[i] == right[j] for i, j in found) and len(found) == longest(left, right)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in zip(found, found[1:]))
    between = gaps(found, len(left), len(right))
    assert all(a < b and c < d for a, b, c, d in between)


def test_windows_lose_nothing_in_repeated_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cast before every other operator of 200 layers: more differences than are aligned at once."""
    plain = [f"op{n % 8}" for n in range(1600)]
    cast = [key for n, key in enumerate(plain) for key in ([f"to{n % 3}", key] if n % 2 else [key])]
    dropped = [key for n, key in enumerate(plain) if n % 50]
    monkeypatch.setattr(sequences, "DIFFERENCES", 10)
    assert len(align(cast, plain)) == len(plain) and len(align(plain, dropped)) == len(dropped)


def modules(path: str, classes: list[str]) -> Run:
    record = (TensorRecord("output.0", "float32", (4,)),)
    heads = [f"Module.{path}.{n}.{kind}" for n, kind in enumerate(classes)]
    operators = [Operator(f"{head}.forward.0", head, 0, "forward", n, record, record) for n, head in enumerate(heads)]
    grads = [Operator(f"{head}.parameters_grad.0", head, 0, "parameters_grad", n + len(heads), (), record)
             for n, head in enumerate(heads)]  # fmt: skip
    return Run(Path("x"), 0, 0, "statistics", "L0", (*operators, *grads))


def test_renamed_modules_are_partners_and_told() -> None:
    classes = ["Linear", "GELU", "Linear", "Dropout", "LayerNorm"] * 3
    fewer = [kind for kind in classes if kind != "Dropout"]
    found = pair(modules("transformer.h", fewer), modules("model.layers", classes))
    assert len(found.pairs) == 2 * len(fewer) == len(found.renamed) and not found.only_target
    assert {op.head.rpartition(".")[2] for op in found.only_baseline} == {"Dropout"}
    order = [int(one.baseline.head.split(".")[3]) for one in found.pairs[: len(fewer)]]
    assert order == [n for n, kind in enumerate(classes) if kind != "Dropout"]


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
    found = pair(run_of(left, backward=False), run_of(right, backward=False))
    assert {operator.api: why for operator, why in reasons(found, side)} == expected
    assert all(mine.split(".")[1] == other.split(".")[1] for mine, other in names(found))


def test_a_backward_that_one_side_lacks() -> None:
    left, right = run_of([("a", 1), ("b", 1)]), run_of([("a", 1), ("b", 1)], backward=False)
    assert {why for _, why in reasons(pair(left, right), "target")} == {"backward"}
