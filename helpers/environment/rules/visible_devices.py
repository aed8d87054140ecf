"""ENV026: ASCEND_RT_VISIBLE_DEVICES holds logical ids; CANN drops wrong ones in silence (error 107001 follows).

Source: https://github.com/vllm-project/vllm/issues/17363
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV026", "device"
NAME = "ASCEND_RT_VISIBLE_DEVICES"


def check(machine: Machine) -> Iterator[Finding]:
    text = machine.environ.get(NAME)
    if text is None:
        return
    ids = re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", text, re.ASCII)
    if ids is None:
        yield Finding(CODE, Status.FAIL, "ENV026.malformed", {"value": text})
        return
    wanted = [int(item) for item in text.split(",")]
    known = machine.hardware.chips
    wrong = [item for item in wanted if item >= known or wanted.count(item) > 1] if known else []
    args: Args = {"value": text, "wrong": sorted(set(wrong)), "count": known}
    yield Finding(CODE, *((Status.FAIL, "ENV026.wrong") if wrong else (Status.OK, "ENV026.ok")), args)
