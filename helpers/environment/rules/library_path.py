"""ENV061: LD_LIBRARY_PATH changed after the start has no effect on this process: the loader read it once.

`os.environ["LD_LIBRARY_PATH"] = …` or `%env` in a notebook reaches children only. A kernel needs it in its
kernel.json, as an absolute value.

Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV061", "process"
NAME = "LD_LIBRARY_PATH"


def check(machine: Machine) -> Iterator[Finding]:
    late = machine.environ.get(NAME) != told(machine.started).get(NAME)
    if late:
        where = {"say": "ENV061.kernel" if machine.python.interactive else "ENV061.script"}
        yield Finding(CODE, Status.WARN, "ENV061.late", {"where": where})
    else:
        yield Finding(CODE, Status.OK, "ENV061.ok", {})
