"""ACP541: a checkpoint saved on the NPU loads on a machine without one. No report of ours tells."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence
from helpers.finding import Finding
from helpers.rules import CannotCheck

CODE, GROUP = "ACP541", "deployment"
BASIS = "defined"


def check(facts: Evidence) -> Iterator[Finding]:
    raise CannotCheck("accept.no_report_tells")
