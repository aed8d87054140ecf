"""`python -m tests.batch.campaign.starting ROOT BOOKS OPTIONS NAME...`: a start of a plan in a process to be killed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ascend_workbook.batch.campaign import conduct, local
from ascend_workbook.batch.campaign.cards import Here
from ascend_workbook.findings.errors import Stopped, WorkbookError
from tests.batch.campaign.conftest import all_of, item

HERE = Here("cpu", 1, {"tier": "cpu", "torch": "1"})


def main(root: str, books: str, options: str, *names: str) -> int:
    """Exit codes as the command has them."""
    local.probe_device = conduct.probe_device = lambda wanted: HERE  # type: ignore[assignment]
    try:
        all_of(
            [item(name) for name in names],
            Path(root),
            Path(books),
            **json.loads(options),
            say_progress=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except WorkbookError as error:
        print(error, file=sys.stderr)
        return 2
    except Stopped as stop:
        print(stop, file=sys.stderr)
        return stop.EXIT
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
