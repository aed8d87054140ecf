"""The Jupyter kernel "Ascend NPU (simulated)": this Python with the simulator's environment written in."""

from __future__ import annotations

import os
from pathlib import Path

from ascend_workbook.machine import kernelspec, simulator

NAME = "ascend-npu-simulated"
DISPLAY_NAME = "Ascend NPU (simulated)"


#: What each library that computes asks for its number of threads.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def install_kernel(prefix: Path | None = None, devices: int | None = None, threads: int | None = None) -> Path:
    """Writes the kernel spec below `prefix` (default: this Python's environment); the folder it lies in.

    Raises WorkbookError `simulator.not_built`.
    """
    return kernelspec.write_kernelspec(
        NAME, DISPLAY_NAME, kernel_environment(devices, threads), prefix=prefix, replace=True
    )


def kernel_environment(devices: int | None = None, threads: int | None = None) -> dict[str, str]:
    """Return what the process begins with. `threads`: of each of its processes; else as many as there are cores."""
    before = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PYTHONPATH") if os.environ.get(name)}
    if threads is not None:
        before.update(dict.fromkeys(THREADS, str(threads)))
    return simulator.simulator_environment(devices, base=before)
