"""ACP503: NPUs are seen, and npu-smi calls them healthy (ENV001, ENV022)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, by_findings
from helpers.finding import Finding

CODE, GROUP = "ACP503", "environment"
BASIS = "rules"


def check(facts: Evidence) -> Iterator[Finding]:
    found = facts.on_npu("machine_check")
    rules = ("ENV001",) if found.report.simulated else ("ENV001", "ENV022")
    yield by_findings(CODE, found, rules, beside=("ENV022",))
