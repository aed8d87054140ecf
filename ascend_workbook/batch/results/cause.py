"""Why a run is red, as a key that is equal for runs with one cause: a known error, a verdict, or an error's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ascend_workbook.batch.campaign.ended import RED, STOPPED, Ended
from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.sentence import load_catalogue

if TYPE_CHECKING:
    from ascend_workbook.batch.results.rows import StageRow

#: What differs between two runs of one error: numbers, addresses, paths, quoted names.
PASSING = re.compile(r"0x[0-9a-fA-F]+|(?:/[^\s/:'\"]+){2,}|'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?")
LONGEST = 200
#: Sentences that pass on what another says, and under which name they have it; the others have it as `verdict`.
PASSED_ON = {"MIG150.joined": "run", "MIG140.failed": "why"}
#: Of these the error is the cause, not that there was one.
FAILED = ("launch.failed", "launch.failed_known")


def cause_of(ended: Ended, stage: StageRow | None) -> str:
    """Return the key of a red run's cause: `known:ID`, `error:TEXT` with what passes taken out, or `verdict:KEY`."""
    if stage is not None and stage.state == STOPPED:  # from outside: the run tells why
        stage = None
    if stage is None or not stage.error or stage.state == "red":
        return f"verdict:{_innermost_key(stage.verdict if stage else ended.verdict, ended.state)}"
    known_error = explain_text(stage.error)
    if known_error is not None:
        return f"known:{known_error.known.id}"
    return f"error:{stage.state}:{_strip_passing(stage.error)}"


def _strip_passing(error: str) -> str:
    """Return an error's first line without what passes."""
    return PASSING.sub("#", error.partition("\n")[0])[:LONGEST]


def _innermost_key(verdict: Any, state: str) -> str:
    """Return the key of the innermost sentence of a verdict. `RUN400.red` only passes on what a stage's report said,
    and that the script's error.
    """
    joined = ""
    while isinstance(verdict, dict):
        key, args = str(verdict.get("say", "")), verdict.get("args") or {}
        inner = args.get(PASSED_ON.get(key, "verdict"))
        if not isinstance(inner, dict):
            if key in FAILED:
                return f"launch.failed:{_strip_passing(str(args.get('error', '')))}"
            return f"{joined}{key}" if key in load_catalogue() else state
        joined = f"{key}:" if key == "MIG150.joined" else joined  # its run may be good, and the scan be red
        verdict = inner
    return state if state != RED else str(verdict)[:LONGEST]
