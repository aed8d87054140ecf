"""Normalisations, activations, gated units, rotary embedding and dropout of torch_npu against plain PyTorch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import torch_npu
from comparing import DTYPES, compare, leaves, near, raises


def check_rms_norm() -> None:
    for dtype in DTYPES:
        for gamma in ((8,), (6, 8)):
            compare(
                lambda x, g: torch_npu.npu_rms_norm(x, g, epsilon=1e-5)[0],
                lambda x, g: F.rms_norm(x, g.shape, g, 1e-5),
                leaves((4, 6, 8), gamma, dtype=dtype),
                dtype,
            )
    x, gamma = leaves((4, 6, 8), (8,))
    rstd = torch_npu.npu_rms_norm(x.npu(), gamma.npu())[1]
    assert rstd.shape == (4, 6, 1) and rstd.dtype == torch.float32
    near(rstd, (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt())
    near(torch_npu.npu_gemma_rms_norm(x.npu(), gamma.npu())[0], F.rms_norm(x, (8,), 1 + gamma, 1e-6))


def check_addition_before_rms_norm() -> None:
    first, second, gamma = leaves((4, 8), (4, 8), (8,))
    npu = [tensor.npu() for tensor in (first, second, gamma)]
    total, expected = first + second, F.rms_norm(first + second, (8,), gamma, 1e-6)
    y, rstd, added = torch_npu.npu_add_rms_norm(*npu)
    near(y, expected)
    near(added, total)
    near(rstd, (total.square().mean(-1, keepdim=True) + 1e-6).rsqrt())
    functional = torch_npu.npu_add_rms_norm_v2_functional(*npu)
    torch_npu.npu_add_rms_norm_v2(*npu)
    for actual, same in ((functional[1], expected), (functional[2], total), (npu[0], expected), (npu[1], total)):
        near(actual, same)


def check_an_operator_without_a_gradient_says_so_in_backward() -> None:
    x, gamma = (tensor.npu().requires_grad_() for tensor in leaves((4, 8), (8,)))
    y = torch_npu.npu_add_rms_norm(x, x.detach(), gamma)[0]
    raises(lambda: y.sum().backward(), "derivative for", "npu_add_rms_norm", "not implemented")


def check_layer_norms() -> None:
    def deep(x: Any, gx: Any, beta: Any, gamma: Any) -> torch.Tensor:
        return F.layer_norm(0.5 * x + gx, gamma.shape, gamma, beta, 1e-6)

    for dtype in DTYPES:
        compare(
            lambda a, b, gamma, beta: torch_npu.npu_add_layer_norm(a, b, gamma, beta, 1e-5, True)[0],
            lambda a, b, gamma, beta: F.layer_norm(a + b, (8,), gamma, beta, 1e-5),
            leaves((4, 6, 8), (4, 6, 8), (8,), (8,), dtype=dtype),
            dtype,
        )
        inputs = leaves((4, 6, 8), (4, 6, 8), (8,), (8,), dtype=dtype)
        compare(lambda *given: torch_npu.npu_deep_norm(*given, 0.5, 1e-6)[2], deep, inputs, dtype)
    compare(
        lambda a, b, gamma, beta: torch_npu.npu_add_layer_norm(a, b, gamma, beta, 1e-5, True)[3],
        lambda a, b, gamma, beta: a + b + 0 * gamma + 0 * beta,
        leaves((4, 8), (4, 8), (8,), (8,)),
    )
    compare(
        lambda x, gamma, beta: torch_npu.npu_layer_norm_eval(x, (8,), gamma, beta),
        lambda x, gamma, beta: F.layer_norm(x, (8,), gamma, beta),
        leaves((4, 8), (8,), (8,)),
        gradient=False,
    )


def check_group_norms() -> None:
    def swish(x: Any, weight: Any, bias: Any) -> torch.Tensor:
        y = F.group_norm(x, 2, weight, bias, 1e-5)
        return y * torch.sigmoid(1.5 * y)

    for dtype in DTYPES:
        inputs = leaves((3, 4, 5), (4,), (4,), dtype=dtype)
        compare(lambda x, w, b: torch_npu.npu_group_norm_swish(x, 2, w, b, 1e-5, 1.5)[0], swish, inputs, dtype)
        compare(
            lambda x, w, b: torch_npu.npu_group_norm_silu(x, w, b, 2)[0],
            lambda x, w, b: F.silu(F.group_norm(x, 2, w, b)),
            inputs,
            dtype,
            gradient=False,
        )


def check_activations() -> None:
    pairs = [
        (torch_npu.npu_fast_gelu, lambda x: x * torch.sigmoid(1.702 * x)),
        (torch_npu.fast_gelu, lambda x: x * torch.sigmoid(1.702 * x)),
        (torch_npu.npu_gelu, F.gelu),
        (lambda x: torch_npu.npu_gelu(x, approximate="tanh"), lambda x: F.gelu(x, approximate="tanh")),
        (torch_npu.npu_silu, F.silu),
        (torch_npu.npu_mish, F.mish),
    ]
    for fused, plain in pairs:
        for dtype in DTYPES:
            compare(fused, plain, leaves((4, 7), dtype=dtype), dtype)
            compare(lambda x, fused=fused: fused(x.t()), lambda x, plain=plain: plain(x.t()), leaves((4, 7)))
    x = torch.randn(4, 6)
    in_place = x.npu()
    assert torch_npu.npu_silu_(in_place) is in_place
    near(in_place, F.silu(x))
    near(torch_npu.npu_gelu_mul(x.npu()), F.gelu(x[:, :3]) * x[:, 3:])


def check_gated_units() -> None:
    def swiglu(x: Any, dim: int) -> torch.Tensor:
        first, second = x.chunk(2, dim)
        return F.silu(first) * second

    def geglu(x: Any, approximate: str, left: bool) -> torch.Tensor:
        first, second = x.chunk(2, -1)
        gate, rest = (first, second) if left else (second, first)
        return rest * F.gelu(gate, approximate=approximate)

    for dtype in DTYPES:
        for dim in (-1, 0):
            compare(
                lambda x, dim=dim: torch_npu.npu_swiglu(x, dim=dim),
                lambda x, dim=dim: swiglu(x, dim),
                leaves((4, 6), dtype=dtype),
                dtype,
            )
        for number, name, left in ((1, "tanh", False), (0, "none", True)):
            compare(
                lambda x, number=number, left=left: torch_npu.npu_geglu(x, -1, number, left)[0],
                lambda x, name=name, left=left: geglu(x, name, left),
                leaves((4, 6), dtype=dtype),
                dtype,
            )
    x = 6 * torch.randn(4, 6)
    a, b = x[:, ::2].clamp(max=7), x[:, 1::2].clamp(-7, 7)
    near(torch_npu.npu_clipped_swiglu(x.npu()), a * torch.sigmoid(1.702 * a) * (b + 1))
    raises(lambda: torch_npu.npu_swiglu(torch.ones(3, device="npu")), "even")


def check_rotary_embedding() -> None:
    def rotate(x: Any, mode: str) -> torch.Tensor:
        if mode == "half":
            first, second = x.chunk(2, -1)
            return torch.cat((-second, first), -1)
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)

    for dtype in DTYPES:
        for mode in ("half", "interleave"):
            compare(
                lambda x, cos, sin, mode=mode: torch_npu.npu_rotary_mul(x, cos, sin, mode),
                lambda x, cos, sin, mode=mode: x * cos + rotate(x, mode) * sin,
                leaves((2, 5, 3, 8), (1, 5, 1, 8), (1, 5, 1, 8), dtype=dtype),
                dtype,
            )
    query, key, cos, sin = leaves((2, 5, 3, 64), (2, 5, 1, 64), (2, 5, 1, 64), (2, 5, 1, 64))
    npu = query.npu()
    ours = torch_npu.npu_apply_rotary_pos_emb(npu, key.npu(), cos.npu(), sin.npu())
    near(ours[0], query * cos + rotate(query, "half") * sin)
    near(ours[1], key * cos + rotate(key, "half") * sin)
    near(npu, ours[0].cpu())  # the operator overwrites its query
    matrix = torch.zeros(8, 8)
    matrix[4:, :4], matrix[:4, 4:] = -torch.eye(4), torch.eye(4)
    x, cos, sin = leaves((2, 5, 3, 8), (1, 5, 1, 8), (1, 5, 1, 8))
    npu = [tensor.npu() for tensor in (x, cos, sin)]
    near(torch_npu.npu_rotary_mul(*npu, "half", matrix.npu()), x * cos + rotate(x, "half") * sin)
    raises(lambda: torch_npu.npu_rotary_mul(*npu, "other"), "rotary_mode", "half or interleave")


def check_dropout() -> None:
    x = torch.ones(1000, device="npu", requires_grad=True)
    torch.npu.manual_seed(3)
    y, mask = torch_npu._npu_dropout(x, 0.25)
    bits = ((mask.cpu()[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1).flatten()[:1000]
    assert mask.shape == (128,) and mask.dtype == torch.uint8
    assert 700 < int(bits.sum()) < 800
    near(y, bits / 0.75)
    y.sum().backward()
    near(x.grad, bits / 0.75)
    torch.npu.manual_seed(3)
    assert torch.equal(torch_npu._npu_dropout(x, 0.25)[0], y)
    assert not torch.equal(torch_npu._npu_dropout(x, 0.25)[0], y)
    z = x.detach().clone().requires_grad_()
    again = torch.ops.npu.npu_dropout_do_mask(z, mask, 0.25)[0]
    again.sum().backward()
    assert torch.equal(again, y) and torch.equal(z.grad, x.grad)
    byte = torch_npu.dropout_with_byte_mask(x, 0.25, True)
    assert set(byte.detach().cpu().unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    byte.sum().backward()


def check_softmaxes() -> None:
    mask = torch.rand(2, 1, 32, 32) > 0.5
    for dtype in DTYPES:
        compare(
            lambda x: torch_npu.npu_scaled_masked_softmax(x, mask.npu(), 0.7, False),
            lambda x: (0.7 * x).masked_fill(mask, -10000.0).softmax(-1),
            leaves((2, 3, 32, 32), dtype=dtype),
            dtype,
        )
    compare(
        lambda x: torch_npu.npu_scaled_masked_softmax(x, mask.npu(), 0.7, True),
        lambda x: (0.7 * x).masked_fill(torch.ones(32, 32).triu(1) > 0, -10000.0).softmax(-1),
        leaves((2, 3, 32, 32)),
    )
    a, b = leaves((2, 3, 4, 4), (2, 3, 4, 4))
    ours, theirs = [x.npu().requires_grad_() for x in (a, b)], [x.requires_grad_() for x in (a, b)]
    _, softmax, dropped = torch_npu.npu_dropout_with_add_softmax(*ours, 0.5, 0.0, -1)
    expected = (theirs[1] + 0.5 * theirs[0]).softmax(-1)
    near(softmax, expected)
    near(dropped, expected)


def check_refused_dtypes() -> None:
    x = torch.ones(4, 8, dtype=torch.int32, device="npu")
    raises(lambda: torch_npu.npu_rms_norm(x, x[0]), "npu::npu_rms_norm", "torch.int32", "float32, float16, bfloat16")
    raises(lambda: torch_npu.npu_swiglu(x), "npu::npu_swiglu", "torch.int32")
    raises(lambda: torch_npu.npu_rms_norm(torch.ones(4, 8, device="npu"), torch.ones(8)), "same device")


def check_what_does_not_touch_the_user() -> None:
    import sys

    import __main__

    with torch.device("npu"):  # a mode that would move the formula's own tensors
        y = torch_npu.npu_swiglu(torch.ones(2, 4))
    near(y, F.silu(torch.ones(2, 2)))
    assert "spec" not in vars(__main__) and "folder" not in vars(__main__)
    assert "ascend_simulator" not in sys.modules and "registration" not in sys.modules
    assert not any("references" in entry for entry in sys.path)
