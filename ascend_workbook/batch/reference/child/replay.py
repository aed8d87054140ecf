"""nbval over reference notebooks, with a kernel that replays what was executed: `python replay.py FOLDER`.

Each folder below FOLDER has `reference.ipynb` and `executed.ipynb` of one stage; `sanitize.cfg` lies in FOLDER. nbval
does all else as ever: which cells are compared, by which rules, and what it says. The answer is FOLDER/answer.json.
"""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from queue import Empty
from typing import Any

# Optional to jsonschema, which nbformat imports: it builds a grammar of web addresses, which takes a second.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

import nbformat  # noqa: E402
import nbval.plugin as nbval  # noqa: E402
import pytest  # noqa: E402

#: Of a difference at most so much is kept.
MOST_LINES, LONGEST_LINE = 200, 400
OPTIONS = (
    *("--nbval", "--nbval-current-env", "--color=no", "-q", "-p", "no:cacheprovider", "-p", "nbval.plugin"),
    *("-c", "/dev/null", "--noconftest"),
)


class Replay:
    """Stands in for the kernel of the notebook whose folder is `cwd`: answers each cell with its kept outputs."""

    def __init__(self, kernel_name: str, cwd: str, startup_timeout: float = 60) -> None:
        book = nbformat.read(Path(cwd, "executed.ipynb"), 4)
        self.cells = [cell for cell in book.cells if cell.cell_type == "code"]
        self.at = 0
        self.messages: list[object] = []

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        message_id = f"cell{self.at}"
        outputs = [(output.output_type, output) for output in self.cells[self.at].outputs]
        kinds = [*outputs, ("status", {"execution_state": "idle"})]
        self.messages = [
            {"msg_type": kind, "content": of, "parent_header": {"msg_id": message_id}} for kind, of in kinds
        ]
        return message_id

    def get_message(self, stream: str, timeout: float | None = None) -> object:
        if not self.messages:
            raise Empty
        return self.messages.pop(0)

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None: ...

    def await_idle(self, parent_id: str, timeout: float) -> None:
        self.messages.clear()

    def is_alive(self) -> bool:
        return True

    def interrupt(self) -> None: ...

    def stop(self) -> None: ...


class Watcher:
    """Tells the replay which cell is next, and keeps what nbval made of each."""

    def __init__(self) -> None:
        self.cells: dict[str, dict[str, object]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> None:
        item.parent.kernel.at = item.cell_num

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        for item in items:
            outputs = len(nbval.coalesce_streams(item.cell.outputs))
            row = {"stage": item.path.parent.name, "cell": item.cell_num + 1, "outputs": outputs, "compared": 0}
            self.cells[item.nodeid] = {**row, "outcome": "not run", "said": "", "diff": ""}

    def pytest_runtest_logreport(self, report: Any) -> None:
        cell = self.cells[report.nodeid]
        if report.when == "call" or report.outcome != "passed":
            cell["outcome"] = report.outcome
            cell["said"] = "" if report.outcome == "passed" else str(report.longrepr)[:20_000]

    def watch_cell(self, item: Any, test: Any, ref: Any) -> None:
        """Note what nbval is about to compare in a cell, and the difference as lines."""
        cell = self.cells[item.nodeid]
        cell["compared"] = sum(bool(_compared_texts(item, [output])) for output in ref)
        before, after = _compared_texts(item, ref), _compared_texts(item, test)
        differing = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
        shown = [key for key in differing if not key.startswith("text/html")] or differing
        cell["diff"] = "\n".join(_describe_difference(key, before.get(key, ""), after.get(key, "")) for key in shown)


def _compared_texts(item: Any, outputs: Any) -> dict[str, str]:
    """Return what nbval compares of the outputs, by the name of the field, cleaned by the rules."""
    texts: dict[str, list[str]] = {}
    for output in nbval.transform_streams_for_comparison(outputs):
        flat = {**{key: value for key, value in output.items() if key != "data"}, **output.get("data", {})}
        for key, value in flat.items():
            if key not in item.parent.skip_compare:
                text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
                texts.setdefault(key, []).append(item.sanitize(text))
    return {key: "\n".join(values) for key, values in texts.items()}


def _describe_difference(key: str, before: str, after: str) -> str:
    there, here = (text.replace("><", ">\n<").splitlines() for text in (before, after))
    lines = difflib.unified_diff(there, here, f"reference {key}", f"this run {key}", lineterm="", n=1)
    return "\n".join(line[:LONGEST_LINE] for line, _ in zip(lines, range(MOST_LINES)))


def main(folder: str) -> int:
    """Run nbval; the answer has a row for each code cell of each reference."""
    watcher, compare = Watcher(), nbval.IPyNbCell.compare_outputs

    def watch_and_compare(self: object, test: object, ref: object, skip_compare: object = None) -> object:
        watcher.watch_cell(self, test, ref)
        return compare(self, test, ref, skip_compare)

    nbval.RunningKernel, nbval.IPyNbCell.compare_outputs = Replay, watch_and_compare
    books = sorted(str(path) for path in Path(folder).glob("*/reference.ipynb"))
    rules = str(Path(folder, "sanitize.cfg"))
    options = [*OPTIONS, "--rootdir", folder, "--nbval-sanitize-with", rules]
    code = int(pytest.main([*options, *books], plugins=[watcher]))
    answer = {"code": code, "cells": list(watcher.cells.values())}
    Path(folder, "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
