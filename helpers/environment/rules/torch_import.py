"""ENV051: `import torch` works in this environment.

torch >= 2.5 imports every package that declares itself a backend. torch_npu does, needs CANN's libhccl.so, and
where CANN is not found plain `import torch` dies with "Failed to load the backend extension: torch_npu".
Reproduced with torch 2.13.0 and torch_npu 2.13.0; https://pytorch.org/tutorials/unstable/python_extension_autoload.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from helpers.environment.machine import Import, Machine
from helpers.environment.system import Args, shown, told
from helpers.finding import Finding, Status
from helpers.words import Scalar

CODE, GROUP = "ENV051", "python"
LIBRARY = re.compile(r"(lib\w+\.so[\w.]*): cannot open shared object file")
CANN_LIBRARIES = ("libhccl", "libascendcl", "libacl_op_compiler", "libge_runner", "libgraph", "libacl_tdt_channel")


def check(machine: Machine) -> Iterator[Finding]:
    answer = told(machine.python.torch_import)
    if answer.ok:
        switched_off = machine.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0"
        key = "ENV051.switched_off" if switched_off and machine.python.torch_npu_folder else "ENV051.ok"
        status = Status.NOTE if key.endswith("off") else Status.OK
        yield Finding(CODE, status, key, {"torch": answer.torch})
        return
    key, args = explain(answer, machine)
    # our own children get an environment in which torch works; a shell or a kernel of the user's does not
    status = Status.WARN if machine.chosen.tier.startswith("npu") else Status.FAIL
    yield Finding(CODE, status, key, args, weight=60)


def explain(answer: Import, machine: Machine) -> tuple[str, dict[str, Scalar]]:
    """Which of the known ways of breaking it is."""
    text = "\n".join((answer.error, *answer.chain))
    library = LIBRARY.search(text)
    folder = machine.python.torch_npu_folder
    args: Args = {"error": answer.chain[-1] if answer.chain else answer.error, "folder": shown(folder)}
    if "No module named 'torch'" in text:
        return "ENV051.not_installed", args
    if library and library[1].startswith("libascend_hal"):
        return "ENV051.no_driver", {**args, "library": library[1]}
    if library and library[1].startswith(CANN_LIBRARIES):
        cann = machine.real_cann
        if cann and cann.script:
            return "ENV051.not_sourced", {**args, "library": library[1], "script": cann.script}
        return "ENV051.no_cann", {**args, "library": library[1]}
    if "undefined symbol" in text:
        return "ENV051.symbol", args
    if "Failed to load the backend extension: torch_npu" in text:
        return "ENV051.autoload", args
    return "ENV051.broken", args
