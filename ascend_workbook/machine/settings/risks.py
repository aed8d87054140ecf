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


def _judge_names(names_by_judgement: dict[tuple[str, str], str]) -> dict[str, tuple[str, str]]:
    return {name: judged for judged, names in names_by_judgement.items() for name in names.split()}


#: name -> (risk, ending of the sentences settings.why.… and settings.do.…)
VARIABLES = _judge_names(
    {
        (HIGH, "reduction"): "HCCL_DETERMINISTIC LCCL_DETERMINISTIC",
        (MEDIUM, "reduction"): "ATB_LLM_LCOC_ENABLE HCCL_ALGO NCCL_PROTO",
        (MEDIUM, "sums"): "CUBLAS_WORKSPACE_CONFIG ATB_MATMUL_SHUFFLE_K_ENABLE CLOSE_MATMUL_K_SHIFT",
        (LOW, "speed"): "HCCL_OP_EXPANSION_MODE",
        (HIGH, "format"): "NVIDIA_TF32_OVERRIDE TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        (HIGH, "overflow"): "INF_NAN_MODE_ENABLE INF_NAN_MODE_FORCE_DISABLE",
        (MEDIUM, "hash"): "PYTHONHASHSEED",
        (HIGH, "world"): "WORLD_SIZE",
        (MEDIUM, "world"): "LOCAL_WORLD_SIZE",
        (LOW, "cpu"): "OMP_NUM_THREADS MKL_NUM_THREADS MKL_CBWR ATEN_CPU_CAPABILITY ONEDNN_MAX_CPU_ISA",
        (MEDIUM, "compiled"): "TORCHDYNAMO_DISABLE TORCH_COMPILE_DISABLE",
        (EXPECTED, "device"): "ASCEND_RT_VISIBLE_DEVICES",
    }
)
#: A GPU's variable and the NPU's that answers it: across tiers the one is held against the other.
ANSWERS = {
    "NCCL_DETERMINISTIC": "HCCL_DETERMINISTIC",
    "NCCL_ALGO": "HCCL_ALGO",
    "CUDA_LAUNCH_BLOCKING": "ASCEND_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES": "ASCEND_RT_VISIBLE_DEVICES",
    "PYTORCH_CUDA_ALLOC_CONF": "PYTORCH_NPU_ALLOC_CONF",
}
FLAGS = _judge_names(
    {
        (HIGH, "deterministic"): "deterministic_algorithms",
        (MEDIUM, "deterministic"): "cudnn_deterministic cudnn_benchmark",
        (HIGH, "format"): "conv_format matmul_format float32_matmul_precision",
        (MEDIUM, "sums"): "fp16_reduced_sums bf16_reduced_sums flash_attention",
        (HIGH, "dtype"): "default_dtype",
        (LOW, "speed"): "deterministic_warn_only",
        (LOW, "cpu"): "threads",
    }
)
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
