"""ACP542: what the target runs with is recorded: Python, packages and the container."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, judged
from helpers.finding import Finding
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE, GROUP = "ACP542", "deployment"
BASIS = "defined"


def check(facts: Evidence) -> Iterator[Finding]:
    found = facts.on_npu("machine_check")
    machine = found.report.facts.get("machine") or {}
    python, host = machine.get("python") or {}, machine.get("host") or {}
    packages = python.get("packages")
    if not isinstance(packages, dict) or not packages:
        raise CannotCheck("accept.not_in_report", rules=["machine.python.packages"], page=found.page)
    args: dict[str, Scalar] = {"count": len(packages), "python": python.get("version"),
                               "container": host.get("container") or "-"}  # fmt: skip
    yield judged(CODE, found, True, {"say": "accept.recorded", "args": args})
