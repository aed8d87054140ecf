"""ENV092: what was mounted into a container is what it should be. Docker makes an empty *folder* where the host lacks
the source of a -v: npu-smi becomes a folder, the driver an empty one.

Source: https://github.com/vllm-project/vllm-ascend/issues/2698
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV092", "platform"


def check(machine: Machine) -> Iterator[Finding]:
    hardware = machine.hardware
    args: Args = {"npu_smi": hardware.npu_smi_folder, "driver": hardware.driver_empty}
    if hardware.driver_empty:
        yield Finding(CODE, Status.FAIL if machine.needs_npu else Status.WARN, "ENV092.driver", args)
    if hardware.npu_smi_folder:
        yield Finding(CODE, Status.WARN, "ENV092.npu_smi", args)
