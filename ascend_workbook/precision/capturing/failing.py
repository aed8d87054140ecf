"""A run that failed under a capture, as the error that names what to do about it."""

from __future__ import annotations

import re
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.launch import LaunchResult

#: The simulated NPU says on a line of its own which of its settings it cannot take; what torch_npu raises names none.
REFUSED = re.compile(r"NPU simulator: cannot start: (ASCEND_WORKBOOK_SIM_\w+: .+)")


def check_ran(result: LaunchResult, tier: str, output: Path | None = None) -> None:
    """Raises WorkbookError where the run failed. `output` is what it printed, where it was put elsewhere."""
    if result.trouble is None:
        return
    text = result.output_path.read_text(encoding="utf-8", errors="replace")
    if refused := REFUSED.search(text):
        raise WorkbookError("precision.simulator_refused", message=refused.group(1).strip())
    missing = result.error is not None and result.error.type == "FileNotFoundError"
    key = "precision.file_missing" if missing else "precision.capture_failed"
    raise WorkbookError(key, tier=tier, trouble=result.trouble, path=str(output or result.output_path))
