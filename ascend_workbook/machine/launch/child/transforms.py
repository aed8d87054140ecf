"""What happens to torch before an unmodified script runs: nothing, CUDA on the CPU, or CUDA on the NPU."""

from __future__ import annotations

from collections.abc import Callable

#: How a transform is told to the reader of gpulog.json.
STANDING_IN = {"baseline_cpu": "cpu standing in for cuda"}


def apply_transform(transform: str, note: Callable[..., None]) -> None:
    """Apply `none`, `baseline_cpu` or `transfer_to_npu`; `note(code, **args)` puts a remark into the log."""
    if transform == "baseline_cpu":
        from .baseline import install_baseline

        install_baseline(note)
    elif transform == "transfer_to_npu":
        import torch_npu  # noqa: F401
        from torch_npu.contrib import transfer_to_npu  # noqa: F401
    elif transform != "none":
        raise ValueError(f"unknown transform {transform!r}")
