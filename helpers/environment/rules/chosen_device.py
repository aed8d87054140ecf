"""ENV001: the device the stages will use, and why no better one. A real NPU that cannot be used is a failure.

`device="npu"` never falls back, and with `auto` an NPU in the machine that torch cannot use is told as a
failure too: otherwise a night on a broken driver would look good.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status
from helpers.words import Scalar

CODE, GROUP = "ENV001", "device"
BASIS = "defined"


def check(machine: Machine) -> Iterator[Finding]:
    chosen = machine.chosen
    if not chosen.tier:
        absent: Args = {"wanted": chosen.wanted, "why": chosen.why or {"say": "report.not_looked"}}
        yield Finding(CODE, Status.FAIL, "ENV001.absent", absent, weight=50)
    elif chosen.tier != "npu" and machine.needs_npu:
        why: Scalar = chosen.why_not.get("npu", {"say": "report.not_looked"})
        found: Args = {"count": machine.hardware.chips, "why": why, "tier": chosen.tier}
        yield Finding(CODE, Status.FAIL, "ENV001.unusable", found, weight=50)
    else:
        args: Args = {"tier": chosen.tier, "name": chosen.name, "count": chosen.count}
        better: list[Scalar] = [_reason(tier, why) for tier, why in chosen.why_not.items()]
        key = "ENV001.ok_others" if better else "ENV001.ok"
        yield Finding(CODE, Status.OK, key, {**args, "others": better})


def _reason(tier: str, why: Scalar) -> dict[str, Scalar]:
    return {"say": "ENV001.other", "args": {"tier": tier, "why": why}}
