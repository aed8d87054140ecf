"""Does the host hand out work too slowly while the queue between its two threads is off or at its lower level?

The timeline shows Enqueue and Dequeue where the queue is on; its level is told by the environment alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, environment, idle_share, needs_npu
from helpers.rules import CannotCheck

CODE = "PRF392"
SOURCE = "https://hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_019.html"


def check(profile: Profile) -> Iterator[Finding]:
    needs_npu(profile, CODE)
    names = profile.trace.names
    if not profile.trace.count("host_op", "runtime"):
        raise CannotCheck("advice.no_host", topic={"say": "PRF392.topic"})
    share = idle_share(profile, "host")
    if not any(name.startswith(("Enqueue", "Dequeue")) for name in names):
        yield advice(profile, "PRF392.off", share, SOURCE, worth=0.05)
    elif environment(profile, "TASK_QUEUE_ENABLE", CODE) in ("", "1"):
        yield advice(profile, "PRF392.change", share, SOURCE, worth=0.05)
    else:
        yield advice(profile, "PRF392.change", 0.0, SOURCE)
