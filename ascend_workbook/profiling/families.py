"""Families of kernels: what a kernel computes, told by its name, whoever made the device and whoever wrote the kernel.

A name says it in its maker's own way: cuBLAS' `nvjet_tst_128x256_...`, Tensile's `Cijk_Ailk_Bljk_...` and CANN's
`aclnnMatmul_MatMulV3Common_MatMulV3` are all matrix products. The first row of TABLE that fits decides; a name that no
row fits has no family. Of an NPU's kernel the last part of the name is its type: `aclnnFlashAttentionScore_
TransposeAiCore_Transpose` is a transpose that attention asked for. Names as in public traces and profiles;
https://docs.nvidia.com/cuda (cuBLAS, cuDNN, NCCL),
https://docs.pytorch.org/docs/stable/torch.compiler.html (triton_poi, triton_per, triton_red, triton_tem),
https://www.hiascend.com/document (types in kernel_details.csv)."""

from __future__ import annotations

import re
from functools import lru_cache

#: What torch.compile's Triton kernels are by their prefix: pointwise ones compute elementwise whatever they are made of
POINTWISE = re.compile(r"^triton_poi_")
#: (family, what its names have in them; letters of either case)
TABLE = tuple(
    (family, re.compile("|".join(signs), re.IGNORECASE))
    for family, signs in {
        "collective": (
            r"nccl|rccl|hccl|\bhcom_|oneccl|nvshmem|mscclpp|deep_?ep\b|symm_mem|multimem_|quick_?reduce|lamport",
            r"cross_device_reduce|(one|two)_?shot_?all|all_?(reduce|gather|to_?all)|reduce_?scatter(?!_|nd)",
        ),
        "copy": (r"^mem(cpy|set)|memcpy_async|rocclr_(copy|fill)Buffer|^copy (HtoD|DtoH|DtoD|HtoH)|sdma",),
        "optimizer": (
            r"multi_?tensor_?apply|multi_tensor_(adam|sgd|lamb|lion|l2norm)|fused_?(adam|sgd|lamb|lion)",
            r"^apply(adam|momentum|sgd|rmsprop|adagrad)|adam(w|apply)|^foreach|lars|unscale",
        ),
        "attention": (
            r"flash(?!infer::norm)[\w:<]*(fwd|bwd|attn|attention|kernel)|fmha|attention|attn|batch(decode|prefill)with|\bmla_|_mla\b",
            r"mqa_logits|sdpa",
        ),
        "conv": (
            r"conv(?!ert)|implicit_?i?gemm|igemm_(fwd|bwd|wrw)|wgrad|dgrad|fprop|winograd",
            r"miopen\w*(sp3|asm|wrw)|im2col|col2im",
        ),
        "gemm": (
            r"gemm|gemv|mat_?mul|cijk_|nvjet|xmma|splitk_?reduce|tensorop|cublas|marlin|fused_moe|\b(add|b)?mm_?kernel",
            r"triton_(tem_|mm)|scaled_mm|einsum|mul_mat|linear_kernel|cutlass::kernel|dot_kernel|awq|gptq",
        ),
        "softmax": (r"soft_?max|cross_?entropy|nll_?loss",),
        "norm": (
            r"(layer|rms|group|batch|instance|l2)_?norm|\bln_(fwd|bwd)|bn_?(training|infer|fw|bw)|norm(_fwd|_bwd|kernel)",
            r"(cudnn|miopen)\w*bn|gammabeta|welford|triton_(per|red)_\w*rsqrt|(add|deep)norm",
        ),
        "random": (r"drop_?out|philox|distribution|bernoulli|\brandom|randperm|normal_and_transform|stateless",),
        "index": (
            r"index|gather|scatter|embedding|top_?k|sort|nonzero|masked_?(select|scatter)|unique|routing|moe_\w*align",
            r"one_?hot|reshape_and_cache|slot_mapping|searchsorted",
        ),
        "pooling": (r"pool(?!ed_)|upsample|interpolat|^resize",),
        "layout": (
            r"transpose|permut|catarray|concat|\bcat_|^split|^pad|transdata|copy_kernel|direct_copy|tensormove|^cast",
            r"identity|nchwtonhwc|nhwctonchw|contiguous|^(strided)?slice|viewcopy|asstrided|broadcastto|^tile|\bto_copy",
            r"^pack|^unpack|^stack|reformat|copy_device|quant",
        ),
        "reduction": (r"reduce|cum(sum|prod)|\bscan|arg(max|min)|triton_(per|red)_|norm\b|allfinite|isfinite",),
        "elementwise": (
            r"elementwise|_act\b|act_and_mul|rotary|rope|(ge|re|si|e|se|mi)lu|glu\b|swish|sigmoid|tanh|functor|^fill|zeros|ones",
            r"^(add|sub|mul|real_?div|div|neg|abs|exp|log|pow|r?sqrt|square|maximum|minimum|clip|where|select|equal)",
            r"^(not_?equal|less|greater|logical|bitwise|reciprocal|erf|sin|cos|floor|ceil|round|sign|muls|adds|axpy)",
            r"^(addc|lerp|masked_?fill|tri[ul]|range|arange|bias|fused_?mul|assign|drop)|add_?kernel|mul_?kernel",
        ),
    }.items()
)
FAMILIES = tuple(family for family, _ in TABLE)
#: In the place of a family where no row fits
UNKNOWN = ""
#: aclnnMul_MulAiCore_Mul, trans_TransData_12: which operator asked, which kernel, its type; a number may follow
OF_NPU = re.compile(r"^(?:aclnn\w+?|trans|aclop\w*)_(?:\w+_)?([A-Za-z]\w*?)(?:_\d+)?$")


@lru_cache(maxsize=2**16)
def family_of(name: str, kind: str = "") -> str:
    """Return the family of a kernel by its name, UNKNOWN where it tells none. `kind`, where known, is the event's own:
    a collective or a copy is one whatever its name says."""
    if kind in ("communication", "communication_task"):
        return "collective"
    if kind == "copy":
        return "copy"
    if POINTWISE.search(name):
        return "elementwise"
    plain = name[5:] if name.startswith("void ") else name
    match = OF_NPU.match(plain)
    plain = match[1] if match else plain
    return next((family for family, signs in TABLE if signs.search(plain)), UNKNOWN)
