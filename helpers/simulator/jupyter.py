"""The Jupyter kernel "Ascend NPU (simulated)": this Python with the simulator's environment written in."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from helpers import simulator

NAME = "ascend-npu-simulated"
DISPLAY_NAME = "Ascend NPU (simulated)"


def install_kernel(prefix: Path | None = None, devices: int | None = None) -> Path:
    """Writes the kernel spec below `prefix` (default: this Python's environment); the folder it lies in.

    LD_LIBRARY_PATH is read when a process starts, too late to set in a cell: it must be in the spec.
    Raises WorkbookError `simulator.not_built`.
    """
    before = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PYTHONPATH") if os.environ.get(name)}
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": DISPLAY_NAME,
        "language": "python",
        "env": simulator.environment(devices, base=before),
        "metadata": {"debugger": True},
    }
    folder = Path(prefix or sys.prefix) / "share" / "jupyter" / "kernels" / NAME
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / "kernel.json.tmp"
    unfinished.write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(folder / "kernel.json")
    return folder
