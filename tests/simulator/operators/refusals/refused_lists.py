"""Calls on lists of tensors (`_foreach_*`), copies, random numbers and others that a real Atlas A2 refuses: entries as
those of refused.py.

torch_npu gives the lists to one function of CANN where they are alike (one device, data type and layout; a result of
the same type), else each tensor to the plain operator. `xs(f64)` is a list of two tensors of ones on npu:0.
"""

from __future__ import annotations

CANN = "error code is 161002"
OP_PLUGIN = "https://gitcode.com/Ascend/op-plugin, branch 26.1.0, op_plugin/ops/opapi/"
TABLE = "ascend_simulator/native/kernels/dtypes.txt, the operator's line"

Entry = tuple[str, tuple[str, ...], str]


def together(call: str, function: str, acl: str) -> Entry:
    """CANN's function for lists refuses them."""
    return call, (f"call {function} failed", CANN, f"not implemented for {acl}"), TABLE


def apart(call: str, function: str, acl: str, kernel: str) -> Entry:
    """torch_npu takes the slow way, and CANN refuses the plain operator's tensor."""
    return call, (f"call {function} failed", CANN, f"not implemented for {acl}"), OP_PLUGIN + kernel


def by_torch_npu(call: str, said: str, kernel: str, *code: str) -> Entry:
    return call, (said, "[simulated NPU]", *code), OP_PLUGIN + kernel


TYPE = "ERR01002 OPS invalid type"
FLOATS = "input must be half, float or bfloat16"
FLOATS_AND_INT = "input must be half, float, int32 or bfloat16"

TOGETHER = [
    together("torch._foreach_div_(xs(f64), xs(f64))", "aclnnForeachDivList", "DT_DOUBLE"),
    together("torch._foreach_sqrt(xs(f64))", "aclnnForeachSqrt", "DT_DOUBLE"),
]

BY_TORCH_NPU = [
    by_torch_npu("torch._foreach_div_(xs(f64), 2.0)", FLOATS, "ForeachDivKernelNpuOpApi.cpp"),
    by_torch_npu("torch._foreach_exp(xs(f64))", FLOATS, "ForeachExpKernelNpuOpApi.cpp"),
    by_torch_npu("torch._foreach_log(xs(c64))", FLOATS, "ForeachLogKernelNpuOpApi.cpp"),
    by_torch_npu("torch._foreach_sub_(xs(i64), 1)", FLOATS_AND_INT, "ForeachSubScalarInplaceKernelOpApi.cpp"),
    by_torch_npu("torch._foreach_pow_(xs(f64), 2.0)", FLOATS_AND_INT, "ForeachPowScalarKernelNpuOpApi.cpp"),
    by_torch_npu("torch._foreach_reciprocal(xs(f64))", FLOATS, "ForeachReciprocalKernelNpuOpApi.cpp", TYPE),
    by_torch_npu(
        "torch._foreach_neg_(xs(f64))",
        "input must be half or float or int32 or bfloat16",
        "ForeachNegKernelNpuOpApi.cpp",
        TYPE,
    ),
    by_torch_npu(
        "torch._foreach_zero_(xs(f64))",
        "input must be half, float, int or short or bfloat16",
        "ForeachZeroInplaceKernelNpuOpApi.cpp",
        TYPE,
    ),
    by_torch_npu(
        "torch._foreach_addcmul(xs(f64), xs(f64), xs(f64), torch.ones(2))",
        FLOATS_AND_INT,
        "ForeachAddcmulTensorKernelNpuOpApi.cpp",
        TYPE,
    ),
]

APART = [
    apart("torch._foreach_exp(xs(i32))", "aclnnExp", "DT_INT32", "ForeachExpKernelNpuOpApi.cpp"),
    apart("torch._foreach_abs([x(c128, 2)])", "aclnnAbs", "DT_COMPLEX128", "ForeachAbsKernelOpApi.cpp"),
    apart("torch._foreach_erf_([x(i32, 2)])", "aclnnInplaceErf", "DT_INT32", "ForeachErfKernelNpuOpApi.cpp"),
    apart(
        "torch._foreach_addcdiv_(xs(c64), xs(c64), xs(c64), [0.1, 0.2])",
        "aclnnAddcdiv",
        "DT_COMPLEX64",
        "ForeachAddcdivScalarListKernelNpuOpApi.cpp",
    ),
]

COPIES = [
    (
        "x(torch.complex32, 2).clone()",
        ("call aclnnInplaceCopy", CANN, "not implemented for DT_COMPLEX32"),
        TABLE,
    ),
    ("nine().clone()", ("call aclnnInplaceCopy", CANN, "larger than 8 dimensions"), TABLE),
]

OTHERS = [
    together("torch.sign(x(u8, 2))", "aclnnSign", "DT_UINT8"),
    together("torch.sgn(x(i16, 2))", "aclnnSign", "DT_INT16"),
    together("torch.special.xlogy(x(f64, 3), 2)", "aclnnXLogYScalarOther", "DT_DOUBLE"),
    together("torch.bitwise_left_shift(x(f32, 3), x(f32, 3))", "aclnnLeftShift", "DT_FLOAT"),
    together("torch.bucketize(x(bf16, 3), x(bf16, 2))", "aclnnSearchSorted", "DT_BFLOAT16"),
    together("torch.cummax(x(c64, 3), 0)", "aclnnCummax", "DT_COMPLEX64"),
    # Fourier transforms are products with a matrix: FFTc2cKernelNpuOpApi.cpp
    by_torch_npu(
        "torch.nn.LSTMCell(3, 3).npu().to(bf16)(x(bf16, 2, 3))",
        "lstm_cell input_gates must be float or half",
        "LstmCellKernelNpuOpApi.cpp",
    ),
    by_torch_npu(
        "train(f32, 'SGD', lr=0.1, fused=True)", "momentum must be positive, but got 0", "FusedSgdKernelOpApi.cpp"
    ),
    by_torch_npu(
        "torch.isin(x(f64, 3), x(f64, 200))", "Input data type should not be float64", "IsInKernelNpuOpApi.cpp", TYPE
    ),
    by_torch_npu(
        "torch._amp_foreach_non_finite_check_and_unscale_(xs(f32), x(f32, 1), x(f64, 1))",
        "inv_scale must be a float tensor",
        "AmpForeachNonFiniteCheckAndUnscaleKernelNpuOpApi.cpp",
        TYPE,
    ),
]

REFUSED_LISTS: list[Entry] = [*TOGETHER, *BY_TORCH_NPU, *APART, *COPIES, *OTHERS]
