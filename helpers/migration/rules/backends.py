"""Switches of cuDNN and cuBLAS: accepted and without effect on an NPU. HF32 takes TF32's place."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, NATIVE, Known
from helpers.migration.repair import ADVICE, found
from helpers.migration.source import Source

CODE = "MIG119"
WORDS = ("backends", "cuda")
KNOWN = Known(DOCUMENTED, NATIVE)
FAMILIES = ("torch.backends.cudnn.", "torch.backends.cuda.")
EXAMPLES = (
    ("import torch.backends.cudnn as cudnn\ncudnn.benchmark = True  # 加速\n", "advice", None),
    ("import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n", "advice", None),
    ("import torch\nprint('版本', torch.version.cuda)\n", "advice", None),
)
NEAR_MISSES = (
    "import torch.backends.cudnn as cudnn  # 只导入\n",
    "import torch\ntorch.backends.mkldnn.enabled = False\n",
    "import torch\nprint(torch.version.hip)\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node, name in source.names.named:
        if not isinstance(node, ast.Attribute) or isinstance(source.names.parent(node), ast.Attribute):
            continue
        if name.startswith(FAMILIES):
            outcome = "tf32" if "tf32" in name or "precision" in name else "no_effect"
            yield found(source, node, f"MIG119.{outcome}", ADVICE, name=name)
        elif name == "torch.version.cuda":
            yield found(source, node, "MIG119.version", ADVICE)
