"""ENV066: Jupyter's kernels: kernel.json's env is not a shell's, `${LD_LIBRARY_PATH}` may stay as it is written.

Jupyter fills in a variable only where its own environment has it; absolute values are safe. A kernel whose Python is
gone does not start.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, shown
from helpers.finding import Finding, Status

CODE, GROUP = "ENV066", "process"
BASIS = "observed"


def check(machine: Machine) -> Iterator[Finding]:
    real = machine.real_cann
    good = 0
    for spec in machine.kernelspecs:
        args: Args = {"name": spec.name, "path": shown(spec.path), "names": list(spec.literal), "python": spec.python}
        if not spec.python_here:
            yield Finding(CODE, Status.WARN, "ENV066.gone", args)
        elif spec.literal:
            yield Finding(CODE, Status.WARN, "ENV066.literal", args)
        else:
            good += 1
    if good and good == len(machine.kernelspecs):
        without = machine.needs_npu and real is not None and not any(spec.cann for spec in machine.kernelspecs)
        count: Args = {"count": good, "script": real.script if real else ""}
        yield Finding(CODE, Status.NOTE if without else Status.OK, "ENV066.without" if without else "ENV066.ok", count)
