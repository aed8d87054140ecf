"""Calls that a real Atlas A2 refuses: (call, parts of the error, where that is said).

A call is an expression over the names of child.py; `x(f64, 2, 3)` is a tensor of ones on npu:0. Sources without a
scheme are documents or sources below https://gitcode.com/cann (branch 9.1.0) or issues `owner/repository#number` on
GitHub.
"""

from __future__ import annotations

CANN = "error code is 161002"
SAME = "Expected all tensors to be on the same device"
OP_PLUGIN = "https://gitcode.com/Ascend/op-plugin, branch 26.1.0, op_plugin/ops/opapi/"
TORCH_NPU = "https://gitcode.com/Ascend/pytorch, torch_npu/csrc/"


def dtype(call: str, function: str, acl: str, source: str) -> tuple[str, tuple[str, ...], str]:
    return call, (f"call {function}", CANN, f"not implemented for {acl}, should be in dtype support list"), source


MATRIX = [
    dtype("torch.mm(x(f64, 2, 2), x(f64, 2, 2))", "aclnnMm", "DT_DOUBLE", "ops-nn/aclnnMm.md"),
    dtype("torch.mm(x(i64, 2, 2), x(i64, 2, 2))", "aclnnMm", "DT_INT64", "ops-nn/aclnnMm.md"),
    dtype("torch.mm(x(i32, 2, 2), x(i32, 2, 2))", "aclnnMm", "DT_INT32", "ops-nn/aclnnMm.md"),
    dtype("torch.mm(x(c64, 2, 2), x(c64, 2, 2))", "aclnnMm", "DT_COMPLEX64", "ops-nn/aclnnMm.md"),
    dtype("x(f64, 2, 2) @ x(f64, 2, 2)", "aclnnMatmul", "DT_DOUBLE", "ops-nn/aclnnMatmul.md"),
    dtype("x(i64, 2, 2) @ x(i64, 2, 2)", "aclnnMatmul", "DT_INT64", "ops-nn/aclnnMatmul.md"),
    dtype("x(u8, 2, 2) @ x(u8, 2, 2)", "aclnnMatmul", "DT_UINT8", "ops-nn/aclnnMatmul.md"),
    dtype("torch.bmm(x(f64, 1, 2, 2), x(f64, 1, 2, 2))", "aclnnBatchMatMul", "DT_DOUBLE", "ops-nn/aclnnBatchMatMul.md"),
    dtype("torch.bmm(x(i32, 1, 2, 2), x(i32, 1, 2, 2))", "aclnnBatchMatMul", "DT_INT32", "ops-nn/aclnnBatchMatMul.md"),
    dtype("torch.addmm(x(f64, 2), x(f64, 2, 2), x(f64, 2, 2))", "aclnnAddmm", "DT_DOUBLE", "ops-nn/aclnnAddmm.md"),
    dtype(
        "torch.baddbmm(x(i64, 1, 2, 2), x(i64, 1, 2, 2), x(i64, 1, 2, 2))",
        "aclnnBaddbmm",
        "DT_INT64",
        "ops-nn/aclnnBaddbmm.md",
    ),
    dtype("torch.mv(x(f64, 2, 2), x(f64, 2))", "aclnnMv", "DT_DOUBLE", "ops-nn/aclnnMv.md"),
    dtype("torch.dot(x(f64, 2), x(f64, 2))", "aclnnDot", "DT_DOUBLE", "ops-math/aclnnDot.md"),
    dtype("F.linear(x(f64, 2, 2), x(f64, 2, 2))", "", "DT_DOUBLE", "ops-nn/aclnnMatmul.md"),
    dtype("F.conv1d(x(f64, 1, 1, 4), x(f64, 1, 1, 2))", "aclnnConvolution", "DT_DOUBLE", "ops-nn/aclnnConvolution.md"),
    dtype(
        "F.conv2d(x(f64, 1, 1, 4, 4), x(f64, 1, 1, 2, 2))",
        "aclnnConvolution",
        "DT_DOUBLE",
        "ops-nn/aclnnConvolution.md",
    ),
    dtype(
        "F.conv2d(x(i64, 1, 1, 4, 4), x(i64, 1, 1, 2, 2))", "aclnnConvolution", "DT_INT64", "ops-nn/aclnnConvolution.md"
    ),
    dtype(
        "F.conv3d(x(f64, 1, 1, 4, 4, 4), x(f64, 1, 1, 2, 2, 2))",
        "aclnnConvolution",
        "DT_DOUBLE",
        "ops-nn/aclnnConvolution.md",
    ),
    dtype(
        "F.conv_transpose2d(x(f64, 1, 1, 4, 4), x(f64, 1, 1, 2, 2))",
        "aclnnConvolution",
        "DT_DOUBLE",
        "ops-nn/aclnnConvolution.md",
    ),
    dtype(
        "F.scaled_dot_product_attention(*[x(f64, 1, 2, 4, 8)] * 3)",
        "",
        "DT_DOUBLE",
        "ops-nn/aclnnBatchMatMul.md; ops-transformer/aclnnFlashAttentionScore.md",
    ),
]

LAYERS = [
    dtype("F.layer_norm(x(f64, 2, 4), (4,))", "aclnnLayerNorm", "DT_DOUBLE", "ops-nn/aclnnLayerNorm.md"),
    dtype("F.layer_norm(x(i64, 2, 4), (4,))", "aclnnLayerNorm", "DT_INT64", "ops-nn/aclnnLayerNorm.md"),
    dtype("F.group_norm(x(f64, 2, 4), 2)", "aclnnGroupNorm", "DT_DOUBLE", "ops-nn/aclnnGroupNorm.md"),
    dtype(
        "F.batch_norm(x(f64, 2, 4), x(f64, 4), x(f64, 4))", "aclnnBatchNorm", "DT_DOUBLE", "ops-nn/aclnnBatchNorm.md"
    ),
    dtype("F.instance_norm(x(f64, 2, 4, 3))", "aclnnBatchNorm", "DT_DOUBLE", "ops-nn/aclnnBatchNorm.md"),
    dtype("torch.softmax(x(i64, 4), 0)", "aclnnSoftmax", "DT_INT64", "ops-nn/aclnnSoftmax.md"),
    dtype("torch.softmax(x(c64, 4), 0)", "aclnnSoftmax", "DT_COMPLEX64", "ops-nn/aclnnSoftmax.md"),
    dtype("torch.log_softmax(x(i32, 4), 0)", "aclnnLogSoftmax", "DT_INT32", "ops-nn/aclnnLogSoftmax.md"),
    dtype("F.gelu(x(f64, 4))", "aclnnGelu", "DT_DOUBLE", "ops-nn/aclnnGelu.md"),
    dtype("F.gelu(x(i64, 4))", "aclnnGelu", "DT_INT64", "ops-nn/aclnnGelu.md"),
    dtype("F.silu(x(f64, 4))", "aclnnSilu", "DT_DOUBLE", "ops-nn/aclnnSilu.md"),
    dtype("F.relu(x(f64, 4))", "aclnnRelu", "DT_DOUBLE", "ops-nn/aclnnRelu.md"),
    dtype("F.relu_(x(f64, 4))", "aclnnInplaceRelu", "DT_DOUBLE", "ops-nn/aclnnRelu.md"),
    dtype("F.mish(x(f64, 4))", "aclnnMish", "DT_DOUBLE", "ops-nn/aclnnMish.md"),
    dtype("F.hardswish(x(f64, 4))", "aclnnHardswish", "DT_DOUBLE", "ops-nn/aclnnHardswish.md"),
    dtype("F.hardsigmoid(x(f64, 4))", "aclnnHardsigmoid", "DT_DOUBLE", "ops-nn/aclnnHardsigmoid.md"),
    dtype("F.softplus(x(f64, 4))", "aclnnSoftplus", "DT_DOUBLE", "ops-nn/aclnnSoftplus.md"),
    dtype("F.logsigmoid(x(f64, 4))", "aclnnLogSigmoidForward", "DT_DOUBLE", "ops-nn/aclnnLogSigmoid.md"),
    dtype("torch.tanh(x(f64, 4))", "aclnnTanh", "DT_DOUBLE", "ops-math/aclnnTanh.md"),
    dtype("F.avg_pool2d(x(f64, 1, 1, 4, 4), 2)", "aclnnAvgPool2d", "DT_DOUBLE", "ops-nn/aclnnAvgPool2d.md"),
    dtype("F.max_pool2d(x(f64, 1, 1, 4, 4), 2)", "aclnnMaxPool2d", "DT_DOUBLE", "ops-nn/aclnnMaxPool2dWithMask.md"),
    dtype("F.max_pool2d(x(i64, 1, 1, 4, 4), 2)", "aclnnMaxPool2d", "DT_INT64", "ops-nn/aclnnMaxPool2dWithMask.md"),
    dtype(
        "F.adaptive_avg_pool2d(x(f64, 1, 1, 4, 4), 2)",
        "aclnnAdaptiveAvgPool2d",
        "DT_DOUBLE",
        "ops-nn/aclnnAdaptiveAvgPool2d.md",
    ),
    dtype(
        "F.adaptive_avg_pool3d(x(f64, 1, 1, 4, 4, 4), 2)",
        "aclnnAdaptiveAvgPool3d",
        "DT_DOUBLE",
        "ops-nn/aclnnAdaptiveAvgPool3d.md",
    ),
    dtype("F.embedding(x(f32, 2), x(f32, 3, 4))", "aclnnEmbedding", "DT_FLOAT", "ops-nn/aclnnEmbedding.md"),
    dtype("F.embedding(x(i16, 2), x(f32, 3, 4))", "aclnnEmbedding", "DT_INT16", "ops-nn/aclnnEmbedding.md"),
    dtype(
        "F.interpolate(x(f64, 1, 1, 4, 4), 8, mode='bicubic')",
        "aclnnUpsampleBicubic2d",
        "DT_DOUBLE",
        "ops-cv/aclnnUpsampleBicubic2d.md",
    ),
    dtype(
        "F.interpolate(x(f64, 1, 1, 4), 8, mode='linear')",
        "aclnnUpsampleLinear1d",
        "DT_DOUBLE",
        "ops-cv/aclnnUpsampleLinear1d.md",
    ),
]

LOSSES = [
    dtype("F.nll_loss(x(f64, 2, 3), x(i64, 2))", "aclnnNLLLoss", "DT_DOUBLE", "ops-nn/aclnnNLLLoss.md"),
    dtype("F.nll_loss(x(f32, 2, 3), x(f32, 2))", "aclnnNLLLoss", "DT_FLOAT", "ops-nn/aclnnNLLLoss.md"),
    dtype("F.cross_entropy(x(f32, 2, 3), x(i16, 2))", "aclnnNLLLoss", "DT_INT16", "ops-nn/aclnnNLLLoss.md"),
    dtype("F.cross_entropy(x(f64, 2, 3), x(i64, 2))", "aclnnNLLLoss", "DT_DOUBLE", "ops-nn/aclnnNLLLoss.md"),
    dtype(
        "F.binary_cross_entropy(x(f64, 2), x(f64, 2))",
        "aclnnBinaryCrossEntropy",
        "DT_DOUBLE",
        "ops-nn/aclnnBinaryCrossEntropy.md",
    ),
    dtype(
        "F.binary_cross_entropy_with_logits(x(f64, 2), x(f64, 2))",
        "aclnnBinaryCrossEntropyWithLogits",
        "DT_DOUBLE",
        "ops-nn/aclnnBinaryCrossEntropyWithLogits.md",
    ),
    dtype(
        "F.binary_cross_entropy_with_logits(x(f32, 2), x(i64, 2))",
        "aclnnBinaryCrossEntropyWithLogits",
        "DT_INT64",
        "ops-nn/aclnnBinaryCrossEntropyWithLogits.md",
    ),
    dtype("F.mse_loss(x(f64, 2), x(f64, 2))", "aclnnMseLoss", "DT_DOUBLE", "ops-nn/aclnnMseLoss.md"),
    dtype("F.mse_loss(x(f32, 2), x(i64, 2))", "aclnnMseLoss", "DT_INT64", "ops-nn/aclnnMseLoss.md"),
    dtype("F.l1_loss(x(f32, 2), x(f64, 2))", "aclnnL1Loss", "DT_DOUBLE", "ops-nn/aclnn_l1_loss.cpp"),
    dtype("F.smooth_l1_loss(x(f64, 2), x(f64, 2))", "aclnnSmoothL1Loss", "DT_DOUBLE", "ops-nn/aclnnSmoothL1Loss.md"),
]

ELEMENTS = [
    dtype("torch.exp(x(i32, 2))", "aclnnExp", "DT_INT32", "ops-math/aclnnExp.md"),
    dtype("torch.expm1(x(f64, 2))", "aclnnExpm1", "DT_DOUBLE", "ops-math/aclnnExpm1.md"),
    dtype("torch.erf(x(i32, 2))", "aclnnErf", "DT_INT32", "ops-math/aclnnErf.md"),
    dtype("torch.erfinv(x(f64, 2))", "aclnnErfinv", "DT_DOUBLE", "ops-nn/aclnnErfinv.md"),
    dtype("torch.trunc(x(f64, 2))", "aclnnTrunc", "DT_DOUBLE", "ops-math/aclnnTrunc.md"),
    dtype("torch.frac(x(f64, 2))", "aclnnFrac", "DT_DOUBLE", "ops-math/aclnnFrac.md"),
    dtype("torch.abs(x(c128, 2))", "aclnnAbs", "DT_COMPLEX128", "ops-math/aclnnAbs.md"),
    dtype("torch.neg(x(i16, 2))", "aclnnNeg", "DT_INT16", "ops-math/aclnnNeg.md"),
    dtype("torch.clamp(x(c64, 2), 0, 1)", "aclnnClamp", "DT_COMPLEX64", "ops-math/aclnnClamp.md"),
    dtype("torch.maximum(x(c64, 2), x(c64, 2))", "aclnnMaximum", "DT_COMPLEX64", "ops-math/aclnnMaximum.md"),
    dtype(
        "torch.addcdiv(x(c64, 2), x(c64, 2), x(c64, 2))",
        "aclnnAddcdiv",
        "DT_COMPLEX64",
        "Ascend/pytorch, test/unsupported_test_cases/disabled_tests_type.json",
    ),
    dtype("torch.lerp(x(c64, 2), x(c64, 2), 0.5)", "aclnnLerp", "DT_COMPLEX64", "ops-math/aclnnLerps.md"),
    dtype("x(i16, 2) % 2", "aclnnRemainderTensorScalar", "DT_INT16", "ops-math/aclnn_remainder.cpp"),
    dtype("x(i8, 2) % x(u8, 2)", "aclnnRemainderTensorTensor", "DT_INT8", "ops-math/aclnn_remainder.cpp"),
    dtype("x(boolean, 2) % True", "aclnnRemainderTensorScalar", "DT_BOOL", "ops-math/aclnn_remainder.cpp"),
    dtype("torch.gcd(x(i8, 2), x(i8, 2))", "aclnnGcd", "DT_INT8", "ops-math/aclnn_gcd.cpp"),
    dtype(
        "torch.addcmul(x(c64, 2), x(c64, 2), x(c64, 2))", "aclnnAddcmul", "DT_COMPLEX64", "ops-math/aclnn_addcmul.cpp"
    ),
    dtype(
        "torch.remainder(x(i16, 2), x(i16, 2))", "aclnnRemainder", "DT_INT16", "ops-math/aclnnRemainderTensorTensor.md"
    ),
    dtype("torch.fmod(x(i16, 2), x(i16, 2))", "aclnnFmodTensor", "DT_INT16", "ops-math/aclnnFmodTensor.md"),
    dtype("torch.bitwise_not(x(f32, 2))", "aclnnBitwiseNot", "DT_FLOAT", "ops-math/aclnnBitwiseNot.md"),
    dtype("x(f32, 2) & x(f32, 2)", "aclnnBitwiseAnd", "DT_FLOAT", "ops-math/aclnnBitwiseAndTensor.md"),
    dtype("x(f32, 2) << 1", "aclnnLeftShift", "DT_FLOAT", "ops-math/aclnnLeftShifts.md"),
    dtype(
        "torch.isclose(x(c64, 2), x(c64, 2))",
        "aclnnIsClose",
        "DT_COMPLEX64",
        "Ascend/pytorch, test/unsupported_test_cases/disabled_tests_type.json",
    ),
    dtype("torch.logical_not(x(c64, 2))", "aclnnLogicalNot", "DT_COMPLEX64", "ops-math/aclnnLogicalNot.md"),
    dtype(
        "x(f64, 2).masked_fill_(x(boolean, 2), 0.0)",
        "aclnnInplaceMaskedFillScalar",
        "DT_DOUBLE",
        "ops-math/aclnnInplaceMaskedFillScalar.md",
    ),
    dtype(
        "x(f64, 2).masked_fill(x(boolean, 2), 0.0)",
        "aclnnInplaceMaskedFillScalar",
        "DT_DOUBLE",
        "ops-math/aclnnInplaceMaskedFillScalar.md",
    ),
    dtype(
        "x(i16, 2).masked_fill_(x(boolean, 2), 0)",
        "aclnnInplaceMaskedFillScalar",
        "DT_INT16",
        "ops-math/aclnnInplaceMaskedFillScalar.md",
    ),
    dtype(
        "x(f32, 2).masked_fill_(x(u8, 2), 0.0)",
        "aclnnInplaceMaskedFillScalar",
        "DT_UINT8",
        "ops-math/aclnnInplaceMaskedFillScalar.md",
    ),
]

REDUCTIONS = [
    dtype("torch.sort(x(c64, 3))", "aclnnSort", "DT_COMPLEX64", "ops-math/aclnnSort.md"),
    dtype("torch.topk(x(boolean, 3), 1)", "aclnnTopk", "DT_BOOL", "ops-math/aclnnTopk.md"),
    dtype(
        "torch.max(x(f64, 2, 2), 1)",
        "aclnnMaxDim",
        "DT_DOUBLE",
        "Ascend/pytorch, test/unsupported_test_cases/disabled_tests_type.json",
    ),
    dtype("torch.min(x(f64, 2, 2), 1)", "aclnnMinDim", "DT_DOUBLE", "ops-math/aclnnMinDim.md"),
    dtype("torch.median(x(f64, 3))", "aclnnMedian", "DT_DOUBLE", "ops-nn/aclnnMedian.md"),
    dtype("torch.kthvalue(x(f64, 3), 1)", "aclnnKthvalue", "DT_DOUBLE", "ops-nn/aclnnKthvalue.md"),
    dtype("torch.std(x(f64, 3))", "aclnnStd", "DT_DOUBLE", "ops-math/aclnnStd.md"),
    dtype("torch.var(x(f64, 3))", "aclnnVar", "DT_DOUBLE", "ops-math/aclnnVarCorrection.md"),
    dtype("x(i32, 2, 2).max(1)", "aclnnMaxDim", "DT_INT32", "ops-math/aclnn_max_dim.cpp"),
    dtype("x(i32, 2, 2).min(1)", "aclnnMinDim", "DT_INT32", "ops-math/aclnn_min_dim.cpp"),
    dtype("x(boolean, 3).mean(dtype=torch.float32)", "aclnnMean", "DT_BOOL", "ops-math/aclnn_mean.cpp"),
    dtype("torch.var_mean(x(bf16, 3))", "aclnnVarMean", "DT_BFLOAT16", "ops-math/aclnn_var_mean.cpp"),
    dtype(
        "torch.batch_norm_stats(x(bf16, 2, 3), 1e-5)",
        "aclnnBatchNormStats",
        "DT_BFLOAT16",
        "ops-math/aclnn_batch_norm_stats.cpp",
    ),
    dtype("F.unfold(x(f64, 1, 1, 4, 4), 2)", "aclnnIm2col", "DT_DOUBLE", "ops-math/aclnn_im2col.cpp"),
    dtype(
        "F.pad(x(boolean, 1, 2, 2), (1, 1), mode='replicate')",
        "aclnnReplicationPad1d",
        "DT_BOOL",
        "ops-math/aclnn_replication_pad1d.cpp",
    ),
    dtype("torch.logsumexp(x(f64, 3), 0)", "aclnnLogSumExp", "DT_DOUBLE", "ops-math/aclnnLogSumExp.md"),
    dtype("torch.histc(x(f64, 3), 2)", "aclnnHistc", "DT_DOUBLE", "ops-math/aclnnHistc.md"),
    dtype("torch.cdist(x(f64, 2, 2), x(f64, 2, 2))", "aclnnCdist", "DT_DOUBLE", "ops-math/aclnnCdist.md"),
    dtype("torch.unique(x(c64, 3))", "aclnnUnique", "DT_COMPLEX64", "ops-nn/aclnnUnique2.md"),
    dtype("torch.linalg.cholesky(x(f64, 1, 1))", "aclnnLinalgCholesky", "DT_DOUBLE", "ops-math/aclnnLinalgCholesky.md"),
    dtype("x(f64, 3).repeat_interleave(2)", "aclnnRepeatInterleave", "DT_DOUBLE", "huggingface/diffusers#10428"),
    dtype(
        "x(c64, 3).repeat_interleave(2)", "aclnnRepeatInterleave", "DT_COMPLEX64", "ops-nn/aclnnRepeatInterleaveInt.md"
    ),
]

INDEXING_AND_FACTORIES = [
    dtype("torch.gather(x(f32, 2), 0, x(i16, 2))", "aclnnGather", "DT_INT16", "ops-nn/aclnnGather.md"),
    dtype("torch.gather(x(c64, 2), 0, x(i64, 2))", "aclnnGather", "DT_COMPLEX64", "ops-nn/aclnnGather.md"),
    dtype("torch.index_select(x(f32, 2), 0, x(f32, 1))", "aclnnIndexSelect", "DT_FLOAT", "ops-nn/aclnnIndexSelect.md"),
    dtype(
        "x(f32, 2).scatter_(0, x(u8, 1), 1.0)",
        "aclnnInplaceScatterValue",
        "DT_UINT8",
        "ops-nn/aclnnInplaceScatterValue.md",
    ),
    dtype(
        "x(f32, 2).scatter_add_(0, x(f32, 1), x(f32, 1))", "aclnnScatterAdd", "DT_FLOAT", "ops-nn/aclnnScatterAdd.md"
    ),
    dtype("x(f64, 2).index_fill_(0, x(i64, 1), 1.0)", "aclnnInplaceIndexFill", "DT_DOUBLE", "ops-nn/aclnnIndexFill.md"),
    dtype("x(c128, 3)[x(i64, 1)]", "aclnnIndex", "DT_COMPLEX128", "ops-nn/aclnnIndex.md"),
    dtype("torch.where(x(f32, 2), x(f32, 2), x(f32, 2))", "aclnnSWhere", "DT_FLOAT", "ops-math/aclnnSWhere.md"),
    dtype("torch.zeros(2, dtype=torch.uint64, device='npu')", "aclnnInplaceZero", "DT_UINT64", "Ascend/pytorch#83"),
    dtype(
        "torch.zeros(2, dtype=torch.complex32, device='npu')",
        "aclnnInplaceZero",
        "DT_COMPLEX32",
        "ops-math/aclnnInplaceZero.md",
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
    dtype("torch.arange(3, dtype=torch.int16, device='npu')", "aclnnArange", "DT_INT16", "ops-math/aclnnArange.md"),
    dtype("torch.arange(3, dtype=torch.uint8, device='npu')", "aclnnArange", "DT_UINT8", "ops-math/aclnnArange.md"),
    dtype("torch.eye(2, dtype=torch.float64, device='npu')", "aclnnEye", "DT_DOUBLE", "ops-math/aclnnEye.md"),
    dtype(
        "torch.ones(2, dtype=torch.complex64, device='npu')",
        "aclnnInplaceOne",
        "DT_COMPLEX64",
        "ops-math/aclnnInplaceOne.md",
    ),
]

SHAPES_AND_PARAMETERS = [
    ("nine() + 1", (CANN, "cannot be larger than 8 dimensions"), "ops-math/aclnnAdds.md"),
    ("nine() * nine()", (CANN, "cannot be larger than 8 dimensions"), "ops-math/aclnnMul.md"),
    ("nine().sum()", (CANN, "cannot be larger than 8 dimensions"), "ops-math/aclnnReduceSum.md"),
    ("F.relu(nine())", (CANN, "cannot be larger than 8 dimensions"), "ops-nn/aclnnRelu.md"),
    ("nine().masked_fill(nine() > 0, 0.0)", (CANN, "cannot be larger than 8 dimensions"), "ops-math/aclnnGtScalar.md"),
    (
        "F.max_pool2d(x(f32, 1, 1, 6, 6), 2, dilation=2)",
        (CANN, "dilation only support 1"),
        "ops-nn/aclnnMaxPool2dWithMask.md",
    ),
    (
        "F.max_pool2d(x(f16, 1, 1, 6, 6), 2, dilation=(1, 2))",
        (CANN, "dilation only support 1"),
        "ops-nn/aclnnMaxPool2dWithMask.md",
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


def gradient(call: str, function: str, acl: str, source: str) -> tuple[str, tuple[str, ...], str]:
    """The forward pass is taken, its gradient is not."""
    return dtype(f"grad({call})", function, acl, source)


GRADIENTS = [
    gradient("F.elu, x(f64, 4)", "aclnnEluBackward", "DT_DOUBLE", "ops-nn/aclnnEluBackward.md"),
    gradient(
        "F.embedding, x(i64, 2), x(f64, 3, 4)",
        "aclnnEmbeddingDenseBackward",
        "DT_DOUBLE",
        "ops-nn/aclnnEmbeddingDenseBackward.md",
    ),
    gradient(
        "lambda a: torch.softmax(a, 0), x(f64, 4)",
        "aclnnSoftmaxBackward",
        "DT_DOUBLE",
        "ops-nn/aclnnSoftmaxBackward.md",
    ),
    gradient(
        "lambda a: F.interpolate(a, 8, mode='nearest'), x(f64, 1, 1, 4, 4)",
        "aclnnUpsampleNearest2dBackward",
        "DT_DOUBLE",
        "ops-cv/aclnnUpsampleNearest2dBackward.md",
    ),
    gradient("F.hardtanh, x(f64, 4)", "aclnnHardtanhBackward", "DT_DOUBLE", "ops-nn/aclnnHardtanhBackward.md"),
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
