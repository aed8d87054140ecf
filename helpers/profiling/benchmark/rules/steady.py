"""Is each time steady enough to be compared? Thresholds as in torch.utils.benchmark: quartiles 10 % and 25 % of the
median apart; the same for what the last third of a run takes longer than its first. Single steps far beyond the median
are told apart: they count in the throughput.

Source: https://docs.pytorch.org/docs/stable/benchmark_utils.html
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import Bench, Measured
from helpers.profiling.benchmark.statistics import FAR, LOOSE, UNSTEADY, far_beyond
from helpers.words import Scalar

CODE = "PRF371"
#: Steps of a run: fewer have no thirds
LEAST = 6


def check(bench: Bench) -> Iterator[Finding]:
    short: list[Scalar] = [one.name for one in bench.ran if min(map(len, one.runs_s)) < LEAST]
    judged = [one for one in bench.ran if one.name not in short]
    if short:
        yield Finding(CODE, Status.NOTE, "PRF371.few", {"names": short, "least": LEAST})
    shaky = [one for one in judged if max(one.spread_percent, abs(one.drift_percent)) > LOOSE]
    for one in shaky:
        worst = max(one.spread_percent, abs(one.drift_percent))
        args: dict[str, Scalar] = {"name": one.name, "spread": round(one.spread_percent, 1)}
        args["drift"] = round(one.drift_percent, 1)
        yield Finding(CODE, Status.WARN if worst > UNSTEADY else Status.NOTE, "PRF371.shaky", args)
    if judged and not shaky:
        yield Finding(CODE, Status.OK, "PRF371.steady", {"ran": len(judged), "limit": LOOSE})
    for one in bench.ran:
        yield from _beyond(one)


def _beyond(one: Measured) -> Iterator[Finding]:
    long = far_beyond(one.times_s)
    if long:
        args: dict[str, Scalar] = {"name": one.name, "long": len(long), "steps": len(one.times_s), "times": FAR}
        args["percent"] = round(100 * sum(long) / sum(one.times_s), 1)
        yield Finding(CODE, Status.NOTE, "PRF371.beyond", args)
