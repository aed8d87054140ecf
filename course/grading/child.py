"""Runs a submission's cells in a kernel; started by path in a child of its own, it imports nothing of ours.

    python child.py PLAN

PLAN is JSON: cells (source, tags), parameters, cell_timeout_s, notebook (where the executed one goes). A cell that
raises, or is interrupted at its time limit, does not keep the next ones from running; of the latter CELL_CUT tells.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

LONGEST = 20_000
#: The exit code where a cell was interrupted at its time limit.
CELL_CUT = 75


def main() -> None:
    import nbformat
    from nbclient import NotebookClient

    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    make_cell, cells = nbformat.v4.new_code_cell, _with_parameters(plan["cells"], plan["parameters"])
    cells = [make_cell(cell["source"], metadata={"tags": cell["tags"]}) for cell in cells]
    notebook, longest, began, took = nbformat.v4.new_notebook(cells=cells), plan["cell_timeout_s"], [0.0], [0.0]
    options = {"kernel_name": "python3", "allow_errors": True, "interrupt_on_timeout": True, "record_timing": False}
    client = NotebookClient(notebook, timeout=longest, **options)
    client.on_cell_execute = lambda **_: began.append(time.monotonic())
    client.on_cell_executed = lambda **_: took.append(time.monotonic() - began[-1])
    try:
        client.execute()
    finally:
        for output in (output for cell in notebook.cells for output in cell.outputs):
            if len(output.get("text", "")) > LONGEST:
                output["text"] = output["text"][:LONGEST] + "\n..."
        nbformat.write(notebook, plan["notebook"])
    if 0 < longest <= max(took):
        sys.exit(CELL_CUT)


def _with_parameters(cells: list[dict[str, Any]], parameters: dict[str, str]) -> list[dict[str, Any]]:
    """Put the values of this run behind the cell of that tag, first where there is none."""
    at = next((number for number, cell in enumerate(cells, 1) if "parameters" in cell["tags"]), 0)
    lines = "".join(f"{name} = {value!r}\n" for name, value in parameters.items())
    return [*cells[:at], {"source": lines, "tags": ["injected-parameters"]}, *cells[at:]]


if __name__ == "__main__":
    main()
