"""CUDA extensions: .cu sources need nvcc and a GPU. Ascend C operators are built with NpuExtension.

Found are torch's own builders, any call that is handed .cu sources or flags for nvcc (a project's wrapper around
them), a call of this file's own function that returns such a module, and what is called in a module that was built so,
torch.ops.<its name> included.
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
TOKENS = ("cpp_extension", "cu", "extra_cuda_cflags", "fused_kernels", "create_extension")
KNOWN = Known(
    MEASURED,
    ASCEND + "docs/zh/developer_notes/custom_operator_adaptation/c_extensions_operator_adaptation.md",
    hours={"cuda": 40.0, "call": 1.0},
)
BUILD = "torch.utils.cpp_extension."
#: Functions of well-known projects that build their CUDA kernels.
BUILDERS = ("megatron.fused_kernels.load", "megatron.legacy.fused_kernels.load")
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
    (
        "import torch\nfrom torch.utils.cpp_extension import load\nload('wkv', ['a.cu'], is_python_module=False)"
        "\ny = torch.ops.wkv.forward(x)  # 核\n",
        "unsupported",
        None,
    ),
    (
        "from torch.utils import cpp_extension as c\ndef 构建(n):\n    k = c.load(n, [n + '.cu'])\n    return k\n\n\n"
        "m = 构建('a')\nm.go()\n",
        "unsupported",
        None,
    ),
    (
        "from torch.utils.ffi import create_extension\next = create_extension('_ext.核', with_cuda=gpu, sources=s)\n",
        "unsupported",
        None,
    ),
    ("from megatron import fused_kernels\nfused_kernels.load(args)\n", "unsupported", None),
)
NEAR_MISSES = (
    "from torch.utils.cpp_extension import CppExtension\ne = CppExtension('核', ['a.cpp'])\n",
    "from torch.utils.cpp_extension import load\nload(name='a', sources=['a.cpp'])\n",
    "import json\njson.load('a.cu')\n",
    "from torch.utils.cpp_extension import BuildExtension, CUDAExtension\n",
    "from torch.utils.cpp_extension import load\nm = load(name='a', sources=files)  # 来源未知，无 GPU 字样\n",
    "files = ['a.cu']\nprint(len(files))\n",
    "import torch\nfrom torch.utils.cpp_extension import load\nload('cpu_ops', ['a.cpp'])\ntorch.ops.cpu_ops.f(张量)\n",
    "def load(args):\n    return open('a.cu')\nf = load(1)\n",
    "from torch.utils.ffi import create_extension\ncreate_extension('_ext.a', sources=['a.c'])  # 只用 CPU\n",
    "from mine import fused_kernels\nfused_kernels.load(1)\n",
)


#: Suffixes of sources for nvcc.
SUFFIXES = (".cu", ".cuh")


def check(source: Source) -> Iterable[Finding]:
    spaces: set[str] = set()
    for call in _builds(source):
        name = source.names.call(call) or getattr(call.func, "attr", "") or getattr(call.func, "id", "")
        yield found(source, call, "MIG114.cuda", UNSUPPORTED, name=name)
        spaces.add(f"torch.ops.{string(argument(call, 0, 'name'))}.")
    yield from _builders(source)
    modules = built(source) if spaces else set()
    for call in source.nodes(ast.Call) if spaces else ():
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(base, ast.Name) and base.id in modules:
            yield found(source, call, "MIG114.call", UNSUPPORTED, name=base.id)
        elif source.names.call(call).startswith(tuple(spaces)):
            yield found(source, call, "MIG114.call", UNSUPPORTED, name=source.names.call(call))


def built(source: Source) -> set[str]:
    """What this file calls the modules that it builds from CUDA code."""
    given = (_given(source, call) for call in _builds(source))
    return {name for names in given for name in names}


def _builds(source: Source) -> list[ast.Call]:
    """The calls that build CUDA code, and those of this file's functions that return what they build."""
    direct = [call for call in source.nodes(ast.Call) if _is_build(source, call)]
    makers = {name for call in direct for name in _returning(source, call)}
    through = [call for call in source.nodes(ast.Call) if isinstance(call.func, ast.Name) and call.func.id in makers]
    return direct + [call for call in through if call not in direct]


def _given(source: Source, call: ast.Call) -> list[str]:
    """The names that a call's result is given."""
    above = source.names.parent(call)
    targets = above.targets if isinstance(above, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _returning(source: Source, call: ast.Call) -> Iterable[str]:
    """The name of the function that returns this call's result, at once or through a name."""
    given = _given(source, call)
    for around in source.names.above(call):
        if isinstance(around, ast.FunctionDef):
            returns = (inner.value for inner in ast.walk(around) if isinstance(inner, ast.Return))
            if any(value is call or (isinstance(value, ast.Name) and value.id in given) for value in returns):
                yield around.name
            return


def _builders(source: Source) -> Iterable[Finding]:
    """`extension = CUDAExtension`, to be called under another name."""
    for node, name in source.names.named:
        above = source.names.parent(node)
        if name == BUILD + "CUDAExtension" and isinstance(above, (ast.Assign, ast.IfExp)) and load(node):
            yield found(source, node, "MIG114.cuda", UNSUPPORTED, name=name)


def _is_build(source: Source, call: ast.Call) -> bool:
    full = source.names.call(call)
    if full == "torch.utils.ffi.create_extension":
        with_cuda = argument(call, 99, "with_cuda")
        return with_cuda is not None and getattr(with_cuda, "value", True) is not False
    return full in BUILDERS or _is_cuda(source, call, full[len(BUILD) :] if full.startswith(BUILD) else "")


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
