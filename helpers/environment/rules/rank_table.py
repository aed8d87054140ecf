"""ENV062: rank variables left over from a platform. HCCL believes RANK_TABLE_FILE and fails where it does not fit.

ModelArts sets RANK_TABLE_FILE, RANK_ID and RANK_SIZE in notebooks too.
Source: https://support.huaweicloud.com (ModelArts, distributed training).
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.finding import Finding, Status

CODE, GROUP = "ENV062", "process"
NAMES = ("RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE")


def check(machine: Machine) -> Iterator[Finding]:
    left = [name for name in NAMES if machine.environ.get(name)]
    if left and "RANK" not in machine.environ:
        status = Status.WARN if machine.needs_npu else Status.NOTE
        yield Finding(CODE, status, "ENV062.left", {"names": left, "unset": " ".join(left)})
