"""ENV052: torch_npu is installed where it helps. In site-packages without CANN it breaks `import torch` (ENV051)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV052", "python"


def check(machine: Machine) -> Iterator[Finding]:
    folder, version = machine.python.torch_npu_folder, machine.torch_npu
    args: Args = {"folder": folder, "torch_npu": version}
    if not folder and not version:
        yield Finding(CODE, Status.FAIL if machine.needs_npu else Status.NOTE, "ENV052.none", args)
    elif not folder:
        yield Finding(CODE, Status.OK, "ENV052.aside", args)
    elif machine.real_cann or any(root.simulated for root in machine.cann):
        yield Finding(CODE, Status.OK, "ENV052.ok", args)
    else:
        yield Finding(CODE, Status.WARN, "ENV052.without_cann", args)
