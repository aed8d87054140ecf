"""nn.DataParallel copies a module to the GPUs of one process, which torch_npu does not support: it stays on one NPU.

What stands in is a DataParallel without devices, which calls its module as it is: names of parameters in checkpoints
and tests of its type stay as they were. Several NPUs want DistributedDataParallel, for a person to decide.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration import api_map
from ascend_workbook.migration.loop.curing import define_helper, replace_node, walk_calls
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import NATIVE

SOURCE = NATIVE
HOLDS_EVERYWHERE = True
MESSAGES = ("but found one of them on device: npu", "(device_ids[0])")
NAMES = tuple(name for name in api_map.list_names("data_parallel") if name.endswith(".DataParallel"))
HELPER = '''
def _on_one_device(module, *_, **__):
    """Keep a module as DataParallel does, on one device: torch_npu has no DataParallel."""
    import torch

    class OneDevice(torch.nn.DataParallel):
        def __init__(self):
            torch.nn.Module.__init__(self)
            self.module, self.device_ids = module, []

    return OneDevice()
'''


def knows(failure: Failure) -> bool:
    return any(message in failure.message for message in MESSAGES)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    helped: set[str] = set()
    for source, call in walk_calls(failure, *NAMES):
        above = source.names.parent_of(call.func)
        if isinstance(above, ast.Call) and (call.args or any(pair.arg == "module" for pair in call.keywords)):
            edits = [replace_node(source, call.func, "_on_one_device")]
            if source.path not in helped and "def _on_one_device(" not in source.text:
                edits.append(define_helper(source, HELPER.strip("\n")))
            helped.add(source.path)
            yield source, edits
