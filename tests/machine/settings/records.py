"""Made records: a GPU machine's and an NPU machine's of the same experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ascend_workbook.machine.settings import Settings

FLAGS: dict[str, Any] = {
    "deterministic_algorithms": True,
    "deterministic_warn_only": True,
    "cudnn_deterministic": True,
    "cudnn_benchmark": False,
    "conv_format": "tf32",
    "matmul_format": "",
    "float32_matmul_precision": "highest",
    "fp16_reduced_sums": True,
    "bf16_reduced_sums": True,
    "default_dtype": "float32",
    "flash_attention": True,
    "threads": 8,
}
RUN: dict[str, Any] = {
    "script_sha256": "ab",
    "args": ["--lr", "0.1"],
    "seed": 1,
    "nproc": 1,
    "seeds": [{"call": "torch.manual_seed", "seed": 1}],
}
SIDES = {"rank0": {"weights": {"w": "float32[2]:aa", "v": "float32[2]:bb"}, "batches": {"0": ["float32[4]:cc"]}}}
GPU = Settings(
    machine={"tier": "cuda", "device": "NVIDIA A100", "cuda": "12.6", "python": "3.11.9", "arch": "x86_64"},
    packages={"torch": "2.9.0+cu126", "numpy": "1.26.4", "transformers": "4.50.0", "nvidia_cudnn_cu12": "9.1"},
    environment={"NCCL_DETERMINISTIC": "true", "CUDA_VISIBLE_DEVICES": "0"},
    flags=FLAGS,
    run=RUN,
    sides=SIDES,
)
NPU = Settings(
    machine={"tier": "npu", "device": "Ascend910B2", "cann": "8.5.0", "python": "3.11.9", "arch": "aarch64"},
    packages={"torch": "2.9.0", "torch_npu": "2.9.0", "numpy": "1.26.4", "transformers": "4.50.0"},
    environment={"HCCL_DETERMINISTIC": "true", "ASCEND_RT_VISIBLE_DEVICES": "0"},
    flags={**FLAGS, "conv_format": "hf32"},
    run=RUN,
    sides=SIDES,
)


def changed(side: Settings, group: str, **values: Any) -> Settings:
    """With some values of one group changed; None removes one."""
    merged = {**getattr(side, group), **values}
    return replace(side, **{group: {name: value for name, value in merged.items() if value is not None}})
