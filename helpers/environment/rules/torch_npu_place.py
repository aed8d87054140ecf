"""ENV052: torch_npu is installed where it helps. In site-packages without CANN it breaks `import torch` (ENV051).

Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, shown
from helpers.finding import Finding, Status

CODE, GROUP = "ENV052", "python"


def check(machine: Machine) -> Iterator[Finding]:
    folder, version = machine.python.torch_npu_folder, machine.torch_npu
    args: Args = {"folder": shown(folder), "torch_npu": version}
    if not folder and not version:
        yield Finding(CODE, Status.FAIL if machine.needs_npu else Status.NOTE, "ENV052.none", args)
    elif not folder:
        yield Finding(CODE, Status.OK, "ENV052.aside", args)
    elif _harmless(machine):
        yield Finding(CODE, Status.OK, "ENV052.ok", args)
    else:
        yield Finding(CODE, Status.WARN, "ENV052.without_cann", args)


def _harmless(machine: Machine) -> bool:
    """A CANN is there to load, real or sourced simulator, or nothing loads torch_npu by itself."""
    switched_off = machine.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0"
    return switched_off or machine.real_cann is not None or any(root.simulated for root in machine.cann)
