"""Reproducible runs: torch's own switch works on an NPU, but collectives have one of their own.

HCCL_DETERMINISTIC=true orders the reductions of collectives; matrix products and many kernels follow
torch.use_deterministic_algorithms. Losses still differ from a GPU's: the order of additions is another.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, found

CODE = "MIG132"
NAMES = {"torch.use_deterministic_algorithms", "torch.set_deterministic_debug_mode", "torch.set_deterministic"}
TOKENS = {name.rpartition(".")[2] for name in NAMES} | {"seed_everything", "set_seed"}
#: Libraries' seed functions, which seed an NPU only where the library knows one.
SEEDS = {
    "pytorch_lightning.seed_everything", "lightning.seed_everything", "transformers.set_seed",
    "accelerate.utils.set_seed",
}  # fmt: skip
KNOWN = Known(DOCUMENTED, "https://pytorch.org/docs/stable/notes/randomness.html")
EXAMPLES = (
    ("import torch\ntorch.use_deterministic_algorithms(True)  # 可复现\n", "advice", None),
    ("from pytorch_lightning import seed_everything\nseed_everything(1)\n", "advice", None),
)
NEAR_MISSES = (
    "import torch\ntorch.manual_seed(1)  # 种子\n",
    "def set_seed(s):\n    pass\nset_seed(1)\n",
    "import torch\nprint(torch.are_deterministic_algorithms_enabled())\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.nodes(ast.Call):
        name = source.names.call(call)
        if name in NAMES:
            yield found(source, call, "MIG132.collectives", ADVICE, name=name)
        elif name in SEEDS:
            yield found(source, call, "MIG132.seed", ADVICE, name=name)
