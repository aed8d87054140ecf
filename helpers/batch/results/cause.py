"""Why a run is red, as a key that is equal for runs with one cause: a known error, a verdict, or an error's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from helpers.batch.campaign.ended import RED, STOPPED, Ended
from helpers.diagnosis import explanation
from helpers.words import Scalar, catalogue

if TYPE_CHECKING:
    from helpers.batch.results.rows import StageRow

#: What differs between two runs of one error: numbers, addresses, paths, quoted names.
PASSING = re.compile(r"0x[0-9a-fA-F]+|(?:/[^\s/:'\"]+){2,}|'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?")
LONGEST = 200
#: Sentences that pass on what another says, and under which name they have it; the others have it as `verdict`.
PASSED_ON = {"MIG150.joined": "run", "MIG140.failed": "why"}
#: Of these the error is the cause, not that there was one.
FAILED = ("launch.failed", "launch.failed_known")


def cause_of(ended: Ended, stage: StageRow | None) -> str:
    """`known:ID`, `error:TEXT` with what passes taken out, or `verdict:KEY`."""
    if stage is not None and stage.state == STOPPED:  # from outside: the run tells why
        stage = None
    if stage is None or not stage.error or stage.state == "red":
        return f"verdict:{_key(stage.verdict if stage else ended.verdict, ended.state)}"
    found = explanation(stage.error)
    if found is not None:
        return f"known:{found.known.id}"
    return f"error:{stage.state}:{_lasting(stage.error)}"


def _lasting(error: str) -> str:
    """An error's first line without what passes."""
    return PASSING.sub("#", error.partition("\n")[0])[:LONGEST]


def _key(verdict: Scalar, state: str) -> str:
    """The innermost sentence: `RUN400.red` only passes on what a stage's report said, and that the script's error."""
    joined = ""
    while isinstance(verdict, dict):
        key, args = str(verdict.get("say", "")), verdict.get("args") or {}
        inner = args.get(PASSED_ON.get(key, "verdict"))
        if not isinstance(inner, dict):
            if key in FAILED:
                return f"launch.failed:{_lasting(str(args.get('error', '')))}"
            return f"{joined}{key}" if key in catalogue() else state
        joined = f"{key}:" if key == "MIG150.joined" else joined  # its run may be good, and the scan be red
        verdict = inner
    return state if state != RED else str(verdict)[:LONGEST]
