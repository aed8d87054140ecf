"""torch.jit.script: transfer_to_npu switches it off and returns the function or module as it is.

What only a ScriptModule has (save, freeze, its graph) then raises; torch.jit.trace is left alone and works.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.calls import argument, method
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, MANUAL, found

CODE = "MIG118"
TOKENS = ("script", "script_method")
NEEDS = ("torch",)
PATTERN = r"\bjit\b"
KNOWN = Known(MEASURED, TRANSFER, hours={"needs_script": 0.5})
NAMES = {"torch.jit.script", "torch.jit.script_method"}
#: Functions and methods that take a ScriptModule only.
TAKERS = {"torch.jit.save", "torch.jit.freeze", "torch.jit.optimize_for_inference"}
METHODS = {"save", "save_to_buffer"}
EXAMPLES = (
    ("import torch\n@torch.jit.script\ndef f(x):\n    return x  # 脚本\n", "advice", None),
    ("from torch import jit\ng = jit.script(f)\n", "advice", None),
    ("import torch\ns = torch.jit.script(m)\ns.save('模型.pt')\n", "manual", None),
    ("import torch\ns = torch.jit.freeze(torch.jit.script(m))\n", "manual", None),
)
NEAR_MISSES = (
    "import torch\n图 = torch.jit.trace(f, x)\n图.save('m.pt')\n",
    "script(f)\n",
    "import torch\ns = make()\ntorch.jit.save(s, 'm.pt')\n",
)


def check(source: Source) -> Iterable[Finding]:
    used = False
    for node, name in source.names.named:
        if name in NAMES and load(node):
            used = True
            yield found(source, node, "MIG118.disabled", ADVICE)
    for call in source.nodes(ast.Call) if used else ():
        name = source.names.call(call)
        given = argument(call, 0, "m") if name in TAKERS else None
        if method(call) in METHODS and not name and isinstance(call.func, ast.Attribute):
            given = call.func.value
        if given is not None and _is_scripted(source, given):
            yield found(source, call, "MIG118.needs_script", MANUAL, name=name or method(call))


def _is_scripted(source: Source, node: ast.expr) -> bool:
    """The call of torch.jit.script itself, or a name that was given one and nothing else."""
    if isinstance(node, ast.Name):
        values = source.names.values(node)
        return bool(values) and all(source.names.call(v) in NAMES for v in values if isinstance(v, ast.expr)) and all(
            isinstance(value, ast.Call) for value in values
        )  # fmt: skip
    return source.names.call(node) in NAMES
