"""CUDA extensions: .cu sources need nvcc and a GPU. Ascend C operators are built with NpuExtension.

Found are torch's own builders, any call that is handed .cu sources or flags for nvcc (a project's wrapper around
them), and what is called in a module that was built so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import ASCEND, MEASURED, Known
from helpers.migration.reading.calls import argument, string
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import UNSUPPORTED, found

CODE = "MIG114"
TOKENS = ("cpp_extension", "cu", "extra_cuda_cflags")
KNOWN = Known(
    MEASURED,
    ASCEND + "docs/zh/developer_notes/custom_operator_adaptation/c_extensions_operator_adaptation.md",
    hours={"cuda": 40.0, "call": 1.0},
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
    (
        "from torch.utils.cpp_extension import load\nk = load(name='a', sources=cuda_files)\nk.forward(1)\n",
        "unsupported",
        None,
    ),
    ("from torch.utils import cpp_extension as c\nc.CppExtension('核', sources=['a.cu'])\n", "unsupported", None),
    ("import torch.utils.cpp_extension as c\nbuild = c.CUDAExtension if x else c.CppExtension\n", "unsupported", None),
    ("k = ops.get_plugin(name='a', sources=['a.cpp', 'a.cu'])\n", "unsupported", None),
)
NEAR_MISSES = (
    "from torch.utils.cpp_extension import CppExtension\ne = CppExtension('核', ['a.cpp'])\n",
    "from torch.utils.cpp_extension import load\nload(name='a', sources=['a.cpp'])\n",
    "import json\njson.load('a.cu')\n",
    "from torch.utils.cpp_extension import BuildExtension, CUDAExtension\n",
    "from torch.utils.cpp_extension import load\nm = load(name='a', sources=files)  # 来源未知，无 GPU 字样\n",
    "files = ['a.cu']\nprint(len(files))\n",
)


#: Suffixes of sources for nvcc.
SUFFIXES = (".cu", ".cuh")


def check(source: Source) -> Iterable[Finding]:
    built: dict[str, str] = {}
    for call in source.nodes(ast.Call):
        name = source.names.call(call)
        if _is_cuda(source, call, name[len(BUILD) :] if name.startswith(BUILD) else ""):
            said = name or getattr(call.func, "attr", "") or getattr(call.func, "id", "")
            yield found(source, call, "MIG114.cuda", UNSUPPORTED, name=said)
            above = source.names.parent(call)
            if isinstance(above, ast.Assign):
                built |= {target.id: said for target in above.targets if isinstance(target, ast.Name)}
    yield from _builders(source)
    for call in source.nodes(ast.Call) if built else ():
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(base, ast.Name) and base.id in built:
            yield found(source, call, "MIG114.call", UNSUPPORTED, name=base.id)


def _builders(source: Source) -> Iterable[Finding]:
    """`extension = CUDAExtension`, to be called under another name."""
    for node, name in source.names.named:
        above = source.names.parent(node)
        if name == BUILD + "CUDAExtension" and isinstance(above, (ast.Assign, ast.IfExp)) and load(node):
            yield found(source, node, "MIG114.cuda", UNSUPPORTED, name=name)


def _is_cuda(source: Source, call: ast.Call, name: str) -> bool:
    if name == "CUDAExtension" or argument(call, 99, "extra_cuda_cflags") is not None:
        return True
    if name == "load_inline":
        return argument(call, 2, "cuda_sources") is not None
    sources = argument(call, 1, "sources")
    if name in ("load", "CppExtension"):
        unknown = name == "load" and isinstance(sources, (ast.Name, ast.Attribute)) and "cuda" in source.text.lower()
        return unknown or any((string(node) or "").endswith(SUFFIXES) for node in ast.walk(call))
    named = argument(call, 99, "sources")
    return isinstance(named, ast.List) and any((string(each) or "").endswith(SUFFIXES) for each in named.elts)
