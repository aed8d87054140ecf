"""Types named by string: `x.type("torch.cuda.FloatTensor")` raises under transfer_to_npu, the class works.

torch.cuda.DoubleTensor becomes torch.npu.FloatTensor: silently single precision.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.calls import method, string
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, REWRITE, found

CODE = "MIG122"
WORDS = ("torch.cuda.", "set_default_tensor_type")
PATTERN = r"torch\.cuda\.\w*Tensor|set_default_tensor_type"
KNOWN = Known(MEASURED, TRANSFER)
PREFIX = "torch.cuda."
DEFAULT = "set_default_tensor_type"
EXAMPLES = (
    (
        "import torch\nx = x.type('torch.cuda.FloatTensor')  # 类型\n",
        "rewrite",
        "import torch\nx = x.type(torch.cuda.FloatTensor)  # 类型\n",
    ),
    ("import torch\ntorch.set_default_tensor_type('torch.cuda.FloatTensor')\n", "manual", None),
    ("import torch\nx = x.type('torch.cuda.DoubleTensor')\n", "manual", None),
    ("import torch\ntorch.set_default_tensor_type(torch.cuda.HalfTensor)\n", "manual", None),
    ("import torch\nok = x.type() == 'torch.cuda.FloatTensor'\n", "manual", None),
)
NEAR_MISSES = (
    "x = x.type('torch.FloatTensor')  # 类型\n",
    "print('torch.cuda.FloatTensor')\n",
    "import torch\nx = x.type(torch.cuda.FloatTensor)\n",
    "import torch\ntorch.set_default_tensor_type(torch.HalfTensor)\n",
)


def check(source: Source) -> Iterable[Finding]:
    if DEFAULT not in source.text and not any(map(_is_type, (text for _, text in source.strings))):
        return
    for call in source.nodes(ast.Call):
        name = call.args[0] if call.args else None
        text = string(name)
        sets_default = DEFAULT in (method(call), getattr(call.func, "id", ""))
        if sets_default and (_is_type(text) or source.names.resolve(name or call).startswith(PREFIX)):
            yield found(source, call, "MIG122.default", MANUAL)
        elif name is None or text is None or not _is_type(text):
            continue
        elif text.endswith("DoubleTensor"):
            yield found(source, call, "MIG122.default", MANUAL)
        elif method(call) == "type":
            yield found(source, call, "MIG122.by_string", REWRITE, _edits(source, call, name, text))
    for compare in source.nodes(ast.Compare):
        if any(_is_type(string(inner)) for side in (compare.left, *compare.comparators) for inner in _sides(side)):
            yield found(source, compare, "MIG122.asked", MANUAL)


def _sides(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]


def _is_type(text: str | None) -> bool:
    return text is not None and text.startswith(PREFIX) and text.endswith("Tensor")


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
