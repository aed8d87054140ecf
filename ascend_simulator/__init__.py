"""The simulated NPU: a stand-in CANN under the real torch_npu, as a folder and the environment that points to it.

The folder needs nothing of this package once it is built; nothing here imports torch or torch_npu.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from ascend_simulator.errors import SimulatorError
from ascend_simulator.libraries.building import build, default_location
from ascend_simulator.libraries.plan import make_plan, read_stamp
from ascend_simulator.real_cann import FORCE, real_cann

__all__ = ["build", "environment", "is_built", "is_current", "location", "real_cann", "stamp", "tried_pairs"]


def location() -> Path:
    """Return the simulator's folder: `$ASCEND_WORKBOOK_SIMULATOR`, else the one in this Python's environment."""
    return default_location()


def is_built(where: Path | None = None) -> bool:
    """Whether a whole build is there. Whether it is up to date is the business of `build`."""
    return bool(read_stamp(where or location()))


def stamp(where: Path | None = None) -> dict[str, object]:
    """Return what the build there was made from: versions, compiler, hashes of the sources.

    Empty where there is none.
    """
    return read_stamp(where or location())


def tried_pairs() -> dict[str, str]:
    """Return the torch_npu that goes with each release of torch that a build was tried with; the default's first."""
    read = json.loads(Path(__file__).with_name("pairs.json").read_text(encoding="utf-8"))
    pairs = {pair["torch"]: pair["torch_npu"] for pair in read["pairs"]}
    return {read["default"]: pairs[read["default"]], **pairs}


def is_current(where: Path | None = None) -> bool:
    """Whether the build fits the torch and torch_npu that are installed now, and today's sources.

    Raises SimulatorError where that cannot be told: no torch, no torch_npu, no compiler.
    """
    root = where or location()
    return read_stamp(root) == make_plan(root.resolve()).make_stamp()


def environment(
    devices: int | None = None,
    base: Mapping[str, str] | None = None,
    where: Path | None = None,
    *,
    force: bool = False,
    numerics: str | None = None,
    fault: str | None = None,
) -> dict[str, str]:
    """Return what `source set_env.sh` makes of `base` (default: this process's environment), without a shell.

    `devices` is the number of simulated NPUs (1 to 64; default 2). `numerics` is cpu or ascend, `fault` a fault on
    purpose or the path of a file of them (native/kernels/numerics.h, faults.h). Raises SimulatorError
    `simulator.not_built`, and `simulator.real_cann` where a real CANN or driver is, unless forced by `force` or
    ASCEND_WORKBOOK_SIM_FORCE=1.
    """
    root = where or location()
    if not is_built(root):
        raise SimulatorError("simulator.not_built", path=str(root))
    result = dict(os.environ if base is None else base)
    if force:
        result[FORCE] = "1"
    real = real_cann(result)
    if real:
        raise SimulatorError("simulator.real_cann", path=real)
    result.update(
        ASCEND_HOME_PATH=str(root),
        ASCEND_TOOLKIT_HOME=str(root),
        ASCEND_OPP_PATH=str(root / "opp"),
        ASCEND_AICPU_PATH=str(root),
        ASCEND_WORKBOOK_SIMULATED="1",
    )
    _put_first(result, "LD_LIBRARY_PATH", root / "lib64")
    _put_first(result, "PATH", root / "bin")
    _put_first(result, "PYTHONPATH", root / "modules")
    if (root / "python").is_dir():
        _put_first(result, "PYTHONPATH", root / "python")
    if devices is not None:
        result["ASCEND_WORKBOOK_SIM_DEVICES"] = str(devices)
    for name, value in (("ASCEND_WORKBOOK_SIM_NUMERICS", numerics), ("ASCEND_WORKBOOK_SIM_FAULT", fault)):
        if value is not None:
            result[name] = value
    return result


def _put_first(environ: dict[str, str], name: str, folder: Path) -> None:
    """Put the folder first, without empty entries: to the loader and to Python an empty one is the current folder."""
    entries = [entry for entry in environ.get(name, "").split(os.pathsep) if entry and entry != str(folder)]
    environ[name] = os.pathsep.join([str(folder), *entries])
