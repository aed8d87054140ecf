"""Where the host waits for the device, and which lines read values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.breakdown import gaps_begun_in
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.savings import advise_change, find_caller, grade_saving, idle_share, needs_device

BASIS = {"PRF314": "reasoned"}
#: `.item()`, `float(loss)`, `if tensor:` end in it
READ = "aten::_local_scalar_dense"
#: So many reads of a step are looked up: a search each
MOST = 50
#: `train.py(12): step` as the profilers write a line
FRAME = re.compile(r"^(.+?)\((\d+)\).*$")
SOURCE = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
READS = ("aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::masked_select")


def check_synchronisation(profile: Profile) -> Iterator[Finding]:
    """Does the host wait for the device, and does the device then run dry?

    `loss.item()`, `.cpu()` and `synchronize()` make the host wait until the device has nothing left to do; what counts
    is the device's idle time that begins while the host waits. Without times of a real device the lines that read
    values are told, for on an NPU each of them waits; what they cost there is not known.
    """
    if not profile.device_times and (read := _find_reads(profile)):
        yield read
        return
    if profile.tier == "cpu":
        yield Finding("PRF314", Status.OK, "PRF314.cpu")
        return
    if not profile.device_times:
        raise CannotCheck("PRF314.no_device")
    if not profile.trace.count_events("host_op", "runtime"):
        raise CannotCheck("PRF314.no_host")
    steady = profile.breakdown.steady
    lost = gaps_begun_in(profile.gaps, profile.waiting)
    share = lost / sum(step.total_ns for step in steady)
    yield grade_saving(profile, "PRF314", share, good="harmless", bad="dry")


def _find_reads(profile: Profile) -> Finding | None:
    """Find the lines of the script that read values, those of one steady step looked at; None where none does, or where
    host operators are no script's work. What a loader reads, and an optimizer of its counters, which lie on the host,
    waits for no device."""
    trace, steady = profile.trace, profile.breakdown.steady
    if not profile.conclusive:
        return None
    looked_at = trace.in_steps({step.number for step in steady})
    rows = np.flatnonzero(trace.mask_of_names(READ.__eq__) & trace.where(("host_op",)) & looked_at)
    optimizers = trace.mask_of_names(lambda name: name.startswith("Optimizer.step#"))
    hosts = trace.where(("loading",)) | (trace.where(("annotation",)) & optimizers)
    rows = rows[~trace.intervals_of(hosts).cover_moments(trace.start_ns[rows])]
    if not rows.size:
        return None
    lines = Counter(find_caller(profile, row) for row in rows[trace.step[rows] == trace.step[rows[0]]][:MOST].tolist())
    where: list[Scalar] = [FRAME.sub(r"\1:\2", line) for line, _ in lines.most_common(3) if line]
    args: dict[str, Scalar] = {"calls": round(rows.size / len(steady), 1)}
    if not where:
        return Finding("PRF314", Status.NOTE, "PRF314.read_somewhere", args)
    return Finding("PRF314", Status.NOTE, "PRF314.read", {**args, "where": where})


def check_values_read(profile: Profile) -> Iterator[Finding]:
    """Does the step read values back from the device? Each read waits until the device has nothing left to do.

    `.item()`, `.cpu()`, `float(loss)`, `if tensor:`, boolean indexing and `nonzero()` do it. `isfinite()` alone stays
    on the device: what reads its answer counts. https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    needs_device(profile, "PRF390")
    trace = profile.trace
    if not trace.count_events("host_op"):
        raise CannotCheck("advice.no_host", topic=Sentence("PRF390.topic"))
    wanted = [at for at, name in enumerate(trace.names) if name in READS]
    rows = np.flatnonzero(trace.mask_of_names(READS.__contains__) & trace.where(("host_op",)) & (trace.step >= 0))
    calls_of_name = {trace.names[at]: int((trace.name[rows] == at).sum()) for at in wanted}
    most = max(calls_of_name, key=lambda name: calls_of_name[name], default="") if rows.size else ""
    first = rows[trace.name[rows] == trace.names.index(most)][:1] if most else []
    where = find_caller(profile, int(first[0])) if len(first) else ""
    share = idle_share(profile, "synchronisation") if rows.size else 0.0
    calls = round(rows.size / len(trace.steps), 1)
    yield advise_change(
        profile, "PRF390.change", share, SOURCE, calls=calls, operator=most or None, where=where or None
    )


RULES = {
    "PRF314": check_synchronisation,
    "PRF390": check_values_read,
}
