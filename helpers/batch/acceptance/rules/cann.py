"""ACP502: CANN fits torch_npu, and the driver fits CANN (ENV054, ENV030). The stand-in of the simulator has neither."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, by_findings
from helpers.finding import Finding, Status
from helpers.rules import CannotCheck

CODE, GROUP = "ACP502", "environment"
BASIS = "rules"


def check(facts: Evidence) -> Iterator[Finding]:
    found = facts.on_npu("machine_check")
    if found.report.simulated:
        raise CannotCheck("accept.simulator_has_none")
    yield by_findings(CODE, found, ("ENV054", "ENV030"), good=Status.OK)
