"""Kernels that a project compiled for itself: modules named `…_cuda`, a package's `_C` or `_ext`, and their calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from helpers.finding import Finding
from helpers.migration import api_map
from helpers.migration.knowledge import ASCEND, INFERRED, Known
from helpers.migration.reading.calls import argument, method, string
from helpers.migration.reading.pairs import paired
from helpers.migration.reading.source import Source
from helpers.migration.repair import UNSUPPORTED, found
from helpers.migration.rules import extension

CODE = "MIG137"
TOKENS = {"_C", "_ext", "autograd"}
WORDS = ("_cuda",)
PATTERN = r"(?<!torch\.)\b_C\b|_cuda(?:_|\b)|\b_ext\b|\b(?:Inplace)?Function\b"  # torch._C is PyTorch's own
KNOWN = Known(
    INFERRED,
    ASCEND + "docs/zh/developer_notes/custom_operator_adaptation/c_extensions_operator_adaptation.md",
    hours={"module": 40.0, "call": 1.0},
)
EXAMPLES = (
    ("import roi_align_cuda\ny = roi_align_cuda.forward(特征, r)\n", "unsupported", None),
    ("from . import nms_cuda\ny = nms_cuda.nms(x)\n", "unsupported", None),
    ("from . import _C\ny = _C.forward(x)\n", "unsupported", None),
    ("import importlib\nk = importlib.import_module('fused_adam_cuda')\nk.adam(1)\n", "unsupported", None),
    ("from knn_cuda import KNN\nk = KNN(4)\n", "unsupported", None),
    ("import torch\nimport ball._ext as _ext\ny = _ext.query(点)\n", "unsupported", None),
    (
        "from torch.autograd import Function\ntry:\n    import _grid as k\nexcept ImportError:\n"
        "    from .backend import k\nclass 编码(Function):\n    def forward(ctx, x):\n        k.grid_forward(x)\n\n"
        "    def backward(ctx, g):\n        k.grid_backward(g)\n",
        "unsupported",
        None,
    ),
    ("import torch\nfrom .._ext import pool\npool.forward(x)\n", "unsupported", None),
    (
        "try:\n    import near_cuda_corr\nexcept ImportError:\n    pass\ny, = near_cuda_corr.forward(a)\n",
        "unsupported",
        None,
    ),
)
NEAR_MISSES = (
    "from .misc import move_to_cuda\nx = move_to_cuda(x)  # 搬到显卡\n",
    "from utils import to_cuda, is_cuda\ny = to_cuda(x)\n",
    "from torch import _C\n_C._jit_set_profiling_mode(False)\n",
    "from .kernels import scan_cuda\n",
    "import torch.cuda\ntorch.cuda.synchronize()\n",
    "import test_cuda\n",
    "from torch.autograd import Function\nfrom . import k\nclass F(Function):\n    def forward(ctx, x):\n"
    "        return k.go_forward(x)  # 只有前向\n",
    "from torch.autograd import Function\nimport torch.nn.functional as F\nclass G(Function):\n"
    "    def forward(ctx, x):\n        F.forward(x)\n\n    def backward(ctx, g):\n        F.backward(g)\n",
    "import my_cuda_timer\nmy_cuda_timer.start()  # 计时\n",
    "import torch\nimport a._ext as _ext\nprint(_ext)\n",
    "from ._ext import fast\ny = fast.sum([1])\n",
)
DYNAMIC = {"importlib.import_module", "__import__"}
#: First words of modules and functions that only talk about CUDA.
HELPERS = ("utils_", "util_", "test_", "check_", "init_", "setup_", "config_", "to_", "is_", "use_", "move_", "has_",
           "get_", "set_", "try_", "device_", "with_", "no_", "require")  # fmt: skip
#: What the two kernels of an operator are called.
LAUNCHED = re.compile(r"(forward|backward|fwd|bwd)", re.IGNORECASE)
#: Packages whose own compiled part is no matter of CUDA, or that have NPU builds.
PLAIN = {"torch", "torchvision", "torchaudio", "torch_npu"}


def check(source: Source) -> Iterable[Finding]:
    roots = [(call, _root(call)) for call in source.nodes(ast.Call)]
    called = {name for _, name in roots}
    launched = {name for call, name in roots if LAUNCHED.match(method(call))}
    built, pairs = extension.built(source), paired(source)
    given: dict[str, str] = {}
    for node in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        for module, local, is_module in _modules(node, "torch" in source.text):
            if is_module or local in (launched if "_cuda_" in module else called):
                given[local] = module
                yield found(source, node, "MIG137.module", UNSUPPORTED, name=module)
        for local, module in _imported(node):
            if local in pairs and local not in given and not _has_entry(module):
                yield found(source, node, "MIG137.module", UNSUPPORTED, name=module)
    given |= {local: local for local in pairs - set(given)}
    for call, _ in roots:
        module = _dynamic(source, call)
        if module:
            above = source.names.parent(call)
            targets = above.targets if isinstance(above, ast.Assign) else []
            given |= {target.id: module for target in targets if isinstance(target, ast.Name)}
            yield found(source, call, "MIG137.module", UNSUPPORTED, name=module)
    for call, name in roots:
        if name in given and name not in built:  # extension.py speaks of what is built here
            yield found(source, call, "MIG137.call", UNSUPPORTED, name=given[name])


def names(source: Source) -> set[str]:
    """What this file calls the compiled modules that it imports."""
    imports = (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom))
    return {local for node in imports for _, local, _ in _modules(node, "torch" in source.text)}


def _imported(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """What an import binds, and the module's name."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((name.asname or name.name, name.name) for name in node.names)


def _has_entry(module: str) -> bool:
    """third_party.py speaks of it."""
    return api_map.entry("third_party", module.split(".")[0]) is not None


def _root(call: ast.Call) -> str:
    """`kernels` of `kernels.forward(...)`, and `f()` for a plain call."""
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return func.value.id
    return f"{func.id}()" if isinstance(func, ast.Name) else ""


def _modules(node: ast.stmt, with_torch: bool) -> Iterator[tuple[str, str, bool]]:
    """Such modules of an import: what they are called, by what root calls name them, and whether that is sure."""
    if isinstance(node, ast.Import):
        for name in node.names:
            if _is_kernels(name.name):
                yield name.name, name.asname or name.name, True
            elif _is_middle(name.name) or (name.asname and with_torch and name.name.endswith("._ext")):
                yield name.name, name.asname or name.name, False
    elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] not in PLAIN:
        for name in node.names:
            if node.module and _is_kernels(node.module):
                yield node.module, f"{name.asname or name.name}()", True
            elif name.name == "_C" or _is_kernels(name.name) or (with_torch and name.name == "_ext"):
                yield name.name, name.asname or name.name, False
            elif with_torch and (node.module or "").split(".")[-1] == "_ext":
                yield node.module or "", name.asname or name.name, False
                yield node.module or "", f"{name.asname or name.name}()", False


def _dynamic(source: Source, call: ast.Call) -> str:
    """The module of `importlib.import_module("…_cuda")`."""
    called = source.names.call(call) or getattr(call.func, "id", "")
    module = string(argument(call, 0, "name")) if called in DYNAMIC else None
    return module if module and _is_kernels(module) else ""


def _is_kernels(module: str) -> bool:
    """`roi_align_cuda`; not `torch.cuda`, `utils_cuda` or what the table of libraries has."""
    first, last = module.split(".")[0], module.rpartition(".")[2]
    known = api_map.entry("third_party", first) or api_map.entry("third_party", last)
    return last.endswith("_cuda") and not last.startswith(HELPERS) and known is None


def _is_middle(module: str) -> bool:
    """`alt_cuda_corr`: a top-level module with cuda between its words; kernels only where one is called `forward`."""
    return "." not in module and "_cuda_" in module and not module.startswith(HELPERS)
