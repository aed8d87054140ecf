"""Mixed precision: torch.autocast, torch.amp and torch.cuda.amp, old spelling and new.

transfer_to_npu patches autocast's constructor, custom_fwd/bwd and the old GradScaler; torch.amp.GradScaler
is not patched and works with "cuda" as it is (a full step was run).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration import api_map
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import AUTO, MANUAL, found

CODE = "MIG108"
WORDS = ("autocast",)
TOKENS = ("amp", "GradScaler")
KNOWN = Known(MEASURED, TRANSFER, hours={"wrapped": 0.25}, inferred=("wrapped",))
NAMES = ("torch.autocast", "torch.amp.", "torch.cuda.amp.", "torch.is_autocast_enabled", "torch.set_autocast_",
         "torch.get_autocast_")  # fmt: skip
#: Libraries whose autocast is torch's own or knows NPUs.
PACKAGES = {"torch", "torch_npu", "torch_xla", "accelerate", "transformers", "lightning", "pytorch_lightning"}
#: What projects call their own packages.
OWN = {"utils", "util", "src", "lib", "libs", "core", "common", "tools", "helpers", "models", "modules", "training"}
EXAMPLES = (
    ("import torch\nwith torch.cuda.amp.autocast():  # 混合精度\n    pass\n", "auto", None),
    ("from torch.cuda.amp import GradScaler as G\ns = G(enabled=True)\n", "auto", None),
    ("import torch\nwith torch.autocast(device_type='cuda', dtype=torch.bfloat16):\n    pass\n", "auto", None),
    ("from torch import amp\ns = amp.GradScaler('cuda')\n", "auto", None),
    ("from ultralytics.utils.torch_utils import autocast as 混合\n", "manual", None),
)
NEAR_MISSES = (
    "from torch.cuda.amp import autocast  # 只导入\n",
    "from accelerate import autocast\nwith autocast():\n    pass\n",
    "import torch\nwith torch.autocast('cpu', dtype=torch.bfloat16):\n    s = torch.amp.GradScaler(device='cpu')\n",
    "amp = True\nif amp:\n    pass\n",
    "import torch\nt = torch.get_autocast_cpu_dtype()\n",
    "from .amp import autocast\nfrom utils.amp import autocast as a\nfrom torch_xla.amp import autocast as x\n",
)


def owns(source: Source, call: ast.Call) -> bool:
    """A call this rule speaks of: its device string needs no second finding."""
    return source.names.call(call).startswith(NAMES)


def _on_cpu(call: ast.Call) -> bool:
    """Named for the CPU in so many words: no use of CUDA."""
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("device", "device_type")]
    return any(isinstance(value, ast.Constant) and value.value == "cpu" for value in (*call.args[:1], *named))


def check(source: Source) -> Iterable[Finding]:
    yield from _wrapped(source)
    for node, name in source.names.named:
        above = source.names.parent(node)
        on_cpu = isinstance(above, ast.Call) and above.func is node and _on_cpu(above)
        on_cpu = on_cpu or "_cpu_" in name
        if name.startswith(NAMES) and load(node) and not isinstance(above, ast.Attribute) and not on_cpu:
            yield found(source, node, "MIG108.works", AUTO, name=name)


def _wrapped(source: Source) -> Iterable[Finding]:
    """autocast or GradScaler of a library that is not known here: which device it names cannot be seen."""
    for node in source.nodes(ast.ImportFrom):
        package = (node.module or "").split(".")[0]
        if node.level or not package or package in PACKAGES or api_map.entry("third_party", package):
            continue
        for name in node.names if "." in (node.module or "") and not _is_own(source, package) else ():
            if name.name in ("autocast", "GradScaler"):
                at = name if hasattr(name, "lineno") else node  # Python 3.9 has no places for names of an import
                yield found(source, at, "MIG108.wrapped", MANUAL, name=f"{node.module}.{name.name}")


def _is_own(source: Source, package: str) -> bool:
    """A package of the project: beside the file or above it, or named like one."""
    folders = source.file.resolve().parents if source.file else ()
    beside = any((folder / package).is_dir() for folder in list(folders)[:4])
    return beside or package in OWN
