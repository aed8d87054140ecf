"""ENV045: the environment is what set_env.sh makes, compared after really sourcing it through bash.

Half an environment looks sourced: an old ~/.bashrc, variables copied by hand into a kernel or a Dockerfile.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args, told
from helpers.finding import Finding, Status

CODE, GROUP = "ENV045", "cann"
BASIS = "observed"


def check(machine: Machine) -> Iterator[Finding]:
    cann = machine.real_cann
    if cann is None or not cann.sourced:
        return  # ENV041 says so
    unset = told(cann.unset)
    args: Args = {"script": cann.script, "names": [*unset, *cann.lacking][:6], "count": len(unset) + len(cann.lacking)}
    whole = not unset and not cann.lacking
    yield Finding(CODE, *((Status.OK, "ENV045.ok") if whole else (Status.WARN, "ENV045.differs")), args)
