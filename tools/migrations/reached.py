"""A launch plugin that writes down which lines of the program's own files ran, in the main thread, from its start.

Runs in the user's process by path; writes reached.rank<R>.json: numbers of lines by file, below the folder of the run
(configuration `work`). Imports nothing of the workbook."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Look at every line from now on."""
    work = str(config["work"])
    lines: defaultdict[str, set[int]] = defaultdict(set)

    def see_line(frame: FrameType, event: str, argument: Any) -> Any:
        lines[frame.f_code.co_filename].add(frame.f_lineno)
        return see_line

    def see_call(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(work):
            return None
        return see_line(frame, event, argument)

    def write(status: str) -> None:
        sys.settrace(None)
        content = {name[len(work) + 1 :]: sorted(numbers) for name, numbers in lines.items()}
        path = Path(observer.out) / f"reached.rank{observer.rank}.json"
        path.write_text(json.dumps(content), encoding="utf-8")

    sys.settrace(see_call)
    observer.on_end(write)
