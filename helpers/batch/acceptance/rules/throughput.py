"""ACP531: throughput on the NPU is at least the share of the baseline's that is aimed at (PRF376)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, Found, judged
from helpers.finding import Finding, Status
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE, GROUP = "ACP531", "performance"
BASIS = "rules"


def check(facts: Evidence) -> Iterator[Finding]:
    found = facts.on_hardware("benchmark")
    least = facts.targets.throughput_at_least
    if least is None:
        raise CannotCheck("accept.no_throughput_target")
    ratio = _ratio(found)
    args: dict[str, Scalar] = {"ratio": f"{100 * ratio:.4g} %", "wanted": f"{100 * least:.4g} %"}
    yield judged(CODE, found, ratio >= least, {"say": "accept.throughput", "args": args})


def _ratio(found: Found) -> float:
    """The fastest configuration's throughput over the baseline's of the same name."""
    told = [one for one in found.report.findings if one.rule == "PRF376"]
    if any(one.status is Status.WARN for one in told):
        raise CannotCheck("accept.other_benchmark")
    best = next((one.args.get("name") for one in found.report.findings if one.rule == "PRF370"), None)
    for one in told:
        ratio = one.args.get("ratio")
        if one.args.get("name") == best and isinstance(ratio, (int, float)):
            return float(ratio)
    raise CannotCheck("accept.no_throughput_baseline")
