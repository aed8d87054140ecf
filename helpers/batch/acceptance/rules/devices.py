"""ACP503: NPUs are seen, and npu-smi calls them healthy (ENV001, ENV022)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, by_findings
from helpers.finding import Finding
from helpers.rules import CannotCheck

CODE, GROUP = "ACP503", "environment"


def check(facts: Evidence) -> Iterator[Finding]:
    found = facts.on_npu("machine_check")
    if not found.report.simulated and not any(one.rule == "ENV022" for one in found.report.findings):
        raise CannotCheck("accept.not_in_report", rules=["ENV022"], page=found.page)
    yield by_findings(CODE, found, ("ENV001", "ENV022"))
