"""ACP513: every operator of a step runs on the NPU: none unsupported, none on the CPU, none unknown."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, judged
from helpers.finding import Finding
from helpers.rules import CannotCheck

CODE, GROUP = "ACP513", "code"
BASIS = "defined"


def check(facts: Evidence) -> Iterator[Finding]:
    found = facts.on_npu("operator_support")
    told = next((one for one in found.report.findings if one.rule == "MIG170"), None)
    if told is None or not {"fallback", "unsupported", "unknown"} <= told.args.keys():
        raise CannotCheck("accept.not_in_report", rules=["MIG170"], page=found.page)
    clean = not any(told.args[kind] for kind in ("fallback", "unsupported", "unknown"))
    yield judged(CODE, found, clean, {"say": told.key, "args": told.args})
