"""`import torch` works, and torch_npu is installed where it helps."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_workbook.environment.machine import Import, Machine
from ascend_workbook.environment.system import Args, require_fact, shorten_path
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar

GROUP = "python"
LIBRARY = re.compile(r"(lib\w+\.so[\w.]*): cannot open shared object file")
CANN_LIBRARIES = ("libhccl", "libascendcl", "libacl_op_compiler", "libge_runner", "libgraph", "libacl_tdt_channel")


def check_torch_import(machine: Machine) -> Iterator[Finding]:
    """ENV051: `import torch` works in this environment.

    torch >= 2.5 imports every package that declares itself a backend. torch_npu does, needs CANN's libhccl.so, and
    where CANN is not found plain `import torch` dies with "Failed to load the backend extension: torch_npu". Reproduced
    with torch 2.13.0 and torch_npu 2.13.0; https://pytorch.org/tutorials/unstable/python_extension_autoload.html
    """
    answer = require_fact(machine.python.torch_import)
    if answer.ok:
        switched_off = machine.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0"
        key = "ENV051.switched_off" if switched_off and machine.python.torch_npu_folder else "ENV051.ok"
        status = Status.NOTE if key.endswith("off") else Status.OK
        yield Finding("ENV051", status, key, {"torch": answer.torch})
        return
    key, args = explain_failure(answer, machine)
    # our own children get an environment in which torch works; a shell or a kernel of the user's does not
    status = Status.WARN if machine.chosen.tier.startswith("npu") else Status.FAIL
    yield Finding("ENV051", status, key, args, weight=60)


def explain_failure(answer: Import, machine: Machine) -> tuple[str, dict[str, Scalar]]:
    """Return which of the known ways of breaking it is."""
    text = "\n".join((answer.error, *answer.chain))
    library = LIBRARY.search(text)
    folder = machine.python.torch_npu_folder
    args: Args = {"error": answer.chain[-1] if answer.chain else answer.error, "folder": shorten_path(folder)}
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


def check_torch_npu_place(machine: Machine) -> Iterator[Finding]:
    """ENV052: torch_npu is installed where it helps. In site-packages without CANN it breaks `import torch` (ENV051).

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
    """
    folder, version = machine.python.torch_npu_folder, machine.torch_npu
    args: Args = {"folder": shorten_path(folder), "torch_npu": version}
    if not folder and not version:
        yield Finding("ENV052", Status.FAIL if machine.needs_npu else Status.NOTE, "ENV052.none", args)
    elif not folder:
        yield Finding("ENV052", Status.OK, "ENV052.aside", args)
    elif _is_harmless(machine):
        yield Finding("ENV052", Status.OK, "ENV052.ok", args)
    else:
        yield Finding("ENV052", Status.WARN, "ENV052.without_cann", args)


def _is_harmless(machine: Machine) -> bool:
    """Return whether a CANN is there to load, real or sourced simulator, or nothing loads torch_npu by itself."""
    switched_off = machine.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0"
    return switched_off or machine.real_cann is not None or any(root.simulated for root in machine.cann)


RULES = {
    "ENV051": check_torch_import,
    "ENV052": check_torch_npu_place,
}
