"""What an installed torch declares, feature by feature: the kernels are compiled for what its headers say."""

from __future__ import annotations

import re
from pathlib import Path

from ascend_simulator.libraries.plan import Package

#: Name -> (headers, the first that is there is read; what stands in it where torch has the feature). torch_api.h says
#: what becomes of each. An empty pattern: the header itself is the feature.
FEATURES = {
    # c10::SafeKernelFunction: a kernel that the dispatcher gives away
    "SAFE_KERNEL": (("ATen/core/boxing/KernelFunction.h",), r"class \w*\s*SafeKernelFunction|SafeKernelFunction \{"),
    "UNSIGNED_TYPES": (("torch/headeronly/core/ScalarType.h", "c10/core/ScalarType.h"), r"\bUInt16\b"),
    "FLOAT8_E8M0": (("torch/headeronly/core/ScalarType.h", "c10/core/ScalarType.h"), r"\bFloat8_e8m0fnu\b"),
    "CONST_ALLOCATE": (("c10/core/Allocator.h",), r"DataPtr allocate\(size_t \w+\) const = 0"),
    "COPYING_ALLOCATOR": (("c10/core/Allocator.h",), r"virtual void copy_data\("),
    # StorageImplCreateHelper takes the memory that the storage lies in
    "STORAGE_AROUND_MEMORY": (("c10/core/StorageImpl.h",), r"using StorageImplCreateHelper[^;]*\bDataPtr\b"),
    # another device may choose the kernel of scaled_dot_product_attention
    "ATTENTION_CHOICE": (("ATen/native/transformers/attention.h",), ""),
}


def list_features(torch: Package) -> dict[str, bool]:
    """Return which features the headers of this torch declare."""
    include = torch.root / "include"
    return {name: has_feature(include, headers, pattern) for name, (headers, pattern) in FEATURES.items()}


def has_feature(include: Path, headers: tuple[str, ...], pattern: str) -> bool:
    """Return whether the first of the headers that is there holds the pattern."""
    path = next((include / header for header in headers if (include / header).is_file()), None)
    return path is not None and re.search(pattern, path.read_text(encoding="utf-8")) is not None
