"""MindSpeed's adaptor for core 0.8 answers `torch.cuda.get_device_capability` without a device, torch 2.13 hands one.

MindSpeed of 2.1.0_core_r0.8.0 puts `def get_device_capability(): return 9, 0` into torch.cuda; its own torch is 2.1.
`torch.distributed.broadcast` of torch 2.13 calls it with the tensor's device, and raises TypeError. 26.1.0_core_r0.12.1
trains as it is.
"""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.calls import list_modules
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, MEASURED, Findings, Known, finding_at
from ascend_workbook.migration.rules.megatron import ADAPTOR

CODE = "MIG332"
TOKENS = ("megatron_adaptor",)
#: MindSpeed, branch 2.1.0_core_r0.8.0.
REPLACED = (
    "https://github.com/Ascend/MindSpeed/blob/1e898a29c7505860dc711295349472e8a9dd66f4/"
    "mindspeed/core/transformer/moe/grouped_gemm_util.py"
)
KNOWN = Known(MEASURED, REPLACED)
ANSWER = "torch.cuda.get_device_capability"


def check(source: Source) -> Findings:
    for node in source.imports:
        if ADAPTOR in list_modules(node) and not _is_answered(source):
            yield finding_at(source, node, "MIG332.capability", ADVICE)


def _is_answered(source: Source) -> bool:
    targets = (
        node for node in source.nodes_of_type(ast.Attribute) if isinstance(node.ctx, ast.Store) and node.attr in ANSWER
    )
    return any(source.names.resolve_name(target) == ANSWER for target in targets)
