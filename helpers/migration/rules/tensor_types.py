"""Types named by string: `x.type("torch.cuda.FloatTensor")` raises under transfer_to_npu, the class works.

torch.cuda.DoubleTensor becomes torch.npu.FloatTensor: silently single precision.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.calls import argument, method, string
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.repair import MANUAL, REWRITE, found
from helpers.migration.source import Source

CODE = "MIG122"
WORDS = ("torch.cuda.",)
KNOWN = Known(MEASURED, TRANSFER)
PREFIX = "torch.cuda."
EXAMPLES = (
    (
        "import torch\nx = x.type('torch.cuda.FloatTensor')  # 类型\n",
        "rewrite",
        "import torch\nx = x.type(torch.cuda.FloatTensor)  # 类型\n",
    ),
    ("import torch\ntorch.set_default_tensor_type('torch.cuda.FloatTensor')\n", "manual", None),
    ("import torch\nx = x.type('torch.cuda.DoubleTensor')\n", "manual", None),
)
NEAR_MISSES = (
    "x = x.type('torch.FloatTensor')  # 类型\n",
    "print('torch.cuda.FloatTensor')\n",
    "import torch\nx = x.type(torch.cuda.FloatTensor)\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.nodes(ast.Call):
        name = argument(call, 0)
        text = string(name)
        if name is None or not (text and text.startswith(PREFIX) and text.endswith("Tensor")):
            continue
        if source.names.call(call) == "torch.set_default_tensor_type" or text.endswith("DoubleTensor"):
            yield found(source, call, "MIG122.default", MANUAL)
        elif method(call) == "type":
            yield found(source, call, "MIG122.by_string", REWRITE, _edits(source, call, name, text))


def _edits(source: Source, call: ast.Call, name: ast.expr, text: str) -> tuple[Edit, ...]:
    """Without its quotes the string is the class, where `torch` means torch."""
    start, end = source.span(name)
    inside = next((node for node in ast.walk(call) if isinstance(node, ast.Name)), None)
    if (
        inside is None
        or set(source.names.bound_at("torch", inside)) != {"torch"}
        or source.text[start + 1 : end - 1] != text
    ):
        return ()
    return (Edit(start, end, text),)
