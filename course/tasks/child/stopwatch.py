"""A launch plugin: CPU seconds from before the script's first line to the end of its last step.

Noted as `course_seconds`. Those of processes that it started count as well: work that another process does is still
done. Seconds of a CPU and not of a clock, so that others on the same machine do not count. What is done ahead of the
loop counts, the start of Python and torch does not.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import torch


def attach(observer: Any, config: dict[str, Any]) -> None:
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # the first optimizer imports half of torch
    began = _measure_seconds()
    last = [began]
    observer.on_step(lambda step: last.__setitem__(0, _measure_seconds()))
    observer.on_end(lambda status: observer.note("course_seconds", seconds=last[0] - began))


def _measure_seconds() -> float:
    """Return the CPU seconds of this process and of those that it started, ended or running."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + _seconds_of_running()


def _seconds_of_running() -> float:
    try:
        import psutil
    except ImportError:
        return 0.0
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:
            continue  # ended between the two calls
        total += times.user + times.system
    return total
