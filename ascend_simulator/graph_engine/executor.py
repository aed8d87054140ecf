"""Stands in for torchair's libraries `_npu_graph_executor` and `_npu_utils`: private layouts of memory, of which the
simulated NPU has none."""

from __future__ import annotations

from typing import Any, NoReturn

from .refusing import refuse


def GetNpuStorageSizes(tensor: Any) -> list[int]:
    """Return the shape in memory, which is the tensor's own."""
    return list(tensor.shape)


def NpuFormatCastViaCpu(tensor: object, layout: int, dtype: object, input_dtype: object) -> NoReturn:
    refuse("npu_format_cast_via_cpu: private layouts")
