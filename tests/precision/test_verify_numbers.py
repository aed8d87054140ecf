"""What one call may be off by, on calls made by hand: inputs of one side alone, composite modules, two dtypes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.tensors.metrics import Metrics
from ascend_workbook.precision.verify.findings import collect_findings
from ascend_workbook.precision.verify.layers import (
    NONFINITE,
    NOTHING,
    ONLY_A,
    ONLY_B,
    SHAPE,
    STRUCTURE,
    Comparing,
    Layer,
    Row,
    Tally,
    _judge_output,
    describe_odd_place,
)
from ascend_workbook.precision.verify.sides import About, Call, Taken, Tensor


def tensor(slot: str, values: Sequence[float], dtype: str = "float32") -> Tensor:
    return Tensor(slot, dtype, (len(values),), np.array(values, dtype="float32"))


def call(kind: str, inputs: Sequence[Tensor], output: Tensor, path: str = "fc") -> Call:
    return Call(path, kind, 0, 0, True, tuple(inputs), (output,))


def compare(baseline: Call, target: Call, **formats: str) -> Layer:
    (layer,) = Comparing(None, formats).compare_layers(Taken((baseline,)), Taken((target,)))
    return layer


def test_an_input_of_one_side_alone_hands_nothing_on() -> None:
    own, out = tensor("input.0", [1.0, 2.0]), tensor("output", [3.0])
    layer = compare(call("Linear", [own], out), call("Linear", [own, tensor("input.mask", [9.0])], out))
    assert layer.allowed == tolerance.rounding_floor(("float32",)) and layer.has_passed


def test_an_input_that_is_off_allows_its_amplification() -> None:
    out = tensor("output", [3.0])
    layer = compare(call("Linear", [tensor("input.0", [1.0])], out), call("Linear", [tensor("input.0", [1.5])], out))
    assert layer.allowed == tolerance.AMPLIFICATION * 0.5


def test_a_composite_model_may_use_any_reduced_format() -> None:
    own, out = tensor("input.0", [1.0, 2.0]), tensor("output", [3.0])
    for kind, allowed in (("LSTM", tolerance.reduced_floor("hf32")), ("ReLU", tolerance.rounding_floor(("float32",)))):
        layer = compare(call(kind, [own], out, ""), call(kind, [own], out, ""), conv="hf32", matmul="")
        assert layer.allowed == allowed


def test_the_dtypes_of_both_sides_are_named_in_their_order() -> None:
    layer = compare(
        call("Net", [], tensor("output", [3.0]), ""), call("Net", [], tensor("output", [3.0], "bfloat16"), "")
    )
    tally = Tally()
    tally.add_input(0, [layer], sound=True)
    sides = [About(dtype, "cpu", "Net", dtype, "cpu", False, (), {}, {}, {}, 1) for dtype in ("float32", "bfloat16")]
    (told,) = (finding for finding in collect_findings(tally, sides, 1.0) if finding.key == "ACC274.dtype")
    assert told.args == {"baseline": "float32", "target": "bfloat16", "count": 1}


FLOOR = 32 / 2**24
ANSWER = call("Net", [], tensor("output", [1.0]), "")


def side(**about: object) -> About:
    return replace(About("a", "cpu", "Net", "float32", "cpu", False, (), {}, {}, {}, 1), **about)  # type: ignore[arg-type]


def layer(path: str = "", error: float | None = 0.0, allowed: float = 1.0, order: int = 0, **more: object) -> Layer:
    return Layer(replace(ANSWER, path=path), order, ("float32",), (1,), error, allowed, **more)  # type: ignore[arg-type]


def tallied(*inputs: list[Layer], sound: bool = True) -> Tally:
    tally = Tally()
    for index, layers in enumerate(inputs):
        tally.add_input(index, layers, sound)
    return tally


def judged(tally: Tally, required: float = 1.0, *sides: About) -> list[Finding]:
    return collect_findings(tally, sides or (side(), side()), required)


def found(key: str, tally: Tally, *sides: About) -> Finding | None:
    return next((finding for finding in judged(tally, 1.0, *sides) if finding.key == key), None)


@pytest.mark.parametrize(
    ("error", "allowed", "problem", "ratio", "passed"),
    [
        (0.5, 0.25, "", 2.0, False),
        (0.25, 0.25, "", 1.0, True),
        (0.0, 0.0, "", 0.0, True),
        (1e-9, 0.0, "", math.inf, False),
        (math.inf, math.inf, NONFINITE, math.inf, False),
        (None, 1.0, SHAPE, math.inf, False),
        (None, 0.0, NOTHING, -1.0, False),
    ],
)
def test_the_ratio_of_error_and_allowed(
    error: float | None, allowed: float, problem: str, ratio: float, passed: bool
) -> None:
    one = layer(error=error, allowed=allowed, problem=problem)
    assert (one.ratio, one.has_passed) == (ratio, passed)


def test_a_row_keeps_the_worst_of_all_inputs() -> None:
    layers = [
        layer(error=0.5, max_absolute=1.0, cosine=0.9, ulp=3, nans=2),
        layer(error=2.0, max_absolute=0.5, cosine=0.5, ulp=7, truth=(5.0, 1.0)),
        layer(error=2.0, truth=(1.0, 4.0)),
        layer(error=1.0, nans=1, truth=(9.0, 1.0)),
        layer(error=None, problem=NOTHING),
    ]
    row = tallied(*([one] for one in layers)).rows["", 0]
    assert (row.seen, row.passed, row.worst, row.layer.error) == (4, 2, 1, 2.0)
    assert (row.max_absolute, row.cosine, row.ulp, row.nans) == (1.0, 0.5, 7, 2)
    assert row.sides == [1, 0], "of inputs that fail, and by more than four times"


def test_which_inputs_pass() -> None:
    """Those on which the model's own answer was compared, and everything that was compared passed."""
    good, bad, off = layer(), layer("fc", 2.0), layer("only", None, problem=ONLY_B)
    tally = tallied([good], [good, off], [good, bad], [layer("fc")], [layer(error=None, problem=NOTHING)])
    assert (tally.inputs, tally.passed, tally.failed, tally.blind) == (5, 2, [2, 3, 4], [4])
    assert tallied([good], sound=False).failed == [0]
    assert tallied([layer("fc", None, problem=NOTHING), good]).blind == []
    many = tallied(*([bad] for _ in range(102)))
    assert len(many.failed) == 100 and many.inputs == 102
    assert [row.layer.call.path for row in tally.compared_rows] == ["", "fc"]


def test_the_first_and_the_worst_module() -> None:
    rows = [layer("late", 9.0, order=5), layer("early", 2.0, order=1), layer("fine", 0.5, order=0), layer(order=6)]
    tally = tallied(rows)
    assert tally.worst is not None and tally.worst.layer.call.path == "late"
    assert tally.first is not None and tally.first.layer.call.path == "early"
    assert tallied().worst is None and tallied([layer()]).first is None
    assert Row(layer(problem=ONLY_A), 0).is_uncompared and not Row(layer(problem=SHAPE), 0).is_uncompared


@pytest.mark.parametrize(
    ("dtype", "unequal", "size", "allowed", "tips", "expected"),
    [
        ("float32", 1, 2, 0.25, False, (0.5, 0.25)),
        ("int64", 1, 4, 0.0, True, (0.25, 0.0)),
        ("int64", 1, 4, 1e-4, False, (0.25, 0.25)),  # one of four may tip over
        ("int64", 1, 100, 1e-4, False, (0.01, 0.1)),  # ten times the root of what is allowed
        ("int64", 1, 1, 1e-6, False, (1.0, 0.01)),  # a single one only where there was rounding before
        ("int64", 1, 1, 1e-6, True, (1.0, 1.0)),
    ],
)
def test_what_may_tip_over(
    dtype: str, unequal: int, size: int, allowed: float, tips: bool, expected: tuple[float, float]
) -> None:
    metrics = Metrics(1.0, 0.5, None, unequal, size, 0)
    assert _judge_output(tensor("o", [1.0], dtype), metrics, allowed, tips) == pytest.approx(expected)
    assert _judge_output(tensor("o", [1.0], dtype), replace(metrics, nonfinite_places=1), 0.5, tips) == (math.inf, 0.5)


def test_where_a_nan_stands_on_one_side_only() -> None:
    left = Tensor("output", "float32", (2, 2), np.array([1.0, np.nan, 3.0, np.nan]))
    right = Tensor("output", "float32", (2, 2), np.array([1.0, np.nan, np.inf, 4.0]))
    assert describe_odd_place(left, right) == "2 / 4: output[1, 0] inf / 3.0"
    scalar = [Tensor("output", "float32", (), np.array([value])) for value in (np.nan, 1.0)]
    assert describe_odd_place(*scalar) == "1 / 1: output[] 1.0 / nan"


def test_the_models_own_answer_grows_like_a_walk() -> None:
    """Ten roundings times the root of the calls before it, whatever its modules were allowed."""
    own, off, out = tensor("input.0", [1.0]), tensor("input.0", [2.0]), tensor("output", [3.0])
    calls = [[call("Linear", [values], out, f"fc{n}") for n in range(3)] for values in (own, off)]
    sides = [Taken((*part, replace(call("Net", [], out, ""), inside=3, known=False))) for part in calls]
    *modules, model = Comparing(None, {}).compare_layers(sides[0], sides[1])
    assert [one.allowed for one in modules] == [10.0] * 3, "ten times the input's error"
    assert model.allowed == 10 * FLOOR, "nothing inside is off: ten roundings of its own"
    odd = [call("Linear", [], tensor("output", [value]), "fc") for value in (3.0, 6.0)]
    sides = [Taken((one, replace(call("Net", [], out, ""), inside=1, known=False))) for one in odd]
    assert Comparing(None, {}).compare_layers(*sides)[1].allowed == pytest.approx(10 * FLOOR * math.sqrt(2))
    assert Comparing(0.25, {}).compare_layers(*sides)[1].allowed == 0.25


def test_what_one_side_alone_called_stands_in_its_place() -> None:
    out = tensor("output", [1.0])
    calls = {name: call("Linear", [], out, name) for name in "abc"}
    layers = Comparing(None, {}).compare_layers(Taken((calls["a"], calls["b"])), Taken((calls["c"], calls["b"])))
    told = [(one.call.path, one.order, one.problem) for one in layers]
    assert told == [("c", 0, ONLY_B), ("b", 1, ""), ("a", 2, ONLY_A)]


def test_structure_is_told_before_shape_before_numbers() -> None:
    out, more = tensor("output", [1.0]), tensor("more", [1.0])
    twice = replace(ANSWER, outputs=(out, more))
    assert (
        compare(ANSWER, twice).problem == STRUCTURE
        and compare(ANSWER, twice).detail == "['output'] / ['output', 'more']"
    )
    wide = replace(ANSWER, outputs=(tensor("output", [1.0, 2.0]),))
    assert (compare(ANSWER, wide).problem, compare(ANSWER, wide).detail) == (SHAPE, "output [1] / [2]")
    silent = replace(ANSWER, outputs=())
    assert compare(silent, silent).problem == NOTHING


def test_the_numbers_are_those_of_the_worst_output() -> None:
    first, worst = tensor("a", [1.0, 1.0]), tensor("b", [1.0])
    target = replace(ANSWER, outputs=(tensor("a", [1.0, -1.0]), tensor("b", [9.0])))
    one = compare(replace(ANSWER, outputs=(first, worst)), target)
    assert (one.error, one.shape, one.max_absolute, one.cosine) == (8.0, (1,), 8.0, 0.0)
    assert one.ulp == 2 * 0x3F800000 and one.problem == ""
    half = [
        replace(ANSWER, outputs=(tensor("a", [value], dtype),)) for value, dtype in ((1.0, "float16"), (2.0, "float32"))
    ]
    assert compare(*half).ulp is None and compare(*half).dtypes == ("float16", "float32")


def test_against_float64_both_sides_own_errors() -> None:
    """Where both lose digits four times the better one's is allowed."""
    calls = [replace(ANSWER, outputs=(tensor("output", [value]),)) for value in (1.5, 3.0, 1.0)]
    baseline, target, exact = (Taken((one,)) for one in calls)
    (one,) = Comparing(None, {}).compare_layers(baseline, target, exact)
    assert one.truth == (0.5, 2.0) and (one.error, one.allowed, one.has_passed) == (1.0, 2.0, True)
    assert Comparing(0.125, {}).compare_layers(baseline, target, exact)[0].allowed == 0.125
    other = Taken((replace(ANSWER, outputs=(tensor("output", [1.0, 1.0]),)),))
    assert Comparing(None, {}).compare_layers(baseline, target, other)[0].truth is None


@pytest.mark.parametrize(
    ("inputs", "required", "key", "status"),
    [
        ([[layer()]], 1.0, "identical", Status.GOOD),
        ([[layer(error=0.5)]], 1.0, "passed", Status.GOOD),
        ([[layer(nans=1)]], 1.0, "passed", Status.LOOK),  # NaN on both sides is told beside it
        ([[layer(error=2.0)], [layer()]], 1.0, "apart", Status.FIX),
        ([[layer(error=2.0)], [layer()]], 0.5, "apart", Status.LOOK),
        ([[layer(error=2.0)], [layer()]], 0.51, "apart", Status.FIX),
        ([[layer(error=2.0)]], 0.0, "apart", Status.FIX),
        ([[layer("fc")]], 1.0, "raised", Status.FIX),
        ([[layer("fc")], [layer()]], 0.5, "raised", Status.LOOK),
        ([], 1.0, "nothing", Status.FIX),
        ([[layer(error=None, problem=SHAPE)]], 1.0, "shape", Status.FIX),
        ([[layer(error=math.inf, problem=NONFINITE)]], 1.0, "nonfinite", Status.FIX),
        ([[layer(error=None, problem=STRUCTURE)]], 1.0, "structure", Status.FIX),
    ],
)
def test_the_verdict(inputs: list[list[Layer]], required: float, key: str, status: Status) -> None:
    verdict = judged(tallied(*inputs), required)[0]
    assert (verdict.key, verdict.status) == (f"ACC270.{key}", status)


def test_the_verdict_names_first_and_worst() -> None:
    rows = [layer("late", 9.0, order=5), layer("early", 2.0, order=1), layer(order=6)]
    verdict = judged(tallied([layer()], rows), 0.5)[0]
    told = {name: verdict.args[name] for name in ("passed", "inputs", "rate", "first", "layer", "input", "error")}
    assert told == {"passed": 1, "inputs": 2, "rate": 0.5, "first": "early", "layer": "late", "input": 1, "error": 9.0}
    shaped = [layer("late", 9.0, order=5), layer("early", None, order=1, problem=SHAPE)]
    assert judged(tallied(shaped))[0].args["layer"] == "early", "another structure before numbers"


def test_a_cause_that_is_told_is_the_verdict() -> None:
    """An error that one side raised is one failure, not two; other modes explain any difference."""
    tally = tallied([layer("fc")])
    tally.errors = [(0, "target", "", "boom"), (1, "target", "fc", "boom"), (1, "baseline", "fc", "bang")]
    first, *rest = judged(tally)
    assert first.status is Status.NOTE
    assert [(one.args["count"], one.args["input"], one.args["layer"]) for one in rest] == [
        (1, 1, "fc"),
        (2, 0, "(model)"),
    ]
    apart = tallied([layer(error=2.0)])
    apart.errors = tally.errors
    assert judged(apart)[0].status is Status.FIX
    assert judged(tallied([layer(error=2.0)]), 1.0, side(), side(training=True))[0].status is Status.NOTE


def test_what_is_told_beside_the_verdict() -> None:
    names = [
        layer(name, None, problem=problem)
        for problem in (ONLY_A, ONLY_B)
        for name in "pqrst"[: 5 if problem == ONLY_A else 1]
    ]
    tally = tallied([layer(), *names[:5], replace(names[5], call=replace(ANSWER, path="z"))])
    (left, right) = (one for one in judged(tally) if one.key == "ACC273.only")
    assert (left.args["count"], left.args["names"]) == (5, [f"{name} (Net)" for name in "pqrs"])
    assert (right.args["count"], right.args["names"]) == (1, ["z (Net)"])
    tally.other, tally.drew = [3, 4, 5, 6, 7], [8, 9]
    inputs, drew = found("ACC272.inputs", tally), found("ACC276.drew", tally)
    assert inputs and inputs.args == {"count": 5, "names": [3, 4, 5, 6]}
    assert drew and drew.args == {"count": 2, "input": 8} and drew.status is Status.NOTE
    streams = found("ACC276.streams", tally, side(device="npu:0"), side(device="cpu"))
    assert streams and streams.status is Status.LOOK
    assert found("ACC276.drew", tally, side(device="npu:0"), side(device="npu:1"))
    tally.no_reference, tally.casts = "no copy", {("target", "float16")}
    assert found("ACC277.failed", tally) and found("ACC274.cast", tally)


def test_nothing_to_see_is_told_of_modules_and_fails_of_models() -> None:
    silent = [layer("fc", None, problem=NOTHING), layer(error=None, problem=NOTHING)]
    tally = tallied([layer()], silent)
    blind, nothing = found("ACC273.blind", tally), found("ACC273.nothing", tally)
    assert blind and blind.args == {"count": 1, "input": 1} and nothing and nothing.args["names"] == ["fc (Net)"]
    assert nothing.args["count"] == 1 and not found("ACC273.nothing", tallied(silent[1:]))
    nans = found("ACC273.nan", tallied([layer("b", nans=2, order=3), layer("a", nans=5, order=1), layer()]))
    assert nans and nans.args == {"count": 2, "layer": "a", "places": 5, "names": ["a", "b"]}


def test_weights_settings_and_modes_that_differ() -> None:
    left = side(weights={"a": "1", "b": "2", "c": "3"}, settings={"": "eps=1", "d": "p=0"}, mode_matters=("", "d"))
    right = side(weights={"a": "9", "b": "2", "z": "4"}, settings={"": "eps=2", "x": "p=0"}, mode_matters=("d",))
    tally = tallied([layer()])
    weights, settings = found("ACC275.weights", tally, left, right), found("ACC278.settings", tally, left, right)
    assert weights and weights.args == {"count": 1, "all": 3, "names": ["a"]}
    assert settings and settings.args == {"count": 1, "names": ["(model): eps=1 / eps=2"]}
    training = found("ACC276.training", tally, left, right)
    assert training and training.args == {"count": 2, "names": ["(model)", "d"]}
    assert found("ACC275.unknown", tally, left, replace(right, dtype="float16"))
    assert not found("ACC275.weights", tally, left, left) and not found("ACC278.settings", tally, left, left)


@pytest.mark.parametrize(
    ("truth", "key"),
    [((4.0, 1.0), "neither"), ((4.1, 1.0), "side"), ((1.0, 4.0), "neither"), ((1.0, 4.1), "side")],
)
def test_who_is_further_from_the_truth(truth: tuple[float, float], key: str) -> None:
    told = found(f"ACC277.{key}", tallied([layer(error=2.0, truth=truth)]))
    assert told and (told.args["baseline"], told.args["target"], told.args["input"]) == (*truth, 0)
    if key == "side":
        assert told.args["side"] == {"say": f"verify.side_{'baseline' if truth[0] > truth[1] else 'target'}"}
    assert not found(f"ACC277.{key}", tallied([layer(error=0.5, truth=truth)]))


def test_the_gravest_of_the_causes_stands_first() -> None:
    """By weight: other inputs, other modes, what is raised or NaN, the pass rate, and what is only to be known."""
    tally = tallied([layer("fc", None, problem=ONLY_A), layer("b", None, problem=NOTHING), layer("c", nans=2), layer()])
    tally.errors.append((0, "target", "fc", "boom"))
    tally.other.append(0)
    sides = side(weights={"w": "1"}, settings={"": "A"}), side(training=True, weights={"w": "2"}, settings={"": "B"})
    weights = {finding.key: finding.weight for finding in judged(tally, 1.0, *sides)}
    assert weights == {
        "ACC270.passed": 300,
        "ACC271.raised": 310,
        "ACC272.inputs": 400,
        "ACC273.only": 100,
        "ACC273.nothing": 90,
        "ACC273.nan": 310,
        "ACC275.weights": 150,
        "ACC278.settings": 160,
        "ACC276.modes": 350,
    }
