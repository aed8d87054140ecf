"""Libraries that bring GPU code of their own, from data/third_party.json: the imports and what is done with them.

A framework (mmcv, detectron2) is one decision, said at its imports; Megatron's lines stay as they are behind the one
that has to be added, so it is said once. A library of kernels or optimisers is said
where it is imported and where the script uses it: there the script has to change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from helpers.finding import Finding
from helpers.migration import api_map
from helpers.migration.knowledge import BY_ENTRY, DOCUMENTED, Known
from helpers.migration.reading.calls import argument, string
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, found
from helpers.migration.rules import nvml

CODE = "MIG113"
BASIS = "entries"
#: Methods of other libraries that need one of these.
METHODS = {
    "enable_xformers_memory_efficient_attention": "xformers",
    "set_use_memory_efficient_attention_xformers": "xformers",
}
#: Flash attention's functions, kept under a name that the file gave them: `self.flash_attn_func = getattr(f, ...)`.
KEPT = {"flash_attn_func", "flash_attn_varlen_func", "flash_attn_qkvpacked_func", "flash_attn_with_kvcache"}
#: Classes of Lightning that stand for one of these.
PLUGINS = {"BitsandbytesPrecision": "bitsandbytes", "TransformerEnginePrecision": "transformer_engine"}
LIBRARIES = {name.split(".")[0] for name in api_map.load("third_party")["names"]}
TOKENS = LIBRARIES | {*METHODS, *PLUGINS, *KEPT}
#: Imported, by a statement or by name; a library that is only spoken of is none of this rule's.
PATTERN = (
    rf"(?:\b(?:import|from)|,) (?:{'|'.join(sorted(LIBRARIES))})\b|import_module|__import__"
    rf"|{'|'.join(sorted({*METHODS, *PLUGINS, *KEPT}))}"
)
#: Each entry brings its own link.
KNOWN = Known(DOCUMENTED, None, versions=BY_ENTRY, hours={"use": 0.5})
ELSEWHERE = {"triton"}  # triton.py
#: One decision for the whole project; their calls are ordinary ones.
WHOLE = {"megatron", "mmcv", "mmdet3d", "detectron2", "dgl", "vllm", "unsloth", "gptqmodel", "auto_gptq", "autoawq",
         "awq", "liger_kernel", "horovod", "colossalai"}  # fmt: skip
DYNAMIC = {"importlib.import_module", "__import__"}
EXAMPLES = (
    ("from flash_attn import flash_attn_func  # 注意力\n", "unsupported", None),
    ("try:\n    import apex\nexcept ImportError:\n    apex = None\n", "manual", None),
    ("import nvidia.dali as dali\n", "unsupported", None),
    ("import deepspeed\n", "advice", None),
    ("def f():\n    import pynvml\n", "unsupported", None),
    ("from cpm_kernels.kernels.base import LazyKernelCModule as M\n核 = M(code)\n", "unsupported", None),
    ("from apex import amp\nm, o = amp.initialize(m, o)\n", "manual", None),
    ("import xformers.ops as x\ny = x.memory_efficient_attention(q, k, v)\n", "unsupported", None),
    ("管线.enable_xformers_memory_efficient_attention()\n", "unsupported", None),
    ("from numba import cuda\n@cuda.jit\ndef 核(x):\n    pass\n", "unsupported", None),
    (
        "try:\n    from flash_attn.a import f\nexcept E:\n    from flash_attn.b import g as f\ny = f(注意力)\n",
        "unsupported",
        None,
    ),
    ("import importlib\nk = importlib.import_module('amp_C')\n", "unsupported", None),
    ("from lightning.fabric.plugins import BitsandbytesPrecision as B\np = B('nf4')  # 量化\n", "manual", None),
    (
        "class 层:\n    def __init__(self, f):\n        self.flash_attn_func = getattr(f, 'flash_attn_func')\n\n"
        "    def forward(self, q, k, v):\n        return self.flash_attn_func(q, k, v)\n",
        "unsupported",
        None,
    ),
    ("from kernels import get_kernel\nk = get_kernel('kernels-community/flash-attn3')\n", "unsupported", None),
)
NEAR_MISSES = (
    "import transformers  # 已支持\n",
    "from .apex import tools\n",
    "from mine import flash_attn\n",
    "import apexpy\n",
    "print('import flash_attn')\n",
    "import mindspeed.megatron_adaptor\nfrom megatron.core import mpu  # 已适配\n",
    "flash_attn_func(1)\n",
    "from mine.attention import flash_attn\ny = flash_attn.flash_attn_func(q, k, v)  # 自己的封装\n",
    "class A:\n    def flash_attn_func(self):\n        pass\n\n    def f(self):\n        self.flash_attn_func()\n",
    "from lightning.fabric.plugins import MixedPrecision\np = MixedPrecision('16')\n",
    "from kernels import scan, get\ny = scan(x)  # 自己的模块\n",
    "if args.enable_xformers_memory_efficient_attention:\n    pass\n",
)


def check(source: Source) -> Iterable[Finding]:
    adapted = any(_is_adaptor(node) for node in source.nodes(ast.Import))
    said: set[str] = set()
    for node in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        for library in dict.fromkeys(filter(None, map(_library, _modules(node)))):
            if not _is_wanted(source, library) or (library == "megatron" and adapted):
                continue
            if library != "megatron" or library not in said:
                said.add(library)
                yield _about(source, node, library, "library")
    yield from _uses(source)
    yield from _dynamic(source)


def _about(source: Source, node: ast.AST, library: str, outcome: str) -> Finding:
    entry = api_map.entry("third_party", library)
    assert entry is not None
    return found(source, node, f"MIG113.{outcome}", entry["class"], library=library, **api_map.instead(entry))


def _uses(source: Source) -> Iterator[Finding]:
    """Calls, decorators, base classes and other names given to what a library has; once a line."""
    imports = (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom))
    imported = TOKENS & {module.split(".")[0] for node in imports for module in _modules(node)}
    seen: set[tuple[int, str]] = set()
    named = [*source.names.named, *_imported_twice(source)] if imported else []
    for node, name in named:
        first, dot, _ = name.partition(".")
        library = _library(name) if dot and first in imported and first not in nvml.LIBRARIES else ""
        entry = api_map.entry("third_party", library)
        if entry is None or entry["class"] == ADVICE or library in WHOLE or not load(node):
            continue
        if _is_used(source, node) and (node.lineno, library) not in seen and _is_wanted(source, library):
            seen.add((node.lineno, library))
            yield _about(source, node, library, "use")


def _imported_twice(source: Source) -> Iterator[tuple[ast.Name, str]]:
    """Calls of a name that `try` and `except` import from two places of one library."""
    for call in source.nodes(ast.Call):
        if isinstance(call.func, ast.Name) and not source.names.resolve(call.func):
            values = [value for value in source.names.values(call.func) if isinstance(value, str)]
            if len({_library(value) for value in values}) == 1:
                yield call.func, values[0]


def _is_used(source: Source, node: ast.expr) -> bool:
    above = source.names.parent(node)
    if isinstance(above, ast.Call):
        return above.func is node
    if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node in above.decorator_list
    if isinstance(above, ast.ClassDef):
        return node in above.bases or node in above.decorator_list
    return isinstance(above, ast.IfExp) or (isinstance(above, ast.Assign) and above.value is node)


def _dynamic(source: Source) -> Iterator[Finding]:
    for name, calls in source.names.methods.items():
        for call in calls if name in METHODS else ():
            yield _about(source, call, METHODS[name], "use")
        for call in calls if name in KEPT else ():
            if _is_kept(source, call):
                yield _about(source, call, "flash_attn", "use")
    for name, calls in source.names.called.items():
        package, _, made = name.rpartition(".")
        for call in calls if made in PLUGINS and "lightning" in package else ():
            yield _about(source, call, PLUGINS[made], "use")
    for call in source.nodes(ast.Call) if any(name in source.text for name in ("import_module", "__import__")) else ():
        module = string(argument(call, 0, "name")) if isinstance(call.func, (ast.Name, ast.Attribute)) else None
        if not module or (source.names.call(call) or getattr(call.func, "id", "")) not in DYNAMIC:
            continue
        library = _library(module)
        if library and _is_wanted(source, library):
            yield _about(source, call, library, "library")


def _is_kept(source: Source, call: ast.Call) -> bool:
    """A function that this file neither imports nor defines under that name."""
    assert isinstance(call.func, ast.Attribute)
    defined = {node.name for node in source.nodes(ast.FunctionDef)}
    base = call.func.value
    imported = isinstance(base, ast.Name) and any(isinstance(value, str) for value in source.names.values(base))
    return not imported and call.func.attr not in defined and not source.names.call(call)


def _is_adaptor(node: ast.Import) -> bool:
    return any(name.name == "mindspeed.megatron_adaptor" for name in node.names)


def _is_wanted(source: Source, library: str) -> bool:
    return library not in ELSEWHERE and not _is_own(source, library.split(".")[0])


def _is_own(source: Source, library: str) -> bool:
    """The file is part of the library itself, or the library's sources lie beside it (Megatron's still count)."""
    return source.is_of(library, beside=library != "megatron")


def _modules(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield from (f"{node.module}.{name.name}" for name in node.names)


def _library(module: str) -> str:
    """The longest leading part of the module's name that the table knows."""
    parts = module.split(".")
    return next((".".join(parts[:n]) for n in (2, 1) if api_map.entry("third_party", ".".join(parts[:n]))), "")
