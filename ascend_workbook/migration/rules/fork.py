"""Forked workers: after the NPU was used, a forked child must not touch it (as with CUDA); spawn may.

A DataLoader's workers are forked by default on Linux and are safe as long as the data set stays on the CPU.
"""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.calls import find_argument, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, DOCUMENTED, Findings, Known, finding_at

CODE = "MIG134"
TOKENS = ("fork", "forkserver")
PATTERN = r"['\"]fork['\"]"
STARTERS = {f"{home}multiprocessing.{name}" for home in ("", "torch.") for name in ("set_start_method", "get_context")}
KNOWN = Known(DOCUMENTED, "https://pytorch.org/docs/stable/notes/multiprocessing.html")


def check(source: Source) -> Findings:
    if "torch" not in source.text:  # a fork that has nothing to do with a device
        return
    for call in source.nodes_of_type(ast.Call):
        name = source.names.resolve_call(call)
        position, option = (0, "method") if name in STARTERS else (99, "multiprocessing_context")
        if string_value(find_argument(call, position, option)) == "fork":
            yield finding_at(source, call, "MIG134.fork", ADVICE)
