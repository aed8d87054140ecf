"""torch.compile: the baseline runs eagerly, which computes the same without a GPU's kernels, and says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def install_compiler(note: Callable[..., None]) -> None:
    def leave_uncompiled(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        note("compile_left_out")
        return (lambda function: function) if model is None else model

    def compile_module(self: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
        note("compile_left_out")

    torch.compile = leave_uncompiled
    torch.nn.Module.compile = compile_module
