"""Memory figures: the CPU's memory is not a GPU's, so every figure is 0 and asking is noted."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable
from typing import Any

FIGURES = (
    *("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"),
    *("memory_cached", "max_memory_cached", "memory_usage", "utilization", "temperature", "power_draw", "clock_rate"),
    "device_memory_used",
)
NOTHING = (
    *("empty_cache", "ipc_collect", "reset_peak_memory_stats", "reset_max_memory_allocated"),
    *("reset_max_memory_cached", "reset_accumulated_memory_stats", "set_per_process_memory_fraction"),
)
#: Told once per name that was asked for: the log says that it was not measured.
asked: list[Callable[[str], None]] = []


def host_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def memory_answers() -> dict[str, Any]:
    """Return torch.cuda's memory functions by their names."""
    answers: dict[str, Any] = {name: _make_figure(name) for name in FIGURES}
    answers.update({name: lambda *args, **kwargs: None for name in NOTHING})
    answers.update(
        memory_stats=_memory_stats,
        memory_stats_as_nested_dict=_memory_stats,
        memory_summary=lambda device=None, abbreviated=False: "memory: not measured (CPU standing in for CUDA)\n",
        mem_get_info=lambda device=None: (os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), host_bytes()),
    )
    return answers


def _make_figure(name: str) -> Callable[..., int]:
    def report_nothing(device: Any = None) -> int:
        _note_question(name)
        return 0

    return report_nothing


def _memory_stats(device: Any = None) -> Any:
    _note_question("memory_stats")
    return collections.defaultdict(int)


def _note_question(name: str) -> None:
    for tell in asked:
        tell(name)
