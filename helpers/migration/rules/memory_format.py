"""channels_last: torch_npu makes and copies contiguous tensors only and raises on any other layout that is asked for.

Seen on real NPUs too, with the same words. The values do not depend on the layout, so contiguous_format takes its
place. Where the layout is only asked about, nothing raises: the answer is no.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import ASCEND, MEASURED, Known
from helpers.migration.reading.calls import method
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, REWRITE, found

CODE = "MIG116"
TOKENS = ("channels_last", "channels_last_3d")
PATTERN = r"(?:\.|\bimport|[,(]) channels_last"
KNOWN = Known(MEASURED, ASCEND + "torch_npu/csrc/aten/common/TensorFactories.cpp")
NAMES = {"torch.channels_last", "torch.channels_last_3d"}
EXAMPLES = (
    (
        "import torch\nm = m.to(memory_format=torch.channels_last)  # 布局\n",
        "rewrite",
        "import torch\nm = m.to(memory_format=torch.contiguous_format)  # 布局\n",
    ),
    (
        "import torch\nlayout = torch.channels_last_3d if nhwc else torch.contiguous_format\n",
        "rewrite",
        "import torch\nlayout = torch.contiguous_format if nhwc else torch.contiguous_format\n",
    ),
    ("from torch import channels_last\nm = m.to(memory_format=channels_last)\n", "manual", None),
    ("import torch\nif x.is_contiguous(memory_format=torch.channels_last):\n    pass\n", "advice", None),
    ("import torch\nnhwc = layout == torch.channels_last\n", "advice", None),
)
NEAR_MISSES = (
    "import torch\nm = m.to(memory_format=torch.contiguous_format)  # 布局\n",
    "channels_last = True\n",
    "from torch import channels_last\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node in (*source.nodes(ast.Attribute), *source.nodes(ast.Name)):
        if not load(node) or source.names.resolve(node) not in NAMES:
            continue
        if _asked(source, node):
            yield found(source, node, "MIG116.asked", ADVICE)
        else:
            edits = source.replace(node, node.attr, "contiguous_format") if isinstance(node, ast.Attribute) else ()
            yield found(source, node, "MIG116.layout", REWRITE, edits)


def _asked(source: Source, node: ast.AST) -> bool:
    """Compared with, or the question of `is_contiguous`."""
    above = source.names.parent(node)
    call = source.names.parent(above) if isinstance(above, ast.keyword) else above
    return isinstance(above, ast.Compare) or (isinstance(call, ast.Call) and method(call) == "is_contiguous")
