"""ENV041: set_env.sh was sourced, by bash. Sourced by /bin/sh it answers 0 and sets ASCEND_HOME_PATH to `.`.

Seen by running CANN 9's own set_env.sh under dash: PATH then begins with `./bin`. `os.system`, `!source` and
subprocess(shell=True) in Debian images use that shell.

Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from helpers.environment.machine import Machine
from helpers.finding import Finding, Status

CODE, GROUP = "ENV041", "cann"


def check(machine: Machine) -> Iterator[Finding]:
    cann, told = machine.real_cann, machine.environ.get("ASCEND_HOME_PATH", "")
    bad = Status.FAIL if machine.needs_npu else Status.WARN
    script = cann.script if cann and cann.script else "set_env.sh"
    if told and not PurePosixPath(told).is_absolute():
        yield Finding(CODE, bad, "ENV041.relative", {"path": told, "script": script})
    elif told and not any(root.sourced for root in machine.cann):
        yield Finding(CODE, bad, "ENV041.missing", {"path": told, "script": script})
    elif cann and cann.sourced:
        yield Finding(CODE, Status.OK, "ENV041.ok", {"path": cann.path})
    elif cann:
        status = Status.WARN if machine.needs_npu else Status.NOTE
        yield Finding(CODE, status, "ENV041.not_sourced", {"path": cann.path, "script": script})
