"""Writes a Jupyter kernel of this Python with an environment of its own, whole or not at all.

LD_LIBRARY_PATH is read when a process starts, too late to set in a cell: it must be in the spec. Jupyter does not fill
in `${LD_LIBRARY_PATH}` where the server lacks it, so values are absolute.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage import open_storage

#: What Jupyter takes for a kernel's name (jupyter_client, kernelspec.py).
NAME = re.compile(r"[a-z0-9._\-]{1,100}", re.IGNORECASE)
FILE = "kernel.json"


def write_kernelspec(
    name: str,
    display_name: str,
    environment: Mapping[str, str],
    *,
    prefix: Path | None = None,
    data: Path | None = None,
    replace: bool = False,
) -> Path:
    """Write a kernel spec and return its folder, below `prefix` (default: this Python's environment) or Jupyter's data
    folder `data`.

    Raises WorkbookError `kernelspec.name`, and `kernelspec.exists` where there is one and `replace` is not set.
    """
    if not NAME.fullmatch(name):
        raise WorkbookError("kernelspec.name", name=name)
    folder = (data or Path(prefix or sys.prefix) / "share" / "jupyter") / "kernels" / name
    if (folder / FILE).exists() and not replace:
        raise WorkbookError("kernelspec.exists", name=name, path=str(folder))
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": display_name,
        "language": "python",
        "env": dict(environment),
        "metadata": {"debugger": True},
    }
    open_storage(str(folder)).write_bytes(FILE, (json.dumps(spec, indent=1) + "\n").encode())
    return folder
