"""Memory that an operator is to write into has the size and the data type of the result, or the call is refused."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch_npu
from comparing import near, raises

HALF = torch.float16


def halves(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.randn(shape).to(HALF).npu() for shape in shapes]


def check_memory_that_atb_writes_into() -> None:
    q, k, v = halves((7, 4, 16), (7, 4, 16), (7, 4, 16))
    lengths = torch.tensor([3, 4]).int()
    for wrong in (torch.zeros(7, 4, 8).to(HALF), torch.zeros(0).to(HALF), torch.zeros(7, 4, 16)):
        out = wrong.npu()
        call = functools.partial(torch_npu._npu_flash_attention_unpad, q, k, v, lengths, 0.25, 4, 4, out)
        raises(call, "_npu_flash_attention_unpad", "[7, 4, 16]")
        assert out.shape == wrong.shape and not out.any()
    given, small = torch.ones(2, 2).to(HALF).npu(), torch.zeros(2, 2).npu()
    scale, zero = torch.ones(2).to(HALF).npu(), torch.zeros(2, dtype=torch.int8).npu()
    raises(lambda: torch_npu._npu_quantize_per_tensor(given, scale, zero, small), "torch.int8", "torch.float32")


def check_log_sum_exp_of_latent_heads_where_not_asked_for() -> None:
    parts = halves((1, 4, 512), (1, 4, 64), (2, 8, 1, 512), (2, 8, 1, 64))
    given = (*parts, torch.tensor([[0, 1]]).int().npu(), [11], 4, 0.04, 1)
    call = torch.ops.atb.npu_multi_head_latent_attention.lse_out
    out, sums = torch.zeros(1, 4, 512).to(HALF).npu(), torch.full((3,), 7.0).npu()
    call(*given, False, output=out, lse=sums)
    assert out.any() and sums.tolist() == [7.0] * 3
    asked: dict[str, Any] = {"calc_type": "calc_type_ring", "output": out}
    raises(lambda: call(*given, True, lse=sums, **asked), "lse_out", "[1, 4, 1]")
    fitting = torch.zeros(1, 4, 1).to(HALF).npu()
    call(*given, True, lse=fitting, **asked)
    assert fitting.all()


def check_memory_for_fused_inference_attention() -> None:
    q, k, v = halves((2, 4, 6, 16), (2, 4, 8, 16), (2, 4, 8, 16))
    options: dict[str, Any] = {"num_heads": 4, "scale": 0.25, "input_layout": "BNSD"}
    call = torch_npu.npu_fused_infer_attention_score
    expected, sums = call(q, k, v, softmax_lse_flag=True, **options)
    out, lse = torch.zeros_like(q), torch.zeros_like(sums)
    returned = call.out(q, k, v, softmax_lse_flag=True, out=[out, lse], **options)
    assert torch.equal(out, expected) and torch.equal(lse, sums) and returned[0].data_ptr() == out.data_ptr()
    out, unasked = torch.zeros_like(q), torch.full((7,), 3.0).to(HALF).npu()
    call.out(q, k, v, out=[out, unasked], **options)
    assert torch.equal(out, expected) and unasked.tolist() == [0.0] * 7
    name = "npu_fused_infer_attention_score.out"
    for wrong in (torch.zeros(2, 4, 5, 16).to(HALF), torch.zeros(0).to(HALF), torch.zeros(2, 4, 6, 16)):
        raises(functools.partial(call.out, q, k, v, out=[wrong.npu(), unasked], **options), name, "[2, 4, 6, 16]")
    raises(lambda: call.out(q, k, v, softmax_lse_flag=True, out=[out, unasked], **options), name, "[2, 4, 6, 1]")
    raises(lambda: call.out(q, k, v, out=[out], **options), name, "two tensors")


def check_memory_named_out() -> None:
    x = torch.randn(3, 4).npu()
    empty = torch.empty(0).npu()
    torch.ops.npu.npu_transpose.out(x, [1, 0], out=empty)  # as PyTorch's out=: nothing yet, so it is given its shape
    near(empty, x.cpu().t())
    other, half = torch.zeros(3, 4).npu(), torch.zeros(4, 3).half().npu()
    raises(lambda: torch.ops.npu.npu_transpose.out(x, [1, 0], out=other), "npu_transpose.out", "[4, 3]")
    raises(lambda: torch.ops.npu.npu_transpose.out(x, [1, 0], out=half), "npu_transpose.out", "torch.float16")
