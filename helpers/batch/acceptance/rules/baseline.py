"""ACP552: the baseline that precision was judged by is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from helpers.batch.acceptance.evidence import Evidence, judged
from helpers.finding import Finding
from helpers.rules import CannotCheck

CODE, GROUP = "ACP552", "rollback"
BASIS = "defined"


def check(facts: Evidence) -> Iterator[Finding]:
    found = facts.report("divergence", "compare", "curves")
    told = found.report.facts.get("baseline")
    if not isinstance(told, str) or not told:
        raise CannotCheck("accept.not_in_report", rules=["baseline"], page=found.page)
    path = Path(told)
    if not path.is_absolute():
        path = facts.folder / path
    kept = path.is_file() or (path.is_dir() and any(path.iterdir()))
    said = {"say": "accept.baseline_kept" if kept else "accept.baseline_gone", "args": {"path": told}}
    yield judged(CODE, found, kept, said)
