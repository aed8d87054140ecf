"""torch.compile: the default backend, inductor, generates Triton code and does not work under transfer_to_npu.

It raises at the first call (get_gpu_type.cache_clear, torch_npu/_inductor/utils.py). `backend="eager"` runs
everywhere and compiles nothing: right values, no gain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.calls import argument, string, within_string
from helpers.migration.knowledge import ASCEND, MEASURED, Known
from helpers.migration.repair import ADVICE, REWRITE, found
from helpers.migration.source import Source

CODE = "MIG111"
TOKENS = ("compile",)
NEEDS = "torch"
KNOWN = Known(MEASURED, ASCEND + "torch_npu/_inductor/utils.py", inferred=("backend",))
HERE = {"eager", "aot_eager"}
EXAMPLES = (
    (
        "import torch\nm = torch.compile(m)  # 编译\n",
        "rewrite",
        'import torch\nm = torch.compile(m, backend="eager")  # 编译\n',
    ),
    (
        "import torch\nm = torch.compile(m, mode='max-autotune')\n",
        "rewrite",
        "import torch\nm = torch.compile(m, mode='max-autotune', backend=\"eager\")\n",
    ),
    (
        "import torch\nm = torch.compile(m, backend='inductor')\n",
        "rewrite",
        "import torch\nm = torch.compile(m, backend='eager')\n",
    ),
    (
        "import torch\n@torch.compile\ndef f(x):\n    return x\n",
        "rewrite",
        'import torch\n@torch.compile(backend="eager")\ndef f(x):\n    return x\n',
    ),
    (
        "import torch\n@torch.compile()\ndef f(x):\n    return x\n",
        "rewrite",
        'import torch\n@torch.compile(backend="eager")\ndef f(x):\n    return x\n',
    ),
    ("import torch\nm = torch.compile(m, backend=args.backend)\n", "advice", None),
    (
        "import torch\nm = torch.compile(\n    m,\n)\n",
        "rewrite",
        'import torch\nm = torch.compile(\n    m, backend="eager",\n)\n',
    ),
)
NEAR_MISSES = (
    "import re\np = re.compile('显卡')\n",
    "import torch\nm = torch.compile(m, backend='eager')\n",
    "import torch\nprint(hasattr(torch, 'compile'))\n",
    "code = compile('1', '<s>', 'eval')\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.nodes(ast.Call):
        if source.names.call(call) == "torch.compile":
            yield from _judge(source, call)
    for decorated in (*source.nodes(ast.FunctionDef), *source.nodes(ast.ClassDef), *source.nodes(ast.AsyncFunctionDef)):
        decorators: list[ast.expr] = getattr(decorated, "decorator_list", [])
        for decorator in decorators:
            if source.names.resolve(decorator) == "torch.compile":
                _, end = source.span(decorator)
                yield found(source, decorator, "MIG111.inductor", REWRITE, (Edit(end, end, '(backend="eager")'),))


def _judge(source: Source, call: ast.Call) -> Iterable[Finding]:
    backend = argument(call, 99, "backend")
    name = string(backend)
    if name in HERE:
        return
    if name == "inductor":
        assert isinstance(backend, ast.Constant)
        yield found(source, call, "MIG111.inductor", REWRITE, within_string(source, backend, "inductor", "eager"))
    elif backend is not None:
        yield found(source, call, "MIG111.backend", ADVICE)
    else:
        yield found(source, call, "MIG111.inductor", REWRITE, _edits(source, call))


def _edits(source: Source, call: ast.Call) -> tuple[Edit, ...]:
    """Behind the last argument; none where `**options` may already name a backend."""
    if any(pair.arg is None for pair in call.keywords):
        return ()
    last = max((source.span(value)[1] for value in (*call.args, *(pair.value for pair in call.keywords))), default=None)
    if last is None:
        _, end = source.span(call)
        return (Edit(end - 1, end - 1, 'backend="eager"'),)
    if _closes_late(source, call, last):
        return ()
    return (Edit(last, last, ', backend="eager"'),)


def _closes_late(source: Source, call: ast.Call, last: int) -> bool:
    """The last argument stands in brackets of its own: `torch.compile((m))`."""
    _, end = source.span(call)
    return ")" in source.text[last : end - 1]
