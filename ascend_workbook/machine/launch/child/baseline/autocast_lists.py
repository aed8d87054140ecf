"""What CUDA's autocast does to each operator.

Source: https://pytorch.org/docs/stable/amp.html#cuda-op-specific-behavior and, for the exact overloads,
aten/src/ATen/autocast_mode.h (AT_FORALL_LOWER_PRECISION_FP, AT_FORALL_FP32, AT_FORALL_FP32_SET_OPT_DTYPE,
AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE, AT_FORALL_PROMOTE). The installed torch knows which operators it has
registered for CUDA's autocast; autocast.py refuses one that is not listed here.
"""

from __future__ import annotations

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: Run in float16 or bfloat16.
LOWER = """
_convolution _convolution.deprecated _scaled_dot_product_flash_attention _thnn_fused_gru_cell
_thnn_fused_lstm_cell addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc
conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution cudnn_convolution
cudnn_convolution_transpose einsum gru_cell linalg_multi_dot linalg_vecdot linear lstm_cell matmul mm mv prelu
rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention
""".split()

#: Of these, those made of several steps whose results CUDA rounds one by one.
ROUNDED_WITHIN = {"chain_matmul", "linalg_multi_dot", "gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"}

#: Run in float32.
FLOAT32 = """
_upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
_upsample_nearest_exact3d acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss
cosine_similarity dist erfinv exp expm1 frobenius_norm.dim group_norm hinge_embedding_loss huber_loss kl_div
l1_loss layer_norm log log10 log1p log2 logsumexp margin_ranking_loss mse_loss multi_margin_loss
multilabel_margin_loss native_layer_norm nll_loss nll_loss2d nuclear_norm nuclear_norm.dim pdist
poisson_nll_loss pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor reciprocal renorm rms_norm rsqrt sinh
smooth_l1_loss soft_margin_loss softplus tan triplet_margin_loss upsample_bicubic2d upsample_bilinear2d
upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d
""".split()

#: Asked for a float32 result by their own `dtype`, unless the caller names one.
FLOAT32_RESULT = """
cumprod cumsum linalg_matrix_norm linalg_matrix_norm.str_ord linalg_vector_norm log_softmax.int prod
prod.dim_int softmax.int sum sum.dim_IntList
""".split()

#: Sent to another overload that takes the dtype of the result.
OTHER_OVERLOAD = {"norm.Scalar": "norm.ScalarOpt_dtype", "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype"}

#: All floating-point arguments brought to the widest type among them.
WIDEST = """
addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put scatter_add tensordot vdot
""".split()

#: Refused with this explanation.
REFUSED = {
    "binary_cross_entropy": "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. "
    "Use torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss."
}

#: Kernels of CUDA's own libraries, which the CPU never runs.
NOT_ON_CPU = {"cudnn_convolution", "cudnn_convolution_transpose", "_thnn_fused_gru_cell", "_thnn_fused_lstm_cell"}
