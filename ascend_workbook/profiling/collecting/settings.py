"""With which settings torch_npu really recorded, by its own profiler_info.json, and what of them shows in the data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling.collecting.options import Options, for_child

#: Columns of kernel_details.csv that AI Core metrics bring: aic_mac_ratio, aiv_vec_time, ...
METRIC = re.compile(r"\b(?:aic|aiv)_\w+")
#: aic_metrics' values, as the file has them, by our child's names
WRITTEN = {
    "AiCoreNone": "ACL_AICORE_NONE",
    "PipeUtilization": "ACL_AICORE_PIPE_UTILIZATION",
    "ArithmeticUtilization": "ACL_AICORE_ARITHMETIC_UTILIZATION",
    "Memory": "ACL_AICORE_MEMORY_BANDWIDTH",
    "MemoryL0": "ACL_AICORE_L0B_AND_WIDTH",
    "MemoryUB": "ACL_AICORE_MEMORY_UB",
    "ResourceConflictRatio": "ACL_AICORE_RESOURCE_CONFLICT_RATIO",
    "L2Cache": "ACL_AICORE_L2_CACHE",
    "MemoryAccess": "ACL_AICORE_MEMORY_ACCESS",
}


def find_changed_settings(path: Path, options: Options, device: Device) -> list[Finding]:
    """Report the settings that the profiler changed without an error."""
    if device.accelerator != "npu":
        return []
    try:
        recorded_settings = _read_settings(path)
    except WorkbookError as error:
        why: Scalar = Sentence(error.key, **error.arguments)
        return [Finding("PRF300", Status.WARN, "PRF300.settings_unknown", {"why": why})]
    asked: dict[str, Any] = dict(for_child(options, "npu", "")["npu"])
    asked["aic_metrics"] = WRITTEN[asked["aic_metrics"]]
    asked["export_type"] = sorted(export_type.lower() for export_type in asked["export_type"])
    changed: list[Scalar] = []
    for name, value in asked.items():
        used = recorded_settings.get(f"_{name}")
        used = sorted(used) if isinstance(used, list) else used
        if f"_{name}" in recorded_settings and used != value:
            changed.append(f"{name}={used} ({value})")
    return [Finding("PRF300", Status.FAIL, "PRF300.otherwise", {"changed": changed})] if changed else []


def count_npu_data(path: Path, options: Options, device: Device) -> list[tuple[str, int, Status]]:
    """Count AI Core metrics and databases, where they were asked for."""
    if device.accelerator != "npu":
        return []
    lacking = Status.NOTE if device.simulated else Status.FAIL
    table_rows: list[tuple[str, int, Status]] = []
    if options.export != "db" and for_child(options, "npu", "")["npu"]["aic_metrics"] != "AiCoreNone":
        table = path / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
        count = len(METRIC.findall(_first_line(table)))
        table_rows.append(("metrics", count, Status.OK if count else lacking))
    if options.export != "text":
        count = len(list(path.glob("ASCEND_PROFILER_OUTPUT/*.db")))
        table_rows.append(("database", count, Status.OK if count else Status.FAIL))
    return table_rows


def logged_error(path: Path) -> str:
    """Return the last error in the logs that torch_npu's parser leaves, for it raises none."""
    lines = [line for log in sorted(path.glob("logs/*.log")) for line in log.read_text("utf-8", "replace").splitlines()]
    return next((line.rpartition("] ")[2].strip() for line in reversed(lines) if "[ERROR]" in line), "")


def _read_settings(path: Path) -> dict[str, Any]:
    """Read the settings with which torch_npu recorded; raises WorkbookError where its file cannot be read."""
    file = next(iter(sorted(path.glob("profiler_info*.json"))), path / "profiler_info.json")
    try:
        return dict(json.loads(file.read_text(encoding="utf-8"))["config"]["experimental_config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkbookError("profiling.unreadable", path=str(file), error=f"{type(error).__name__}: {error}") from error


def _first_line(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as lines:
        return lines.readline(1 << 16)
