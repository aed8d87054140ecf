"""`python -m tests.faults.programs ROOT WORDS...`: the command, whose `run` takes the small notebooks of ROOT."""

from __future__ import annotations

import sys
from pathlib import Path

from ascend_workbook import batch
from ascend_workbook.batch.campaign import conduct, local
from ascend_workbook.batch.campaign.cards import Here
from ascend_workbook.cli.main import main

HERE = {"tier": "cpu", "torch": "1"}


def start(root: str, *words: str) -> int:
    """The exit code, as the command has it."""
    books = Path(root) / "notebooks"
    run, run_plan = batch.run, batch.run_plan  # the command reads a partial's words: these are functions
    batch.run = lambda *given, **more: run(*given, **more, notebooks=books, here=HERE)
    batch.run_plan = lambda *given, **more: run_plan(*given, **more, notebooks=books)
    local.probe_device = conduct.probe_device = lambda wanted: Here("cpu", 1, HERE)  # type: ignore[assignment]
    return main(list(words))


if __name__ == "__main__":
    sys.exit(start(*sys.argv[1:]))
