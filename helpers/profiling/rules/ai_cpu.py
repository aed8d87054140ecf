"""Do operators run on the AI CPU? It is some hundred times slower than the cores, and these mostly wait for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, needs_npu
from helpers.rules import CannotCheck

CODE = "PRF365"
SOURCE = "https://gitcode.com/Ascend/msprof-analyze"
UNITS = ("AI_CPU", "KERNEL_AICPU")


def check(profile: Profile) -> Iterator[Finding]:
    needs_npu(profile, CODE)
    table, trace = profile.kernels, profile.trace
    if table is not None and table.has("unit"):
        on_it = table.where("unit", UNITS.__contains__)
        part = table.ns(on_it) / max(1, table.ns())
        found = table.said("type" if "type" in table.texts else "name", on_it)
    elif any(trace.engines):
        rows = trace.where(("compute",)) & (trace.step >= 0)
        on_it = np.isin(trace.engine, [at for at, unit in enumerate(trace.engines) if unit in UNITS]) & rows
        part = float(trace.duration_ns[on_it].sum() / max(1, trace.duration_ns[rows].sum()))
        found = sorted({trace.names[at] for at in np.unique(trace.name[on_it]).tolist()})
    else:
        raise CannotCheck("advice.no_units", topic={"say": "PRF365.topic"})
    share = part * profile.breakdown.share("computing")
    yield advice(profile, "PRF365.change", share, SOURCE, worth=1e-9, operators=list(found[:6]))
