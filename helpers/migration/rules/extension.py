"""CUDA extensions: .cu sources need nvcc and a GPU. Ascend C operators are built with NpuExtension."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.calls import argument, string
from helpers.migration.knowledge import ASCEND, MEASURED, Known
from helpers.migration.repair import UNSUPPORTED, found
from helpers.migration.source import Source

CODE = "MIG114"
TOKENS = ("cpp_extension",)
KNOWN = Known(
    MEASURED,
    ASCEND + "docs/zh/developer_notes/custom_operator_adaptation/c_extensions_operator_adaptation.md",
    hours={"cuda": 40.0},
)
BUILD = "torch.utils.cpp_extension."
EXAMPLES = (
    ("from torch.utils.cpp_extension import CUDAExtension\ne = CUDAExtension('核', ['a.cu'])\n", "unsupported", None),
    (
        "from torch.utils import cpp_extension\ncpp_extension.load_inline('a', cpp_sources='', cuda_sources='x')\n",
        "unsupported",
        None,
    ),
    ("from torch.utils.cpp_extension import load\nload(name='a', sources=['a.cpp', 'b.cu'])\n", "unsupported", None),
)
NEAR_MISSES = (
    "from torch.utils.cpp_extension import CppExtension\ne = CppExtension('核', ['a.cpp'])\n",
    "from torch.utils.cpp_extension import load\nload(name='a', sources=['a.cpp'])\n",
    "import json\njson.load('a.cu')\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.nodes(ast.Call):
        name = source.names.call(call)
        if name.startswith(BUILD) and _is_cuda(call, name[len(BUILD) :]):
            yield found(source, call, "MIG114.cuda", UNSUPPORTED, name=name)


def _is_cuda(call: ast.Call, name: str) -> bool:
    if name == "CUDAExtension":
        return True
    if name == "load_inline":
        return argument(call, 2, "cuda_sources") is not None
    return name == "load" and any((string(node) or "").endswith((".cu", ".cuh")) for node in ast.walk(call))
