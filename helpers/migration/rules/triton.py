"""Triton kernels: written for NVIDIA's compiler. triton-ascend exists; every kernel needs a review.

Found are the imports, what makes a kernel (`@triton.jit`), what launches one (`kernel[grid](...)`) and what calls
a function that a module named for Triton gives.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import UNSUPPORTED, found

CODE = "MIG112"
WORDS = ("triton",)
KNOWN = Known(
    DOCUMENTED, "https://pypi.org/project/triton-ascend/", hours={"kernel": 16.0, "definition": 8.0, "call": 1.0}
)
#: NVIDIA's inference server, an HTTP service of the same name.
SERVERS = {"triton_python_backend_utils", "tritonclient"}
#: Functions that only tell whether Triton is there.
ASKS = re.compile(r"^(?:is|has|have|can|use|uses|require|requires|check)_|availab|installed|version|supported")
EXAMPLES = (
    ("import triton\nimport triton.language as tl  # 内核\n", "unsupported", None),
    ("def 核(x):\n    from .triton_ops import k\n    return k(x)\n\n\ny = 核(1)\n", "unsupported", None),
    ("from .triton_ops import kernel\ny = kernel(x)\n", "unsupported", None),
    ("import triton\n@triton.jit\ndef k(x):\n    pass\nk[(1,)](x)\n", "unsupported", None),
    ("import triton\nf = triton.JITFunction(g)\n", "unsupported", None),
    (
        "try:\n    import triton\nexcept ImportError:\n    triton = MagicMock()\n@triton.jit\ndef 核(x):\n    pass\n",
        "unsupported",
        None,
    ),
    ("from . import has_cuda, triton_ops\ny = triton_ops.norm(x)\n", "unsupported", None),
)
NEAR_MISSES = (
    "print('triton 不可用')\n",
    "import tritonclient\n",
    "from torch.utils._triton import has_triton\n",
    "from ..utils import is_triton_available, is_b\nif is_b():\n    print(is_triton_available())\n",
    "from .triton_utils import is_triton_available\nok = is_triton_available()\n",
    "triton = None\n",
    "import triton_python_backend_utils as pb_utils\nr = pb_utils.InferenceResponse()\n",
    "from utils.triton import TritonRemoteModel\nm = TritonRemoteModel(url)\n",
)


def imports_kernels(node: ast.stmt) -> bool:
    """An import of triton, or of a module of the project whose name says triton."""
    if isinstance(node, ast.Import):
        return any(_is_triton(name.name) for name in node.names)
    if not isinstance(node, ast.ImportFrom):
        return False
    return bool(_kernels(node))


def _kernels(node: ast.ImportFrom) -> set[str]:
    """What such an import gives that may be, or hold, a kernel, by its name here: asking whether Triton is there is
    none, and beside a name that says triton another of the same import says nothing."""
    module = node.module or ""
    if module.startswith("torch."):
        return set()
    asked = [name for name in node.names if not ASKS.search(name.name)]
    if not _is_triton(module):
        asked = [name for name in asked if node.level > 0 and "triton" in name.name]
    return {name.asname or name.name for name in asked}


def check(source: Source) -> Iterable[Finding]:
    uses = False
    for node in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        if imports_kernels(node):
            uses = True
            yield found(source, node, "MIG112.kernel", UNSUPPORTED)
            yield from _uses(source, node)
    if uses:
        yield from _definitions(source)
        yield from _launches(source)


def _definitions(source: Source) -> Iterator[Finding]:
    """Decorators and calls of triton's own at module or function level; inside a kernel they are its text."""
    kernels = set()
    for function in source.nodes(ast.FunctionDef):
        for decorator in function.decorator_list:
            name = source.names.resolve(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if name.startswith("triton."):
                kernels.add(function)
                yield found(source, decorator, "MIG112.definition", UNSUPPORTED, name=name)
    decorators = {decorator for function in kernels for decorator in function.decorator_list}
    for call in source.nodes(ast.Call):
        name = source.names.call(call)
        if not name.startswith("triton.") or call in decorators:
            continue
        if not {*source.names.above(call)} & {*kernels, *decorators}:
            yield found(source, call, "MIG112.call", UNSUPPORTED, name=name)


def _launches(source: Source) -> Iterator[Finding]:
    """`kernel[grid](...)` as a statement: in a file that imports Triton it is a launch."""
    for statement in source.nodes(ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript):
            base = call.func.value
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            yield found(source, call, "MIG112.call", UNSUPPORTED, name=name or "[grid]")


def _uses(source: Source, node: ast.stmt) -> Iterator[Finding]:
    """Calls of what a project's own triton module gives: `from .triton_ops import f; f(x)`."""
    if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] == "triton":
        return
    given = _kernels(node)
    inside = source.names.function(node)
    wrapper = inside.name if isinstance(inside, ast.FunctionDef) else None
    for call in source.nodes(ast.Call):
        called = call.func.id if isinstance(call.func, ast.Name) else None
        if called is None:
            continue
        here = source.names.function(call)
        if (called in given and (here is inside or not wrapper)) or _is_wrapper(source, call, called, wrapper):
            yield found(source, call, "MIG112.call", UNSUPPORTED, name=called)


def _is_wrapper(source: Source, call: ast.Call, called: str, wrapper: str | None) -> bool:
    """The function that imports the kernel without a fallback of its own, called from elsewhere."""
    if called != wrapper:
        return False
    defined = next(node for node in source.nodes(ast.FunctionDef) if node.name == wrapper)
    guarded = any(isinstance(node, ast.Try) for node in ast.walk(defined))
    return not guarded and source.names.function(call) is not defined


def _is_triton(module: str) -> bool:
    parts = module.split(".")
    if parts[0] in SERVERS:
        return False
    return parts[0] == "triton" or any(part.startswith("triton_") or part.endswith("_triton") for part in parts)
