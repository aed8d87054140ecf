"""Does the step read values back from the device? Each read waits until the device has nothing left to do.

`.item()`, `.cpu()`, `float(loss)`, `if tensor:`, boolean indexing and `nonzero()` do it. `isfinite()` alone stays
on the device: what reads its answer counts.
https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, called_from, idle_share, needs_device
from helpers.rules import CannotCheck

CODE = "PRF390"
SOURCE = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
READS = ("aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::masked_select")


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    trace = profile.trace
    if not trace.count("host_op"):
        raise CannotCheck("advice.no_host", topic={"say": "PRF390.topic"})
    wanted = [at for at, name in enumerate(trace.names) if name in READS]
    rows = np.flatnonzero(trace.named(READS.__contains__) & trace.where(("host_op",)) & (trace.step >= 0))
    found = {trace.names[at]: int((trace.name[rows] == at).sum()) for at in wanted}
    most = max(found, key=lambda name: found[name], default="") if rows.size else ""
    first = rows[trace.name[rows] == trace.names.index(most)][:1] if most else []
    where = called_from(profile, int(first[0])) if len(first) else ""
    share = idle_share(profile, "synchronisation") if rows.size else 0.0
    calls = round(rows.size / len(trace.steps), 1)
    yield advice(profile, "PRF390.change", share, SOURCE, calls=calls, operator=most or None, where=where or None)
