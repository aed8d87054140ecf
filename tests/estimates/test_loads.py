"""What kernels have to do, by hand."""

from __future__ import annotations

import pytest

from ascend_workbook.estimates.loads import Kernel, Product, family_of, measure_kernel


def kernel(kind: str, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], dtype: str = "DT_BF16") -> Kernel:
    return Kernel(kind, tuple(inputs), (dtype,) * len(inputs), tuple(outputs), (dtype,) * len(outputs))


@pytest.mark.parametrize(
    "kind, family",
    [
        ("MatMulV3", "matmul"),
        ("FlashAttentionScore", "attention"),
        ("FlashAttentionScoreGrad", "attention_grad"),
        ("Conv2DBackpropFilter", "convolution_grad"),
        ("RmsNormGrad", "norm_grad"),
        ("RmsNorm", "norm"),
        ("TransData", "layout"),
        ("MemSet", "fill"),
        ("Add", "elementwise"),
        ("SwiGlu", "elementwise"),
    ],
)
def test_families(kind: str, family: str) -> None:
    assert family_of(kind) == family


@pytest.mark.parametrize(
    "left, right",
    [((4096, 1024), (1024, 6144)), ((4096, 1024), (6144, 1024)), ((1024, 4096), (1024, 6144))],
    ids=["plain", "right turned", "left turned"],
)
def test_a_product_is_found_however_its_operands_lie(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    load = measure_kernel(kernel("MatMulV3", [left, right], [(4096, 6144)]))
    assert load.product == Product(1, 4096, 6144, 1024, turned=left == (1024, 4096))
    assert load.operations == 2 * 4096 * 6144 * 1024
    assert load.bytes == 2 * (4096 * 1024 + 1024 * 6144 + 4096 * 6144)
    assert load.bfloat16


def test_what_a_square_operand_does_not_tell_is_not_guessed() -> None:
    square = kernel("MatMulV3", [(4096, 4096), (4096, 1024)], [(4096, 1024)])
    assert measure_kernel(square).product == Product(1, 4096, 1024, 4096)


def test_a_product_moves_its_own_operands_whatever_a_shared_table_says() -> None:
    changed = kernel("MatMulV3", [(81920, 1536), (8192, 4096)], [(1536, 4096)])
    load = measure_kernel(changed)
    assert load.product == Product(1, 1536, 4096, 8192, turned=True)
    assert load.bytes == 2 * (1536 * 8192 + 8192 * 4096 + 1536 * 4096)
    grouped = kernel("GroupedMatmul", [(512, 1024), (8, 1024, 2048)], [(512, 2048)])
    assert measure_kernel(grouped).bytes == 2 * (512 * 1024 + 8 * 1024 * 2048 + 512 * 2048), "the weights of all groups"
    single = Kernel("MatMulV3", ((64, 32), (32, 128)), ("DT_BF16", "DT_BF16"), ((64, 128),), ("FLOAT",))
    assert measure_kernel(single).bytes == 2 * (64 * 32 + 32 * 128) + 4 * 64 * 128


def test_a_product_in_fractal_format() -> None:
    shapes = [(9496, 256, 16, 16), (64, 256, 16, 16)], [(64, 9496, 16, 16)]
    assert measure_kernel(kernel("MatMulV2", *shapes)).product == Product(1, 151936, 1024, 4096)


def test_an_adam_step_reads_four_and_writes_three() -> None:
    state = [(1000,)] * 4 + [(1,)]
    assert measure_kernel(kernel("ApplyAdamWV2", state, [], "FLOAT")).bytes == 7 * 4000
    # the older kernel names its scalars between, and the gradient last
    old = Kernel("ApplyAdamW", ((1000,),) * 3 + ((),) * 7 + ((1000,),), ("FLOAT",) * 11, ((1000,),) * 3, ("FLOAT",) * 3)
    assert measure_kernel(old).bytes == 7 * 4000


def test_a_lookup_reads_the_rows_that_it_gives() -> None:
    looked_up = Kernel("GatherV2", ((151936, 1024), (4096,)), ("DT_BF16", "INT64"), ((4096, 1024),), ("DT_BF16",))
    assert measure_kernel(looked_up).bytes == 2 * (2 * 4096 * 1024)


def test_what_some_kernels_read_by_hand() -> None:
    pooled = Kernel("MaxPoolGradWithArgmaxV1", ((8, 8), (4, 4), (4, 4)), ("FLOAT",) * 3, ((8, 8),), ("FLOAT",))
    assert measure_kernel(pooled).bytes == 4 * (64 + 16 + 64), "where the largest were it is told by bits"
    looked = Kernel("EmbeddingDenseGrad", ((64, 16), (64,)), ("FLOAT", "INT32"), ((1000, 16),), ("FLOAT",))
    assert measure_kernel(looked).bytes == 4 * (64 * 16 + 1000 * 16)
    assert measure_kernel(Kernel("Cast", ((64,),), ("INT4",), ((64,),), ("INT8",))).bytes == 32 + 64


def test_causal_attention_does_half() -> None:
    heads = [(4096, 1, 2048), (4096, 1, 1024), (4096, 1, 1024)]
    plain = measure_kernel(kernel("FlashAttentionScore", heads, [(4096, 1, 2048)]))
    causal = measure_kernel(kernel("FlashAttentionScore", [*heads, (2048, 2048)], [(4096, 1, 2048)]))
    assert plain.operations == 4 * 4096 * 4096 * 2048 == 2 * causal.operations
    backward = measure_kernel(kernel("FlashAttentionScoreGrad", heads, [(4096, 1, 2048)]))
    assert backward.operations == 2.5 * plain.operations
    # 16 heads of 128: of each score 4 bytes and 4 of its gradient, and 3 x 4 bytes of partial sums
    assert plain.spilled == 0 and backward.spilled == 4096 * 4096 * 16 * 20


def test_the_gradient_of_narrow_heads_writes_more_scores_beside_its_sums() -> None:
    narrow = [(1, 32, 4096, 64)] * 3
    load = measure_kernel(kernel("FlashAttentionScoreGrad", narrow, narrow))
    assert load.spilled == 4096 * 4096 * 32 * (8 + 12 * 64 / 128)


def test_a_convolution_does_the_same_in_all_directions() -> None:
    x, w, y = (32, 32, 13, 13, 8), (288, 16, 16, 8), (32, 32, 13, 13, 8)
    forward = measure_kernel(kernel("Conv2D", [x, w], [y], "FLOAT")).operations
    assert forward == 2 * 32 * 13 * 13 * (288 * 16 * 16 * 8)
    assert measure_kernel(kernel("Conv2DBackpropInput", [(4,), w, y], [x], "FLOAT")).operations == forward
    assert measure_kernel(kernel("Conv2DBackpropFilter", [x, (4,), y], [w], "FLOAT")).operations == forward


def test_an_absent_operand_has_no_bytes() -> None:
    there = Kernel("Add", ((8,), ()), ("FLOAT", ""), ((8,),), ("FLOAT",))
    assert measure_kernel(there).bytes == 64
