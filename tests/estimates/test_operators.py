"""Operators become CANN kernels, as real profiles show them."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.estimates.loads import Kernel, measure_kernel
from ascend_workbook.estimates.operators import KERNEL, TABLE, Operand, kernels_of, read_table

DATA = Path(__file__).with_name("alexnet_operators.json")


def types(*kernels: Kernel) -> list[str]:
    return [kernel.type for kernel in kernels]


def floats(*shapes: tuple[int, ...], dtype: str = "FLOAT") -> list[Operand]:
    return [Operand(shape, dtype) for shape in shapes]


IMAGE, WEIGHT, BIAS, RESULT = (32, 256, 13, 13), (384, 256, 3, 3), (384,), (32, 384, 13, 13)


def test_a_convolution_converts_layouts_around_it() -> None:
    kernels = kernels_of("aten::convolution", floats(IMAGE, WEIGHT, BIAS), floats(RESULT))
    assert types(*kernels) == ["TransData", "TransData", "Conv2D", "TransData"]
    assert measure_kernel(kernels[2]).operations == 2 * 32 * 13 * 13 * 384 * 256 * 9
    assert [kernel.outputs[0] for kernel in kernels] == [IMAGE, WEIGHT, RESULT, RESULT]


def test_the_backward_of_a_convolution_has_three_parts() -> None:
    given = floats(RESULT, IMAGE, WEIGHT)
    whole = Counter(types(*kernels_of("aten::convolution_backward", given, floats(IMAGE, WEIGHT, BIAS))))
    assert whole == {
        "TransData": 6,
        "Conv2DBackpropInput": 1,
        "Conv2DBackpropFilter": 1,
        "MemSet": 1,
        "ReduceSum": 1,
        "TensorMove": 1,
    }
    first = kernels_of("aten::convolution_backward", given, [Operand((), "N/A"), *floats(WEIGHT, BIAS)])
    assert Counter(types(*first))["TransData"] == 3 and "Conv2DBackpropInput" not in types(*first)
    assert {measure_kernel(kernel).operations for kernel in first if "Backprop" in kernel.type} == {
        2 * 32 * 13 * 13 * 384 * 256 * 9
    }


@pytest.mark.parametrize(
    "target, source, kinds",
    [
        (Operand((1024, 1024), "FLOAT"), Operand((1024, 1024), "DT_BF16"), ["Cast"]),
        (Operand((1024, 1024), "FLOAT"), Operand((1024, 1024), "FLOAT"), ["TensorMove"]),
        (Operand((64, 3, 11, 11), "FLOAT"), Operand((64, 3, 11, 11), "FLOAT"), []),
    ],
    ids=["cast", "large", "small"],
)
def test_a_copy_is_a_cast_a_move_or_none(target: Operand, source: Operand, kinds: list[str]) -> None:
    kernels = kernels_of("aten::copy_", [target, source], [target])
    assert types(*kernels) == kinds
    assert all(measure_kernel(kernel).bytes == 2**20 * (4 + (2 if kinds == ["Cast"] else 4)) for kernel in kernels)


def test_products_by_type_and_size() -> None:
    half = floats((512, 512), (512, 512), dtype="DT_BF16")
    assert types(*kernels_of("aten::mm", half, half[:1])) == ["MatMulV3"]
    small, large = floats((32, 4096), (4096, 4096)), floats((4096, 32), (32, 9216))
    assert types(*kernels_of("aten::mm", small, floats((32, 4096)))) == ["MemSet", "MatMulV2"]
    assert types(*kernels_of("aten::mm", large, floats((4096, 9216)))) == ["MatMulV3"]
    biased = kernels_of("aten::addmm", floats((1000,), (32, 4096), (4096, 1000)), floats((32, 1000)))
    product = measure_kernel(biased[0]).product
    assert product is not None and (product.rows, product.columns, product.depth) == (32, 1000, 4096)


def test_attention_keeps_its_mask() -> None:
    query, key = Operand((4096, 1, 2048), "DT_BF16"), Operand((4096, 1, 1024), "DT_BF16")
    given = [query, key, key, Operand((2048, 2048), "BOOL")]
    causal = kernels_of("npu::npu_fusion_attention", given, [query])
    assert types(*causal) == ["FlashAttentionScore"]
    plain = kernels_of("npu::npu_fusion_attention", given[:3], [query])
    assert measure_kernel(plain[0]).operations == 2 * measure_kernel(causal[0]).operations


def test_dropout_is_a_mask_of_bits_and_its_use() -> None:
    tensor, mask = Operand((32, 9216), "FLOAT"), Operand((32, 9216), "BOOL")
    (made,) = kernels_of("aten::bernoulli_", [mask], [mask])
    assert made.type == "DSAGenBitMask" and measure_kernel(made).bytes == 32 * 9216 / 8
    assert types(*kernels_of("aten::mul", [tensor, mask], [tensor])) == ["DropOutDoMask"]
    assert kernels_of("aten::mul_", [tensor], [tensor]) == ()
    assert types(*kernels_of("aten::mul_", [tensor, Operand((), "DOUBLE")], [tensor])) == ["Mul"]


def test_lists_of_tensors_are_one_kernel() -> None:
    pair = floats((8,), (4, 4), (8,), (4, 4))
    (added,) = kernels_of("aten::_foreach_add_", pair, [])
    assert added.type == "ForeachAddList" and measure_kernel(added).bytes == 4 * (2 * 24 + 24)
    (scaled,) = kernels_of("aten::_foreach_mul_", pair[:2], [])
    assert scaled.type == "ForeachMulScalar" and measure_kernel(scaled).bytes == 4 * 48
    assert types(*kernels_of("aten::_foreach_sqrt", pair[:2], pair[:2])) == ["ForeachSqrtScalar"]


def test_views_and_reads_start_nothing() -> None:
    for name in ("aten::view", "aten::_local_scalar_dense", "aten::empty_strided"):
        assert kernels_of(name, floats((8,)), floats((8,))) == ()


def test_overloads_and_unknown_operators() -> None:
    assert types(*kernels_of("aten::add.Tensor", floats((8,), (8,)), floats((8,)))) == ["Add"]
    assert types(*kernels_of("npu::npu_new_thing", floats((8,)), floats((8,)))) == ["NpuNewThing"]


def test_the_table_is_dated_and_every_row_can_be_read() -> None:
    record = json.loads(TABLE.read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
    for row in read_table().values():
        assert re.fullmatch(r"(aten|npu)::\w+(\.\w+)?", row.operator)
        assert all(KERNEL.fullmatch(spec) for spec in row.kernels), row
        assert 0 <= row.seen <= 4


SHAPES = st.lists(st.lists(st.integers(0, 9), max_size=5).map(tuple), max_size=6)
KINDS = st.sampled_from(["FLOAT", "DT_BF16", "BOOL", "INT64", "N/A", ""])


@given(st.sampled_from(sorted(read_table())), SHAPES, SHAPES, st.data())
def test_any_operands_give_kernels_that_can_be_measured(
    name: str, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], data: st.DataObject
) -> None:
    given_, gives = ([Operand(shape, data.draw(KINDS)) for shape in shapes] for shapes in (inputs, outputs))
    for kernel in kernels_of(name, given_, gives):
        load = measure_kernel(kernel)
        assert load.bytes >= 0 and load.operations >= 0 and load.elements >= 0


def count_traced(profile: Path) -> tuple[Counter[str], Counter[str]]:
    """Return how many kernels of each type a real profile has, and how long they took."""
    real: Counter[str] = Counter()
    took: Counter[str] = Counter()
    with (profile / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open() as file:
        for line in csv.DictReader(file):
            if not line["Type"].startswith("hcom"):
                kind = PRODUCT if line["Type"] in PRODUCTS else line["Type"]
                real[kind] += 1
                took[kind] += float(line["Duration(us)"])  # type: ignore[assignment]
    return real, took


#: Which of its products a stage of Qwen3 has as MatMulV2 no profile shows: both are counted as one.
PRODUCT, PRODUCTS = "MatMul", ("MatMulV2", "MatMulV3")


def count_estimated(data: Path) -> Counter[str]:
    """Return how many kernels of each type the operators of a rehearsed step become."""
    estimated: Counter[str] = Counter()
    for operator, inputs, outputs, count in json.loads(data.read_text()):
        operands = ([Operand(tuple(shape), kind) for shape, kind in side] for side in (inputs, outputs))
        for kernel in kernels_of(operator, *operands):
            estimated[PRODUCT if kernel.type in PRODUCTS else kernel.type] += count
    return estimated


@pytest.mark.parametrize(
    "profile, data, most",
    [
        ("alexnet_910b_level2/rank0_ascend_pt", DATA, 12),
        ("pp2dp2_level2/rank_0_ascend_pt", DATA.with_name("qwen3_stage_operators.json"), 14),
    ],
)
def test_a_traced_step_has_as_many_kernels_of_each_type(shared: Path, profile: str, data: Path, most: int) -> None:
    """Steps as the simulated NPU lists their operators, against the kernels of the real profile: AlexNet's, and a
    pipeline stage's with Megatron's fused update and rotary positions. What makes a slice contiguous is a TensorMove
    here and a Slice there, the tenth in the stage."""
    real, took = count_traced(shared / "data" / "npu" / profile)
    estimated = count_estimated(data)
    dearest = [kind for kind, _ in took.most_common(most + 1) if kind != "Slice"][:most]
    counts = {kind: (real[kind], estimated[kind]) for kind in dearest}
    assert not {kind: pair for kind, pair in counts.items() if abs(pair[1] / pair[0] - 1) > 0.1}
    assert took["Slice"] < sorted(took.values())[-9], "there is a tenth, but no ninth"
