"""ENV056: CANN's operator compiler (te, tbe) is Python and needs modules in *this* interpreter.

Source: CANN installation guide, "dependencies" (helpers/compatibility.json).

Source: https://github.com/Ascend/pytorch/issues/29
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV056", "python"


def check(machine: Machine) -> Iterator[Finding]:
    if not machine.needs_npu:
        return
    wanted = [name for name in versions.compatibility()["python_modules"] if name != "numpy"]  # numpy: ENV055
    missing = [name for name in wanted if name.replace("-", "_") not in machine.python.packages]
    if missing:
        args: Args = {"missing": missing, "install": " ".join(missing), "python": machine.python.executable}
        yield Finding(CODE, Status.FAIL, "ENV056.missing", args)
    else:
        yield Finding(CODE, Status.OK, "ENV056.ok", {"count": len(wanted)})
