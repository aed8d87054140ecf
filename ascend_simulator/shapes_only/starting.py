"""What is done when the simulator starts in a run of shapes only; again when its first device is used."""

from __future__ import annotations

import os
import sys

from torch.optim.optimizer import register_optimizer_step_post_hook

from .alone import imagine_peers
from .formulas import infer_by_formulas, mend_shapes
from .host_values import patch_values
from .native import Native
from .reads import Reads
from .saving import patch_safetensors, patch_save

_started: list[tuple[Native, Reads]] = []


def install() -> None:
    """Note reads, keep files small, imagine the peers of a rank that runs alone."""
    if not _started:
        environ = os.environ
        try:
            reads = Reads(environ.get("ASCEND_WORKBOOK_SIM_READS", ""), environ.get("ASCEND_WORKBOOK_SIM_ASSUME", ""))
        except ValueError as problem:
            print(problem, file=sys.stderr, flush=True)
            os._exit(2)  # the program has not begun, and torch_npu is half imported
        native = Native()
        native.tell_reads(reads)
        register_optimizer_step_post_hook(lambda *_: reads.note_step())
        patch_values(native, reads)
        infer_by_formulas()
        _started.append((native, reads))
        if environ.get("ASCEND_WORKBOOK_SIM_ALONE") == "1":
            imagine_peers()
        return
    native, reads = _started[0]
    patch_save(native, reads)  # torch_npu brings a torch.save of its own when it is imported
    patch_safetensors(native, reads)
    mend_shapes()
