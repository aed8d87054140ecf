"""Families of kernels: what a busy device computes, by the operator that launched a kernel and the kernel's own name."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.trace import Trace

#: In order of precedence
FAMILIES = {
    "casting": r"aten::_to_copy$|^aten::to$|^npu::npu_dtype_cast|^Cast$|^aclnnCast|convert_element_type$",
    "layout": r"nchwToNhwc|nhwcToNchw|transpose(?!d_conv)|TransData|^Transpose|aten::(contiguous|clone|permute|_reshape_alias)$"
    r"|aclnnPermute|format_cast|aclnnInplaceCopy|tensorTransformGeneric",
    "attention": r"attention|flash|fmha|sdpa|scaled_dot_product|paged_att|PromptFlash|IncreFlash|mha_|softmax",
    "convolution": r"conv(?!ert)|wgrad|dgrad|winograd|implicit_gemm|Conv2D|cudnn.*(fprop|bprop)|miopen.*Conv",
    "gemm": r"gemm|matmul|aten::(mm|addmm|bmm|baddbmm|linear)$|Cijk_|cutlass|xmma|MatMul|cublas|_mm_|nvjet|wvSplitK",
    "normalization": r"norm(?!al_)|bn_(fw|bw)|RMSNorm|welford",
    "optimizer": r"optimizer|Optimizer\.|adam|sgd|multi_tensor_apply|_foreach|_fused_adam|ApplyAdam|ApplyMomentum",
    "embedding": r"embedding|index_select|gather|scatter|aten::index|index_put",
    "sorting": r"sort|topk|radix|nonzero|unique|cumsum",
    "pooling": r"pool",
    "reduction": r"reduce|aten::(sum|mean|max|min|argmax)|Reduce",
    "elementwise": r"elementwise|aten::(add|mul|sub|div|relu|gelu|silu|sigmoid|fill_|zero_|copy_|cat|dropout)|vectorized|"
    r"triton_|Add|Mul|Fill|threshold|cat|CatArray|copy|where|unrolled",
}
PATTERNS = [(name, re.compile(pattern, 0)) for name, pattern in FAMILIES.items()]
OTHER = "other"


def family_of(name: str) -> str:
    """Return the family that a name tells."""
    return next((family for family, pattern in PATTERNS if pattern.search(name)), OTHER)


def time_by_family(trace: Trace, rows: npt.NDArray[np.integer]) -> dict[str, int]:
    """Return the nanoseconds of these kernels by family, the longest first: by the kernel's own name, else by the
    operator that launched it."""
    family = np.array([family_of(name) for name in trace.names] or [OTHER], np.object_)
    own = family[trace.name[rows]]
    by = trace.launched_by[rows]
    operator = np.where(by >= 0, family[trace.name[np.maximum(by, 0)]], OTHER)
    chosen = np.where((own == OTHER) | (np.isin(own, ["elementwise"]) & (operator != OTHER)), operator, own)
    chosen = np.where(np.isin(operator, ["casting", "layout"]) & np.isin(own, ["elementwise", OTHER]), operator, chosen)
    names, at = np.unique(chosen.astype(str), return_inverse=True)
    spent = np.zeros(names.size, np.int64)
    np.add.at(spent, at, trace.duration_ns[rows])
    return dict(sorted(zip(names.tolist(), spent.tolist()), key=lambda pair: -pair[1]))
