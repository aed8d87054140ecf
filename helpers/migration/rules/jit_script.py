"""torch.jit.script: transfer_to_npu switches it off and returns the function or module as it is."""

from __future__ import annotations

from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.names import load
from helpers.migration.repair import ADVICE, found
from helpers.migration.source import Source

CODE = "MIG118"
TOKENS = ("script", "script_method")
KNOWN = Known(MEASURED, TRANSFER)
NAMES = {"torch.jit.script", "torch.jit.script_method"}
EXAMPLES = (
    ("import torch\n@torch.jit.script\ndef f(x):\n    return x  # 脚本\n", "advice", None),
    ("from torch import jit\ng = jit.script(f)\n", "advice", None),
)
NEAR_MISSES = ("import torch\n图 = torch.jit.trace(f, x)\n", "script(f)\n")


def check(source: Source) -> Iterable[Finding]:
    for node, name in source.names.named:
        if name in NAMES and load(node):
            yield found(source, node, "MIG118.disabled", ADVICE)
