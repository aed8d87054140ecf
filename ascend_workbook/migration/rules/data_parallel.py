"""nn.DataParallel: one process for several cards. torch_npu does not support it on any hardware.

https://www.hiascend.com/document (torch_npu native API list, torch.nn.DataParallel: not supported); run under
transfer_to_npu its forward raises.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import is_load
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import MEASURED, NATIVE, UNSUPPORTED, Findings, Known, finding_at

CODE = "MIG109"
WORDS = ("DataParallel",)
TOKENS = ("BaseModelDP", "data_parallel", "replicate", "parallel_apply", "scatter", "gather")
PATTERN = "arallel|BaseModelDP"
KNOWN = Known(MEASURED, NATIVE, hours={"no_kernel": 4.0, "wrapper": 4.0}, inferred=("wrapper",))
NAMES = set(api_map.list_names("data_parallel"))
#: Other libraries' and a project's own classes that are nn.DataParallel underneath.
WRAPPERS = set(api_map.list_names("data_parallel_wrappers"))
WRAPPER = re.compile(
    r"(?!.*(?:Distributed|Sharded|NPU|MLU|XPU))(?!paddle|torch\.)[\w.]*?\.(?:[A-Z]\w*DataParallel|DataParallelWithCallback|DataParallelCriterion)"
)


def check(source: Source) -> Findings:
    for call in source.nodes_of_type(ast.Call):
        name = source.names.resolve_call(call)
        if name in NAMES:
            yield finding_at(source, call, "MIG109.no_kernel", UNSUPPORTED)
        elif name in WRAPPERS or WRAPPER.fullmatch(name):
            yield finding_at(source, call, "MIG109.wrapper", UNSUPPORTED, name=name)
    for node, name in source.names.named_nodes:
        above = source.names.parent_of(node)
        is_base = isinstance(above, ast.ClassDef) and node in above.bases
        if (is_base or isinstance(above, (ast.Assign, ast.IfExp))) and name in NAMES and is_load(node):
            yield finding_at(source, node, "MIG109.no_kernel", UNSUPPORTED)
