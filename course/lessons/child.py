"""Scripts of a lesson run as processes of their own, on a device or on a machine that is broken on purpose."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ascend_workbook.environment.system import Process
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.machine import bounded, cann, device, simulator
from ascend_workbook.machine.project import ROOT

TIMEOUT_S = 120.0


def run_script(script: str | os.PathLike[str], environ: Mapping[str, str], *arguments: str) -> bounded.Output:
    """Return what Python says of the script in this environment; a failure is an exit code, not an exception."""
    return bounded.run_bounded([sys.executable, str(script), *arguments], env=environ, timeout_s=TIMEOUT_S)


def on_device(tier: str) -> dict[str, str]:
    """Return the environment in which a child sees the tier's device, as `device.find` names it."""
    return device.child_environment(tier)


def scene() -> dict[str, str]:
    """Return the environment of a machine where torch_npu is installed and CANN is not, or was not sourced.

    Raises WorkbookError `course.no_torch_npu` where there is neither a built simulator nor an installed torch_npu.
    """
    clean = cann.without_simulator(os.environ)
    for name in (*cann.VARIABLES, "TORCH_DEVICE_BACKEND_AUTOLOAD"):
        clean.pop(name, None)
    folders = clean.pop("LD_LIBRARY_PATH", "").split(os.pathsep)
    clean["LD_LIBRARY_PATH"] = os.pathsep.join(folder for folder in folders if "Ascend" not in Path(folder).parts)
    if simulator.is_built():
        beside = str(simulator.simulator_location() / "python")
        clean["PYTHONPATH"] = os.pathsep.join(filter(None, (beside, clean.get("PYTHONPATH", ""))))
    elif "torch_npu" not in Process().installed_packages():
        raise WorkbookError("course.no_torch_npu")
    return clean


def checked(environ: Mapping[str, str], out: Path, tier: str = "auto") -> Report:
    """Return the machine as `check --no-compute` sees it, run in this environment as at that machine; the report is
    `out`.

    Raises WorkbookError `course.no_check` where it wrote none.
    """
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "ascend_workbook", "check", "--no-compute", "--device", tier, "--json", str(out)]
    done = bounded.run_bounded(command, env=environ, timeout_s=TIMEOUT_S, cwd=str(ROOT))
    if not out.is_file():
        raise WorkbookError("course.no_check", error=done.last_error)
    return load_report(out).parts[0]


def raised(stderr: str) -> str:
    """Return the lines of a traceback that say what was raised, without the stack."""
    return "\n".join(line for line in stderr.splitlines() if line and not line[0].isspace())
