"""One run in a process of its own: `python -m helpers.batch.campaign.child ORDER`, a JSON file. Progress on stdout."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helpers.batch.plan.model import Item
from helpers.batch.workbook import run
from helpers.errors import WorkbookError

#: Exit code where the run could not start; its page says why.
NOT_STARTED = 2


def order(item: Item, root: Path, notebooks: Path, *, force: bool) -> str:
    """The text of the file."""
    return json.dumps({"item": asdict(item), "root": str(root), "notebooks": str(notebooks), "force": force})


def main(path: str) -> int:
    """Runs what the file orders."""
    given: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    item = Item(**given["item"])
    try:
        run(item.name, item.parameters, stages=tuple(item.stages), lang=item.lang, root=given["root"],
            notebooks=Path(given["notebooks"]), force=given["force"], timeout_s=item.timeout_s,
            say_progress=lambda line: print(line, flush=True))  # fmt: skip
    except WorkbookError as error:
        print(error, file=sys.stderr)
        return NOT_STARTED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
