"""ACP501: torch and torch_npu are a pair (ENV053)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, by_findings
from helpers.finding import Finding, Status

CODE, GROUP = "ACP501", "environment"
BASIS = "rules"


def check(facts: Evidence) -> Iterator[Finding]:
    yield by_findings(CODE, facts.on_npu("machine_check"), ("ENV053",), good=Status.OK)
