"""ACP551: the way back: the original script is as it was, or can be restored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from helpers.batch.acceptance.evidence import Evidence, judged
from helpers.finding import Finding
from helpers.migration.texts import read_text
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE, GROUP = "ACP551", "rollback"
BASIS = "defined"


def check(facts: Evidence) -> Iterator[Finding]:
    found = facts.report("rewrite")
    told = found.report.facts
    hashes, root = told.get("sha256"), told.get("root")
    if told.get("in_place"):
        backups = told.get("backups") or []
        there = [one for one in backups if Path(str(root), str(one)).is_file()]
        args: dict[str, Scalar] = {"backups": len(there), "of": len(backups)}
        yield judged(CODE, found, bool(backups) and len(there) == len(backups), {"say": "accept.backups", "args": args})
        return
    if not isinstance(hashes, dict) or not hashes or not root:
        raise CannotCheck("accept.not_in_report", rules=["sha256"], page=found.page)
    files = {name: Path(str(root), name) for name in hashes}
    gone = [str(path) for path in files.values() if not path.is_file()]
    if gone:
        raise CannotCheck("accept.original_gone", path=gone[0])
    changed: list[Scalar] = [name for name, path in files.items() if read_text(path, name).sha256 != hashes[name]]
    said = "accept.original_changed" if changed else "accept.original_kept"
    yield judged(CODE, found, not changed, {"say": said, "args": {"count": len(files), "changed": changed}})
