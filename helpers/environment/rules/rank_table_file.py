"""ENV064: the file RANK_TABLE_FILE names is one HCCL takes: it has no fallback where the table does not fit.

Source: https://www.hiascend.com/document/detail/zh/canncommercial/82RC1/hccl/hcclug/hcclug_000014.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV064", "hccl"


def check(machine: Machine) -> Iterator[Finding]:
    table = machine.hccl.rank_table
    if table is None:
        return
    args: Args = {"path": table.path, "ranks": table.ranks, "servers": table.servers}
    several = machine.chosen.count > 1 or "RANK" in machine.environ
    size = machine.environ.get("RANK_SIZE", "")
    bad = Status.FAIL if machine.needs_npu and several else Status.WARN
    if table.problem:
        yield Finding(CODE, bad, "ENV064.unfit", {**args, "why": table.problem})
    elif re.fullmatch(r"\d{1,7}", size, re.ASCII) and int(size) != table.ranks:
        yield Finding(CODE, bad, "ENV064.size", {**args, "size": size})
    else:
        yield Finding(CODE, Status.OK, "ENV064.ok", args)
