"""How much a difference endangers the comparison of precision, and why: one table for each group.

high: results are expected to part, or the runs are different experiments. medium: results may part. low: values do
not depend on it, or in the last bit only. expected: a GPU and an NPU differ in it by nature.
Sources: torch reproducibility notes (https://pytorch.org/docs/stable/notes/randomness.html), CUDA semantics (TF32),
CANN environment variables (HCCL_DETERMINISTIC, INF_NAN_MODE_ENABLE), MindStudio msprobe's config_check
(core/config_check/resource: which variables and packages it compares, and which GPU variable answers which of NPU's).
"""

from __future__ import annotations

import re

# ruff: noqa: SIM905 - a column of names reads better without quotes
HIGH, MEDIUM, LOW, EXPECTED = "high", "medium", "low", "expected"
ORDER = (HIGH, MEDIUM, LOW, EXPECTED)
#: name -> (risk, ending of the sentences settings.why.… and settings.do.…)
VARIABLES: dict[str, tuple[str, str]] = {
    "HCCL_DETERMINISTIC": (HIGH, "reduction"),
    "LCCL_DETERMINISTIC": (HIGH, "reduction"),
    "CUBLAS_WORKSPACE_CONFIG": (MEDIUM, "sums"),
    "ATB_MATMUL_SHUFFLE_K_ENABLE": (MEDIUM, "sums"),
    "CLOSE_MATMUL_K_SHIFT": (MEDIUM, "sums"),
    "ATB_LLM_LCOC_ENABLE": (MEDIUM, "reduction"),
    "HCCL_ALGO": (MEDIUM, "reduction"),
    "NCCL_PROTO": (MEDIUM, "reduction"),
    "HCCL_OP_EXPANSION_MODE": (LOW, "speed"),
    "NVIDIA_TF32_OVERRIDE": (HIGH, "format"),
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": (HIGH, "format"),
    "INF_NAN_MODE_ENABLE": (HIGH, "overflow"),
    "INF_NAN_MODE_FORCE_DISABLE": (HIGH, "overflow"),
    "PYTHONHASHSEED": (MEDIUM, "hash"),
    "WORLD_SIZE": (HIGH, "world"),
    "LOCAL_WORLD_SIZE": (MEDIUM, "world"),
    "OMP_NUM_THREADS": (LOW, "cpu"),
    "MKL_NUM_THREADS": (LOW, "cpu"),
    "MKL_CBWR": (LOW, "cpu"),
    "ATEN_CPU_CAPABILITY": (LOW, "cpu"),
    "ONEDNN_MAX_CPU_ISA": (LOW, "cpu"),
    "TORCHDYNAMO_DISABLE": (MEDIUM, "compiled"),
    "TORCH_COMPILE_DISABLE": (MEDIUM, "compiled"),
    "ASCEND_RT_VISIBLE_DEVICES": (EXPECTED, "device"),
}
#: A GPU's variable and the NPU's that answers it: across tiers the one is held against the other.
ANSWERS = {
    "NCCL_DETERMINISTIC": "HCCL_DETERMINISTIC",
    "NCCL_ALGO": "HCCL_ALGO",
    "CUDA_LAUNCH_BLOCKING": "ASCEND_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES": "ASCEND_RT_VISIBLE_DEVICES",
    "PYTORCH_CUDA_ALLOC_CONF": "PYTORCH_NPU_ALLOC_CONF",
}
FLAGS: dict[str, tuple[str, str]] = {
    "deterministic_algorithms": (HIGH, "deterministic"),
    "cudnn_deterministic": (MEDIUM, "deterministic"),
    "deterministic_warn_only": (LOW, "speed"),
    "cudnn_benchmark": (MEDIUM, "deterministic"),
    "conv_format": (HIGH, "format"),
    "matmul_format": (HIGH, "format"),
    "float32_matmul_precision": (HIGH, "format"),
    "fp16_reduced_sums": (MEDIUM, "sums"),
    "bf16_reduced_sums": (MEDIUM, "sums"),
    "default_dtype": (HIGH, "dtype"),
    "flash_attention": (MEDIUM, "sums"),
    "threads": (LOW, "cpu"),
}
MODEL = """
transformers accelerate deepspeed megatron megatron_core peft diffusers timm lightning pytorch_lightning apex
flash_attn xformers bitsandbytes mindspeed mindspore trl fairscale colossalai
""".split()
DATA = """
datasets tokenizers sentencepiece torchvision torchaudio torchdata pillow opencv_python opencv_python_headless
albumentations librosa webdataset scikit_learn
""".split()
ARITHMETIC = ("numpy", "scipy", "pandas", "numba", "einops")
#: Packages of one accelerator only.
OWN = re.compile(r"torch_npu|torchair|triton(_ascend)?|pytorch_triton|te|hccl|(nvidia|cuda|cupy|ascend|mindstudio)_.*")
MACHINE: dict[str, tuple[str, str]] = {
    "cann": (HIGH, "kernels"),
    "cuda": (HIGH, "kernels"),
    "driver": (LOW, "kernels"),
    "device": (MEDIUM, "device"),
    "arch": (LOW, "cpu"),
    "python": (LOW, "python"),
    "tier": (EXPECTED, "device"),
    "count": (LOW, "speed"),
    "system": (LOW, "python"),
}
RUN: dict[str, tuple[str, str]] = {
    "script_sha256": (MEDIUM, "script"),
    "args": (HIGH, "args"),
    "seed": (HIGH, "seed"),
    "seeds": (HIGH, "seed"),
    "nproc": (HIGH, "world"),
}
#: Of the machine: by nature different where the tiers are.
BY_TIER = ("tier", "device", "cann", "cuda", "driver", "arch", "system", "count")


def package_risk(name: str, left: str, right: str, across: bool) -> tuple[str, str]:
    """Return risk and reason of a package's versions, empty where it is missing; `across`: the tiers differ."""
    if across and OWN.fullmatch(name) and not (left and right):
        return EXPECTED, "device"
    if name == "torch":
        same = left and right and left.split("+")[0] == right.split("+")[0]
        return (EXPECTED, "build") if same else (HIGH, "torch")
    if name == "torch_npu":
        return HIGH, "torch"
    if name in MODEL:
        return HIGH, "model"
    if name in DATA:
        return MEDIUM, "data_code"
    return (MEDIUM, "arithmetic") if name in ARITHMETIC else (LOW, "other")
