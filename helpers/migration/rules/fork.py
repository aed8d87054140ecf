"""Forked workers: after the NPU was used, a forked child must not touch it (as with CUDA); spawn may.

A DataLoader's workers are forked by default on Linux and are safe as long as the data set stays on the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, Known
from helpers.migration.reading.calls import argument, string
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, found

CODE = "MIG134"
TOKENS = ("fork", "forkserver")
PATTERN = r"['\"]fork['\"]"
STARTERS = {
    "torch.multiprocessing.set_start_method", "torch.multiprocessing.get_context", "multiprocessing.set_start_method",
    "multiprocessing.get_context",
}  # fmt: skip
KNOWN = Known(DOCUMENTED, "https://pytorch.org/docs/stable/notes/multiprocessing.html")
LOADER = "from torch.utils.data import DataLoader\n"
EXAMPLES = (
    (LOADER + "l = DataLoader(数据, num_workers=4, multiprocessing_context='fork')\n", "advice", None),
    ("import torch.multiprocessing as mp\nmp.set_start_method('fork', force=True)\n", "advice", None),
    ("import torch, multiprocessing\nmultiprocessing.get_context('fork')\n", "advice", None),
)
NEAR_MISSES = (
    LOADER + "l = DataLoader(数据, num_workers=4)\n",
    "import torch.multiprocessing as mp\nmp.set_start_method('spawn')\n",
    "print('fork')\n",
    "import multiprocessing\nmultiprocessing.get_context('fork')  # 与训练无关\n",
)


def check(source: Source) -> Iterable[Finding]:
    if "torch" not in source.text:  # a fork that has nothing to do with a device
        return
    for call in source.nodes(ast.Call):
        name = source.names.call(call)
        asked = argument(call, 0, "method") if name in STARTERS else argument(call, 99, "multiprocessing_context")
        if string(asked) == "fork":
            yield found(source, call, "MIG134.fork", ADVICE)
