"""ACP522: the loss curves stay together (ACC250)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, by_findings
from helpers.finding import Finding

CODE, GROUP = "ACP522", "precision"
BASIS = "rules"


def check(facts: Evidence) -> Iterator[Finding]:
    yield by_findings(CODE, facts.on_npu("curves"), ("ACC250",))
