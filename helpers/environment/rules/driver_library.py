"""ENV032: libascend_hal.so is the driver's, not CANN's stub of the same name.

Without a driver set_env.sh appends <CANN>/devlib, whose libascend_hal.so is empty functions: `import torch_npu` then
works and no device does. Seen by running CANN 9's set_env.sh in a made tree.

Source: https://github.com/vllm-project/vllm-ascend/issues/1440
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV032", "driver"
STUBS = ("/devlib/", "/stub/", "/stubs/")


def check(machine: Machine) -> Iterator[Finding]:
    path = machine.hardware.hal
    if not path or any(path.startswith(root.path + "/") for root in machine.cann if root.simulated):
        return
    args: Args = {"path": path}
    if not any(part in path for part in STUBS):
        yield Finding(CODE, Status.OK, "ENV032.ok", args)
    elif machine.needs_npu and machine.hardware.driver_installed:
        yield Finding(CODE, Status.FAIL, "ENV032.stub", args)
    else:
        yield Finding(CODE, Status.NOTE, "ENV032.stub_only", args)
