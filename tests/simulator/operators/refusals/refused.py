"""Calls that a real Atlas A2 refuses: (call, parts of the error, where that is said).

A call is an expression over the names of child.py; `x(f64, 2, 3)` is a tensor of ones on npu:0. The source of most
is their operator's line in dtypes.txt; `owner/repository#number` is an issue on GitHub.
"""

from __future__ import annotations

CANN = "error code is 161002"
SAME = "Expected all tensors to be on the same device"
OP_PLUGIN = "https://gitcode.com/Ascend/op-plugin, branch 26.1.0, op_plugin/ops/opapi/"
TABLE = "ascend_simulator/native/kernels/dtypes.txt, the operator's line"
TORCH_NPU = "https://gitcode.com/Ascend/pytorch, torch_npu/csrc/"


def dtype(call: str, function: str, acl: str, source: str = TABLE) -> tuple[str, tuple[str, ...], str]:
    return call, (f"call {function}", CANN, f"not implemented for {acl}, should be in dtype support list"), source


MATRIX = [
    dtype("torch.mm(x(f64, 2, 2), x(f64, 2, 2))", "aclnnMm", "DT_DOUBLE"),
    dtype("torch.mm(x(i64, 2, 2), x(i64, 2, 2))", "aclnnMm", "DT_INT64"),
    dtype("torch.mm(x(i32, 2, 2), x(i32, 2, 2))", "aclnnMm", "DT_INT32"),
    dtype("torch.mm(x(c64, 2, 2), x(c64, 2, 2))", "aclnnMm", "DT_COMPLEX64"),
    dtype("x(f64, 2, 2) @ x(f64, 2, 2)", "aclnnMatmul", "DT_DOUBLE"),
    dtype("x(i64, 2, 2) @ x(i64, 2, 2)", "aclnnMatmul", "DT_INT64"),
    dtype("x(u8, 2, 2) @ x(u8, 2, 2)", "aclnnMatmul", "DT_UINT8"),
    dtype("torch.bmm(x(f64, 1, 2, 2), x(f64, 1, 2, 2))", "aclnnBatchMatMul", "DT_DOUBLE"),
    dtype("torch.bmm(x(i32, 1, 2, 2), x(i32, 1, 2, 2))", "aclnnBatchMatMul", "DT_INT32"),
    dtype("torch.addmm(x(f64, 2), x(f64, 2, 2), x(f64, 2, 2))", "aclnnAddmm", "DT_DOUBLE"),
    dtype(
        "torch.baddbmm(x(i64, 1, 2, 2), x(i64, 1, 2, 2), x(i64, 1, 2, 2))",
        "aclnnBaddbmm",
        "DT_INT64",
    ),
    dtype("torch.mv(x(f64, 2, 2), x(f64, 2))", "aclnnMv", "DT_DOUBLE"),
    dtype("torch.dot(x(f64, 2), x(f64, 2))", "aclnnDot", "DT_DOUBLE"),
    dtype("F.linear(x(f64, 2, 2), x(f64, 2, 2))", "", "DT_DOUBLE"),
    dtype("F.conv1d(x(f64, 1, 1, 4), x(f64, 1, 1, 2))", "aclnnConvolution", "DT_DOUBLE"),
    dtype(
        "F.conv2d(x(f64, 1, 1, 4, 4), x(f64, 1, 1, 2, 2))",
        "aclnnConvolution",
        "DT_DOUBLE",
    ),
    dtype("F.conv2d(x(i64, 1, 1, 4, 4), x(i64, 1, 1, 2, 2))", "aclnnConvolution", "DT_INT64"),
    dtype("torch.ones(2, dtype=c64, device='npu')", "aclnnInplaceOne", "DT_COMPLEX64"),
    dtype("torch.ops.aten.threshold_backward(x(i64, 2), x(i64, 2), 0)", "aclnnThresholdBackward", "DT_INT64"),
    dtype(
        "torch.ops.aten.convolution_backward(x(f64, 1, 1, 3, 3), x(f64, 1, 1, 4, 4), x(f64, 1, 1, 2, 2), [1], [1, 1],"
        " [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])",
        "aclnnConvolutionBackward",
        "DT_DOUBLE",
    ),
    dtype(
        "torch.ops.aten.native_batch_norm_backward(x(f64, 2, 3), x(f64, 2, 3), None, None, None, x(f32, 3), x(f32, 3),"
        " True, 1e-5, [True, False, False])",
        "aclnnBatchNormBackward",
        "DT_DOUBLE",
    ),
    dtype(
        "F.conv3d(x(f64, 1, 1, 4, 4, 4), x(f64, 1, 1, 2, 2, 2))",
        "aclnnConvolution",
        "DT_DOUBLE",
    ),
    dtype(
        "F.conv_transpose2d(x(f64, 1, 1, 4, 4), x(f64, 1, 1, 2, 2))",
        "aclnnConvolution",
        "DT_DOUBLE",
    ),
    dtype(
        "F.scaled_dot_product_attention(*[x(f64, 1, 2, 4, 8)] * 3)",
        "",
        "DT_DOUBLE",
    ),
]

LAYERS = [
    dtype("F.layer_norm(x(f64, 2, 4), (4,))", "aclnnLayerNorm", "DT_DOUBLE"),
    dtype("F.layer_norm(x(i64, 2, 4), (4,))", "aclnnLayerNorm", "DT_INT64"),
    dtype("F.group_norm(x(f64, 2, 4), 2)", "aclnnGroupNorm", "DT_DOUBLE"),
    dtype("F.batch_norm(x(f64, 2, 4), x(f64, 4), x(f64, 4))", "aclnnBatchNorm", "DT_DOUBLE"),
    dtype("F.instance_norm(x(f64, 2, 4, 3))", "aclnnBatchNorm", "DT_DOUBLE"),
    dtype("torch.softmax(x(i64, 4), 0)", "aclnnSoftmax", "DT_INT64"),
    dtype("torch.softmax(x(c64, 4), 0)", "aclnnSoftmax", "DT_COMPLEX64"),
    dtype("torch.log_softmax(x(i32, 4), 0)", "aclnnLogSoftmax", "DT_INT32"),
    dtype("F.gelu(x(f64, 4))", "aclnnGelu", "DT_DOUBLE"),
    dtype("F.gelu(x(i64, 4))", "aclnnGelu", "DT_INT64"),
    dtype("F.silu(x(f64, 4))", "aclnnSilu", "DT_DOUBLE"),
    dtype("F.relu(x(f64, 4))", "aclnnRelu", "DT_DOUBLE"),
    dtype("F.relu_(x(f64, 4))", "aclnnInplaceRelu", "DT_DOUBLE"),
    dtype("F.mish(x(f64, 4))", "aclnnMish", "DT_DOUBLE"),
    dtype("F.hardswish(x(f64, 4))", "aclnnHardswish", "DT_DOUBLE"),
    dtype("F.hardsigmoid(x(f64, 4))", "aclnnHardsigmoid", "DT_DOUBLE"),
    dtype("F.softplus(x(f64, 4))", "aclnnSoftplus", "DT_DOUBLE"),
    dtype("F.logsigmoid(x(f64, 4))", "aclnnLogSigmoidForward", "DT_DOUBLE"),
    dtype("torch.tanh(x(f64, 4))", "aclnnTanh", "DT_DOUBLE"),
    dtype("F.avg_pool2d(x(f64, 1, 1, 4, 4), 2)", "aclnnAvgPool2d", "DT_DOUBLE"),
    dtype("F.max_pool2d(x(f64, 1, 1, 4, 4), 2)", "aclnnMaxPool2d", "DT_DOUBLE"),
    dtype("F.max_pool2d(x(i64, 1, 1, 4, 4), 2)", "aclnnMaxPool2d", "DT_INT64"),
    dtype(
        "F.adaptive_avg_pool2d(x(f64, 1, 1, 4, 4), 2)",
        "aclnnAdaptiveAvgPool2d",
        "DT_DOUBLE",
    ),
    dtype(
        "F.adaptive_avg_pool3d(x(f64, 1, 1, 4, 4, 4), 2)",
        "aclnnAdaptiveAvgPool3d",
        "DT_DOUBLE",
    ),
    dtype("F.embedding(x(f32, 2), x(f32, 3, 4))", "aclnnEmbedding", "DT_FLOAT"),
    dtype("F.embedding(x(i16, 2), x(f32, 3, 4))", "aclnnEmbedding", "DT_INT16"),
]

LOSSES = [
    dtype("F.nll_loss(x(f64, 2, 3), x(i64, 2))", "aclnnNLLLoss", "DT_DOUBLE"),
    dtype("F.nll_loss(x(f32, 2, 3), x(f32, 2))", "aclnnNLLLoss", "DT_FLOAT"),
    dtype("F.cross_entropy(x(f32, 2, 3), x(i16, 2))", "aclnnNLLLoss", "DT_INT16"),
    dtype("F.cross_entropy(x(f64, 2, 3), x(i64, 2))", "aclnnNLLLoss", "DT_DOUBLE"),
    dtype(
        "F.binary_cross_entropy(x(f64, 2), x(f64, 2))",
        "aclnnBinaryCrossEntropy",
        "DT_DOUBLE",
    ),
    dtype(
        "F.binary_cross_entropy_with_logits(x(f64, 2), x(f64, 2))",
        "aclnnBinaryCrossEntropyWithLogits",
        "DT_DOUBLE",
    ),
    dtype("F.smooth_l1_loss(x(f64, 2), x(f64, 2))", "aclnnSmoothL1Loss", "DT_DOUBLE"),
]

ELEMENTS = [
    dtype("torch.exp(x(i32, 2))", "aclnnExp", "DT_INT32"),
    dtype("torch.erf(x(i32, 2))", "aclnnErf", "DT_INT32"),
    dtype("torch.erfinv(x(f64, 2))", "aclnnErfinv", "DT_DOUBLE"),
    dtype("torch.trunc(x(f64, 2))", "aclnnTrunc", "DT_DOUBLE"),
    dtype("torch.frac(x(f64, 2))", "aclnnFrac", "DT_DOUBLE"),
    dtype("torch.abs(x(c128, 2))", "aclnnAbs", "DT_COMPLEX128"),
    dtype("torch.neg(x(i16, 2))", "aclnnNeg", "DT_INT16"),
    dtype("torch.clamp(x(c64, 2), 0, 1)", "aclnnClamp", "DT_COMPLEX64"),
    dtype("torch.maximum(x(c64, 2), x(c64, 2))", "aclnnMaximum", "DT_COMPLEX64"),
    dtype(
        "torch.addcdiv(x(c64, 2), x(c64, 2), x(c64, 2))",
        "aclnnAddcdiv",
        "DT_COMPLEX64",
        "Ascend/pytorch, test/unsupported_test_cases/disabled_tests_type.json",
    ),
    dtype("torch.lerp(x(c64, 2), x(c64, 2), 0.5)", "aclnnLerp", "DT_COMPLEX64"),
    dtype("torch.addcmul(x(c64, 2), x(c64, 2), x(c64, 2))", "aclnnAddcmul", "DT_COMPLEX64"),
    dtype("torch.fmod(x(i16, 2), x(i16, 2))", "aclnnFmodTensor", "DT_INT16"),
    dtype("torch.bitwise_not(x(f32, 2))", "aclnnBitwiseNot", "DT_FLOAT"),
    dtype("x(f32, 2) & x(f32, 2)", "aclnnBitwiseAnd", "DT_FLOAT"),
    dtype("x(f32, 2) << 1", "aclnnLeftShift", "DT_FLOAT"),
    dtype(
        "torch.isclose(x(c64, 2), x(c64, 2))",
        "aclnnIsClose",
        "DT_COMPLEX64",
        "Ascend/pytorch, test/unsupported_test_cases/disabled_tests_type.json",
    ),
    dtype("torch.logical_not(x(c64, 2))", "aclnnLogicalNot", "DT_COMPLEX64"),
    dtype(
        "x(f64, 2).masked_fill_(x(boolean, 2), 0.0)",
        "aclnnInplaceMaskedFillScalar",
        "DT_DOUBLE",
    ),
    dtype(
        "x(f64, 2).masked_fill(x(boolean, 2), 0.0)",
        "aclnnInplaceMaskedFillScalar",
        "DT_DOUBLE",
    ),
    dtype(
        "x(i16, 2).masked_fill_(x(boolean, 2), 0)",
        "aclnnInplaceMaskedFillScalar",
        "DT_INT16",
    ),
]

REDUCTIONS = [
    dtype("torch.sort(x(c64, 3))", "aclnnSort", "DT_COMPLEX64"),
    dtype("torch.topk(x(boolean, 3), 1)", "aclnnTopk", "DT_BOOL"),
    dtype(
        "torch.max(x(f64, 2, 2), 1)",
        "aclnnMaxDim",
        "DT_DOUBLE",
        "Ascend/pytorch, test/unsupported_test_cases/disabled_tests_type.json",
    ),
    dtype("torch.min(x(f64, 2, 2), 1)", "aclnnMinDim", "DT_DOUBLE"),
    dtype("torch.median(x(f64, 3))", "aclnnMedian", "DT_DOUBLE"),
    dtype("torch.kthvalue(x(f64, 3), 1)", "aclnnKthvalue", "DT_DOUBLE"),
    dtype("torch.std(x(f64, 3))", "aclnnStd", "DT_DOUBLE"),
    dtype("torch.var(x(f64, 3))", "aclnnVar", "DT_DOUBLE"),
    dtype("x(i32, 2, 2).max(1)", "aclnnMaxDim", "DT_INT32"),
    dtype("x(i32, 2, 2).min(1)", "aclnnMinDim", "DT_INT32"),
    dtype("x(boolean, 3).mean(dtype=torch.float32)", "aclnnMean", "DT_BOOL"),
    dtype("F.unfold(x(f64, 1, 1, 4, 4), 2)", "aclnnIm2col", "DT_DOUBLE"),
    dtype(
        "F.pad(x(boolean, 1, 2, 2), (1, 1), mode='replicate')",
        "aclnnReplicationPad1d",
        "DT_BOOL",
    ),
    dtype("torch.logsumexp(x(f64, 3), 0)", "aclnnLogSumExp", "DT_DOUBLE"),
    dtype("torch.histc(x(f64, 3), 2)", "aclnnHistc", "DT_DOUBLE"),
    dtype("torch.cdist(x(f64, 2, 2), x(f64, 2, 2))", "aclnnCdist", "DT_DOUBLE"),
    dtype("torch.unique(x(c64, 3))", "aclnnUnique", "DT_COMPLEX64"),
    dtype("torch.linalg.cholesky(x(f64, 1, 1))", "aclnnLinalgCholesky", "DT_DOUBLE"),
    dtype("x(f64, 3).repeat_interleave(2)", "aclnnRepeatInterleave", "DT_DOUBLE", "huggingface/diffusers#10428"),
    dtype("x(c64, 3).repeat_interleave(2)", "aclnnRepeatInterleave", "DT_COMPLEX64"),
]

INDEXING_AND_FACTORIES = [
    dtype("torch.gather(x(c64, 2), 0, x(i64, 2))", "aclnnGather", "DT_COMPLEX64"),
    dtype("x(f64, 2).index_fill_(0, x(i64, 1), 1.0)", "aclnnInplaceIndexFill", "DT_DOUBLE"),
    dtype("torch.zeros(2, dtype=torch.uint64, device='npu')", "aclnnInplaceZero", "DT_UINT64", "Ascend/pytorch#83"),
    dtype(
        "torch.zeros(2, dtype=torch.complex32, device='npu')",
        "aclnnInplaceZero",
        "DT_COMPLEX32",
    ),
    dtype(
        "torch.randn(2, dtype=torch.complex64, device='npu')",
        "aclnnInplaceNormal",
        "DT_COMPLEX64",
        "flagos-ai/FlagGems#3267",
    ),
    dtype(
        "torch.randn(2, dtype=torch.complex32, device='npu')",
        "aclnnInplaceNormal",
        "DT_COMPLEX32",
        "flagos-ai/FlagGems#3267",
    ),
    dtype("torch.eye(2, dtype=torch.float64, device='npu')", "aclnnEye", "DT_DOUBLE"),
]

SHAPES_AND_PARAMETERS = [
    ("nine().masked_fill(nine() > 0, 0.0)", (CANN, "cannot be larger than 8 dimensions"), "its copy: TABLE"),
    (
        "F.max_pool2d(x(f32, 1, 1, 6, 6), 2, dilation=2)",
        (CANN, "dilation only support 1"),
        "Ascend/pytorch, docs/zh/api/native_api",
    ),
    (
        "F.max_pool2d(x(f16, 1, 1, 6, 6), 2, dilation=(1, 2))",
        (CANN, "dilation only support 1"),
        "Ascend/pytorch, docs/zh/api/native_api",
    ),
    (
        "torch.sort(x(f64, 3), stable=True)",
        ("Input data type should not be float64", "ERR01002 OPS invalid type"),
        OP_PLUGIN + "SortKernelNpuOpApi.cpp",
    ),
    (
        "F.interpolate(x(f64, 1, 1, 4, 4), 8, mode='bilinear')",
        ("not support torch.fp64", "ERR01002 OPS invalid type"),
        OP_PLUGIN + "UpsampleBilinear2dKernelNpuOpApi.cpp",
    ),
    (
        "torch.linalg.svd(x(f64, 2, 2))",
        ("svd_npu only supported Float", "ERR01002 OPS invalid type"),
        OP_PLUGIN + "LinalgSvdKernelNpuOpApi.cpp",
    ),
    (
        "torch.sum(x(f32, 1, 1), dim=-3)",
        ("Dimension out of range (expected to be in range of [-2, 1], but got -3)", "ERR01001 OPS invalid parameter"),
        "https://gitcode.com/Ascend/op-plugin, test/test_base_ops/test_all.py",
    ),
    (
        "torch.mean(x(f32, 2), (0, 1))",
        ("Dimension out of range (expected to be in range of [-1, 0], but got 1)", "ERR01001 OPS invalid parameter"),
        OP_PLUGIN + "MeanKernelNpuOpApi.cpp",
    ),
    (
        "F.adaptive_avg_pool2d(x(f32, 1, 3, 3, 3), (2, 2, 2))",
        ("adaptive_avg_pool2d: output size must be 2",),
        OP_PLUGIN + "AdaptiveAvgPool2dKernelNpuOpApi.cpp",
    ),
    (
        "x(f32, 1, 2, 3, 3).to(memory_format=torch.channels_last)",
        ("Only contiguous_format or preserve_format",),
        TORCH_NPU + "aten/common/ToKernelNpu.cpp",
    ),
    (
        "x(f32, 1, 2, 3, 3).contiguous(memory_format=torch.channels_last)",
        ("contiguous memory format",),
        TORCH_NPU + "aten/common/TensorProperties.cpp",
    ),
]


def gradient(call: str, function: str, acl: str, source: str = TABLE) -> tuple[str, tuple[str, ...], str]:
    """The forward pass is taken, its gradient is not."""
    return dtype(f"grad({call})", function, acl, source)


GRADIENTS = [
    gradient("F.elu, x(f64, 4)", "aclnnEluBackward", "DT_DOUBLE"),
    gradient(
        "F.embedding, x(i64, 2), x(f64, 3, 4)",
        "aclnnEmbeddingDenseBackward",
        "DT_DOUBLE",
    ),
    gradient(
        "lambda a: torch.softmax(a, 0), x(f64, 4)",
        "aclnnSoftmaxBackward",
        "DT_DOUBLE",
    ),
    gradient(
        "lambda a: F.interpolate(a, 8, mode='nearest'), x(f64, 1, 1, 4, 4)",
        "aclnnUpsampleNearest2dBackward",
        "DT_DOUBLE",
    ),
    gradient("F.hardtanh, x(f64, 4)", "aclnnHardtanhBackward", "DT_DOUBLE"),
]

CHECKED = "torchnpugen/utils.py, gen_device_check; ATen/core/op_registration/adaption.cpp of torch 2.13"
EXPECTED_NPU = (
    SAME + ". Expected NPU tensor, please check whether the input tensor device is correct.",
    "ERR01002 OPS invalid type",
)
UNCHECKED = "Ascend/pytorch, docs/zh/user_guide/troubleshooting (failed_verify_op_parameters); op_api_common.h"


def other_device(call: str, wrapper: str, culprit: str, expected: str = "npu:0") -> tuple[str, tuple[str, ...], str]:
    """Refused by torch_npu's generated wrapper; the line of older releases follows."""
    said = (
        f"{SAME}, but got ",
        f" is on {culprit}, different from other tensors on {expected} (when checking argument in method {wrapper})",
    )
    return call, (*said, f"{SAME}, but found at least two devices, {expected} and {culprit}!"), CHECKED


DEVICES = [
    ("x(f32, 2) + cpu(f32, 2)", EXPECTED_NPU, UNCHECKED),
    ("cpu(f32, 2) + x(f32, 2)", EXPECTED_NPU, UNCHECKED),
    ("F.mse_loss(x(f32, 2), cpu(f32, 2))", EXPECTED_NPU, UNCHECKED),
    ("x(f32, 2).masked_fill_(cpu(boolean, 2), 0.0)", EXPECTED_NPU, UNCHECKED),
    ("torch.where(cpu(boolean, 2), x(f32, 2), x(f32, 2))", EXPECTED_NPU, UNCHECKED),
    ("torch.softmax(x(f32, 2), 0).mul_(cpu(f32, 2))", EXPECTED_NPU, UNCHECKED),
    other_device("torch.cat([x(f32, 2), cpu(f32, 2)])", "wrapper_NPU__cat", "cpu"),
    other_device("torch.mm(x(f32, 2, 2), cpu(f32, 2, 2))", "wrapper_NPU__mm", "cpu"),
    ("F.linear(x(f32, 2, 2), cpu(f32, 2, 2))", (SAME,), CHECKED),
    other_device("F.layer_norm(x(f32, 2, 2), (2,), cpu(f32, 2))", "wrapper_NPU__native_layer_norm", "cpu"),
    other_device("F.batch_norm(x(f32, 2, 2), cpu(f32, 2), cpu(f32, 2))", "wrapper_NPU__native_batch_norm", "cpu"),
    ("F.conv2d(x(f32, 1, 1, 4, 4), cpu(f32, 1, 1, 2, 2))", (SAME,), CHECKED),
    other_device("F.embedding(cpu(i64, 2), x(f32, 3, 4))", "wrapper_NPU__embedding", "cpu"),
    other_device("F.cross_entropy(x(f32, 2, 3), cpu(i64, 2))", "wrapper_NPU__nll_loss_forward", "cpu"),
    other_device("torch.gather(x(f32, 2), 0, cpu(i64, 2))", "wrapper_NPU__gather", "cpu"),
    other_device("torch.index_select(x(f32, 2), 0, cpu(i64, 1))", "wrapper_NPU__index_select", "cpu"),
    # a scalar on the CPU is no exception where the wrapper compares devices
    other_device("torch.index_select(x(f32, 2), 0, torch.tensor(0))", "wrapper_NPU__index_select", "cpu"),
    other_device("torch.clamp(x(f32, 2), torch.tensor(0.0))", "wrapper_NPU_Tensor_clamp", "cpu"),
    ("x(f32, 2) + x(f32, 2).to('npu:1')", (SAME, "npu:0", "npu:1"), CHECKED),
    other_device("torch.mm(x(f32, 2, 2), x(f32, 2, 2).to('npu:1'))", "wrapper_NPU__mm", "npu:1"),
    other_device("torch.stack([x(f32, 2), x(f32, 2).to('npu:1')])", "wrapper_NPU__stack", "npu:1"),
    other_device("F.embedding(x(i64, 2).to('npu:1'), x(f32, 3, 4))", "wrapper_NPU__embedding", "npu:1"),
    other_device("torch.acosh(x(f32, 2), out=x(f32, 2).to('npu:1'))", "wrapper_NPU_out_acosh_out", "npu:1"),
    other_device("torch_npu.npu_linear(x(f32, 2, 2), x(f32, 2, 2), cpu(f32, 2))", "wrapper_NPU__npu_linear", "cpu"),
    (
        "torch.randn(2, device='npu', generator=torch.Generator())",
        ("Expected a 'npu' device type for generator",),
        "ATen/core/Generator.h, check_generator",
    ),
    (
        "x(f32, 2).normal_(generator=torch.Generator())",
        ("Expected a 'npu' device type for generator",),
        "ATen/core/Generator.h, check_generator",
    ),
]

REFUSED = [
    *MATRIX,
    *LAYERS,
    *LOSSES,
    *ELEMENTS,
    *REDUCTIONS,
    *INDEXING_AND_FACTORIES,
    *SHAPES_AND_PARAMETERS,
    *GRADIENTS,
    *DEVICES,
]
