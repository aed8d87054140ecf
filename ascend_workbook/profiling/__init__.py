"""Profiling: collect a profile of any script, read any profile, say where the time goes and what it could save.

Facts: `trace.Trace`, read by readers/, and `facts.Profile` around it. Rules: rules/, one file each, codes PRF3xx.
Verbs: below."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ascend_workbook.profiling.benchmark import benchmark

if TYPE_CHECKING:
    from ascend_workbook.profiling.answers import analyse, join
    from ascend_workbook.profiling.collecting import profile, recording

__all__ = ["analyse", "benchmark", "join", "profile", "recording"]
#: verb -> the module that holds it: to analyse, nothing that collects is imported, and the other way round
_VERBS = {"analyse": "answers", "join": "answers", "profile": "collecting", "recording": "collecting"}


def __getattr__(name: str) -> Any:
    if name not in _VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_VERBS[name]}"), name)
