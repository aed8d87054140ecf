"""The simulated NPU: a stand-in CANN under the real torch_npu, as a folder and the environment that points to it.

The folder needs nothing of this package once it is built; nothing here imports torch or torch_npu.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.simulator.building import build, default_location
from helpers.simulator.plan import make_plan, read_stamp

__all__ = ["build", "environment", "is_built", "is_current", "location", "stamp"]


def location() -> Path:
    """The simulator's folder: `$ASCEND_WORKBOOK_SIMULATOR`, else share/ascend-workbook/simulator of this Python."""
    return default_location()


def is_built(where: Path | None = None) -> bool:
    """Whether a whole build is there. Whether it is up to date is the business of `build`."""
    return bool(read_stamp(where or location()))


def stamp(where: Path | None = None) -> dict[str, object]:
    """What the build there was made from: versions, compiler, hashes of the sources. Empty where there is none."""
    return read_stamp(where or location())


def is_current(where: Path | None = None) -> bool:
    """Whether the build fits the torch and torch_npu that are installed now, and today's sources.

    Raises WorkbookError where that cannot be told: no torch, no torch_npu, no compiler.
    """
    root = where or location()
    return read_stamp(root) == make_plan(root.resolve()).stamp()


def environment(
    devices: int | None = None, base: Mapping[str, str] | None = None, where: Path | None = None
) -> dict[str, str]:
    """What `source set_env.sh` makes of `base` (default: this process's environment), without a shell.

    `devices` is the number of simulated NPUs (1 to 64; default 2). Raises WorkbookError `simulator.not_built`.
    """
    root = where or location()
    if not is_built(root):
        raise WorkbookError("simulator.not_built", path=str(root))
    result = dict(os.environ if base is None else base)
    result.update(
        ASCEND_HOME_PATH=str(root),
        ASCEND_TOOLKIT_HOME=str(root),
        ASCEND_OPP_PATH=str(root / "opp"),
        ASCEND_AICPU_PATH=str(root),
        ASCEND_WORKBOOK_SIMULATED="1",
    )
    _put_first(result, "LD_LIBRARY_PATH", root / "lib64")
    if (root / "python").is_dir():
        _put_first(result, "PYTHONPATH", root / "python")
    if devices is not None:
        result["ASCEND_WORKBOOK_SIM_DEVICES"] = str(devices)
    return result


def _put_first(environ: dict[str, str], name: str, folder: Path) -> None:
    """Without empty entries: to the loader and to Python an empty one is the current folder."""
    entries = [entry for entry in environ.get(name, "").split(os.pathsep) if entry and entry != str(folder)]
    environ[name] = os.pathsep.join([str(folder), *entries])
