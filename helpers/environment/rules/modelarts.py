"""ENV091: ModelArts, told by its MA_* variables; what its preset images do differently.

With the preset engine ("RTF") the boot file is started once per card: calling torchrun in it starts N x N
processes. Source: https://support.huaweicloud.com (ModelArts, Ascend PyTorch boot modes; MA_RUN_METHOD).
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV091", "platform"


def check(machine: Machine) -> Iterator[Finding]:
    environ = machine.environ
    if not any(name.startswith("MA_") for name in environ):
        return
    if "MA_VJ_NAME" not in environ:
        yield Finding(CODE, Status.NOTE, "ENV091.notebook", {})
        return
    args: Args = {
        "hosts": environ.get("MA_NUM_HOSTS") or environ.get("VC_WORKER_NUM") or "?",
        "cards": environ.get("MA_NUM_GPUS") or "?",
        "method": environ.get("MA_RUN_METHOD") or "rtf",
    }
    rtf = str(args["method"]).lower() == "rtf" and "RANK_TABLE_FILE" in environ
    yield Finding(CODE, Status.NOTE, "ENV091.rtf" if rtf else "ENV091.job", args)
