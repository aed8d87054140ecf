"""`x.to(0)`, `x.to(args.gpu)`: a device by its number. transfer_to_npu makes `to` read it as npu:N."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.kinds import NUMBER, OPTIONS, kinds
from helpers.migration.reading.source import Source
from helpers.migration.repair import AUTO, found_method

CODE = "MIG126"
WORDS = ("rank", "RANK", "gpu", "GPU", "cuda", "CUDA")
NEEDS = ("torch",)
#: What is plainly a type or a tensor's device is no number.
PATTERN = rf"\. to \( (?!torch\.\w+ \)|(?:\w+\.)*dtype\b|(?!(?i:{'|'.join(OPTIONS)})\.)\w+\.device\b)"
KNOWN = Known(MEASURED, TRANSFER, inferred=("number",))
NAMES = {"gpu", "gpu_id", "local_rank", "rank", "cuda_id", "device_id"}
EXAMPLES = (
    ("import torch\nx = x.to(args.gpu)  # 第几张卡\n", "auto", None),
    ("import torch\nm.cuda()\nm.to(0)\n", "auto", None),
    ("import torch\ndef f(m, local_rank):\n    m.to(local_rank)\n", "auto", None),
)
NEAR_MISSES = (
    "x = x.to(设备)\n",
    "m.to(0)\n",
    "import torch\nx = x.to(torch.float32)\n",
    "x = x.to('cpu')\n",
    "x = x.to(y)\n",
    "move.to(1, 2)\n",
    "x = x.to(True)\n",
)


def check(source: Source) -> Iterable[Finding]:
    if not any(word in source.text for word in WORDS):  # nothing says that the numbers are devices
        return
    for call in source.names.methods.get("to", ()):
        if len(call.args) == 1 and _is_number(source, call.args[0]):
            yield found_method(source, call, "MIG126.number", AUTO)


def _is_number(source: Source, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in NAMES or kinds(source, node) == {NUMBER}
