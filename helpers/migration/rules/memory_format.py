"""channels_last: transfer_to_npu's documentation excludes it; values are right, the layout gains nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, TRANSFER, Known
from helpers.migration.repair import ADVICE, found
from helpers.migration.source import Source

CODE = "MIG116"
TOKENS = ("channels_last", "channels_last_3d")
KNOWN = Known(DOCUMENTED, TRANSFER)
NAMES = {"torch.channels_last", "torch.channels_last_3d"}
EXAMPLES = (("import torch\nm = m.to(memory_format=torch.channels_last)  # 布局\n", "advice", None),)
NEAR_MISSES = (
    "import torch\nm = m.to(memory_format=torch.contiguous_format)  # 布局\n",
    "channels_last = True\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node in source.nodes(ast.Attribute):
        if source.names.resolve(node) in NAMES:
            yield found(source, node, "MIG116.layout", ADVICE)
