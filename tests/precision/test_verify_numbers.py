"""What one call may be off by, on calls made by hand: inputs of one side alone, composite modules, two dtypes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.verify.findings import collect_findings
from ascend_workbook.precision.verify.layers import Comparing, Layer, Tally
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
