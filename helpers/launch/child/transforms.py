"""What happens to torch before an unmodified script runs: nothing, CUDA on the CPU, or CUDA on the NPU."""

from __future__ import annotations

from typing import Any

#: How a transform is told to the reader of gpulog.json.
STANDING_IN = {"baseline_cpu": "cpu standing in for cuda"}


def apply(transform: str, spec: dict[str, Any]) -> None:
    """`none`, `baseline_cpu` or `transfer_to_npu`."""
    if transform == "baseline_cpu":
        from .baseline import install

        install()
    elif transform == "transfer_to_npu":
        import torch_npu  # noqa: F401
        from torch_npu.contrib import transfer_to_npu  # noqa: F401
    elif transform != "none":
        raise ValueError(f"unknown transform {transform!r}")
