"""ENV057: a folder named torch, torch_npu, te… in the working folder is imported in place of the package.

set_env.sh leaves a trailing `:` in PYTHONPATH, which puts the working folder on sys.path even for scripts
elsewhere ("No module named 'torch_npu._C'").

Source: https://github.com/Ascend/pytorch/issues/24
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV057", "python"


def check(machine: Machine) -> Iterator[Finding]:
    names = list(machine.python.shadows)
    args: Args = {"names": names}
    yield Finding(CODE, *((Status.WARN, "ENV057.shadow") if names else (Status.OK, "ENV057.ok")), args)
