"""Mixed precision: torch.autocast, torch.amp and torch.cuda.amp, old spelling and new.

transfer_to_npu patches autocast's constructor, custom_fwd/bwd and the old GradScaler; torch.amp.GradScaler
is not patched and works with "cuda" as it is (a full step was run).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.names import load
from helpers.migration.repair import AUTO, found
from helpers.migration.source import Source

CODE = "MIG108"
WORDS = ("autocast",)
TOKENS = ("amp",)
KNOWN = Known(MEASURED, TRANSFER)
NAMES = ("torch.autocast", "torch.amp.", "torch.cuda.amp.", "torch.is_autocast_enabled", "torch.set_autocast_",
         "torch.get_autocast_")  # fmt: skip
EXAMPLES = (
    ("import torch\nwith torch.cuda.amp.autocast():  # 混合精度\n    pass\n", "auto", None),
    ("from torch.cuda.amp import GradScaler as G\ns = G(enabled=True)\n", "auto", None),
    ("import torch\nwith torch.autocast(device_type='cuda', dtype=torch.bfloat16):\n    pass\n", "auto", None),
    ("from torch import amp\ns = amp.GradScaler('cuda')\n", "auto", None),
)
NEAR_MISSES = (
    "from torch.cuda.amp import autocast  # 只导入\n",
    "from accelerate import autocast\nwith autocast():\n    pass\n",
    "import torch\nwith torch.autocast('cpu', dtype=torch.bfloat16):\n    s = torch.amp.GradScaler(device='cpu')\n",
    "amp = True\nif amp:\n    pass\n",
)


def owns(source: Source, call: ast.Call) -> bool:
    """A call this rule speaks of: its device string needs no second finding."""
    return source.names.call(call).startswith(NAMES)


def _on_cpu(call: ast.Call) -> bool:
    """Named for the CPU in so many words: no use of CUDA."""
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("device", "device_type")]
    return any(isinstance(value, ast.Constant) and value.value == "cpu" for value in (*call.args[:1], *named))


def check(source: Source) -> Iterable[Finding]:
    for node, name in source.names.named:
        above = source.names.parent(node)
        on_cpu = isinstance(above, ast.Call) and above.func is node and _on_cpu(above)
        if name.startswith(NAMES) and load(node) and not isinstance(above, ast.Attribute) and not on_cpu:
            yield found(source, node, "MIG108.works", AUTO, name=name)
