"""Offline models of the simulated NPU, as the engine reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.machine.simulator import import_distribution


def read_offline_model(path: str | Path) -> Any:
    """Read an .om that the simulator's atc wrote. Raises WorkbookError, of a real .om too."""
    import_distribution()
    from ascend_simulator.offline_models.container import NoModel, read_model

    try:
        return read_model(path)
    except OSError as error:
        raise WorkbookError("inference.unreadable", path=str(path), error=explain_os_error(error)) from None
    except NoModel as error:
        raise WorkbookError("inference.no_offline_model", path=str(path), error=str(error)) from None
