"""ENV060: TASK_QUEUE_ENABLE. In interactive Python torch_npu overwrites it with 0, and children inherit that.

torch_npu/utils/_module.py and optional_features.py; profiles started from a notebook then show another launch
mode than the script's. Children of ours get the variable as it was at the start.

Source: https://github.com/vllm-project/vllm-ascend/issues/2210
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV060", "process"
NAME = "TASK_QUEUE_ENABLE"


def check(machine: Machine) -> Iterator[Finding]:
    now, before = machine.environ.get(NAME), told(machine.started).get(NAME)
    args: Args = {"now": now, "before": before}
    if now != before:
        yield Finding(CODE, Status.NOTE, "ENV060.overwritten", args)
    elif now is not None and now not in ("0", "1", "2"):
        yield Finding(CODE, Status.WARN, "ENV060.unknown", args)
    elif now == "0" and machine.needs_npu:
        yield Finding(CODE, Status.WARN, "ENV060.off", args)
    else:
        yield Finding(CODE, Status.OK, "ENV060.unset" if now is None else "ENV060.ok", args)
