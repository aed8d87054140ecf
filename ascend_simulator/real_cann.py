"""The real CANN or driver of a machine, which the simulator must not shadow."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

#: Where a CANN is installed, in the order that CANN's own scripts look. The engine has the same list; a test compares.
ROOTS = (
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/nnae/latest",
    "~/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
)
#: What shows that a real CANN or driver is on this machine.
SIGNS = (*ROOTS, "/usr/local/Ascend/driver/version.info", "/dev/davinci_manager")
#: Set to 1, the simulator is used even where a real CANN or driver is.
FORCE = "ASCEND_WORKBOOK_SIM_FORCE"


def real_cann(environ: Mapping[str, str] = os.environ) -> str:
    """Return the path that shows a real CANN or driver; empty where none is, or where FORCE is set to 1."""
    if environ.get(FORCE) == "1":
        return ""
    home = environ.get("ASCEND_HOME_PATH", "")
    sourced = [home] if home and Path(home).is_absolute() and Path(home).is_dir() else []
    places = (Path(place).expanduser() for place in (*sourced, *SIGNS))
    return str(next((place for place in places if place.exists() and not is_simulated(place)), ""))


def is_simulated(root: Path) -> bool:
    """Return whether the folder is a simulator's: its version.cfg or its *_install.info says so."""
    for path in (root / "version.cfg", *root.glob("*-linux/ascend_*_install.info")):
        try:
            if "simulated=true" in path.read_text(encoding="utf-8", errors="replace").split():
                return True
        except OSError:
            continue
    return False
