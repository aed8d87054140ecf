"""ACP511: nothing is left to do by hand and nothing unsupported, and no file still asks for CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, judged
from helpers.finding import Finding
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE, GROUP = "ACP511", "code"
BASIS = "defined"


def check(facts: Evidence) -> Iterator[Finding]:
    found = facts.report("rewrite")
    left = found.report.facts.get("scan_of_the_result")
    if not isinstance(left, dict) or not {"manual", "unsupported"} <= left.keys():
        raise CannotCheck("accept.not_in_report", rules=["scan_of_the_result"], page=found.page)
    cuda: list[Scalar] = [str(one) for one in found.report.facts.get("still_cuda", [])]
    args: dict[str, Scalar] = {"manual": left["manual"], "unsupported": left["unsupported"], "cuda": len(cuda)}
    blocked = bool(left["manual"] or left["unsupported"] or cuda)
    said = "accept.code_left" if blocked else "accept.code_clean"
    yield judged(CODE, found, not blocked, {"say": said, "args": args})
