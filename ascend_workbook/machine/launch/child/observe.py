"""Entry of the child: `python observe.py SPEC.json ARGUMENTS`. Nothing but the standard library is imported here.

`python observe.py` puts this folder first on sys.path; that entry goes before anything else is imported,
since a module of ours must never answer an import of the user's.
"""

import sys

if __name__ == "__main__" and sys.path and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import ctypes
import importlib.util
import os
import signal
from typing import Any

NAME = "_workbook_child"


def _import_package() -> Any:
    """Import our own modules under a name no script uses."""
    if NAME not in sys.modules:
        folder = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120
        init = os.path.join(folder, "__init__.py")  # noqa: PTH118
        spec = importlib.util.spec_from_file_location(NAME, init, submodule_search_locations=[folder])
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        spec.loader.exec_module(module)
    return importlib.import_module(NAME + ".session")


def end_with_parent() -> None:
    """End a training whose kernel or command was killed: it would go on holding the device.

    PR_SET_PDEATHSIG of prctl(2), Linux only; it is not inherited by the script's own children.
    """
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


if __name__ == "__main__":
    end_with_parent()
    _import_package().main(sys.argv[1], sys.argv[2:])
elif "SPAWNED" in globals():  # a process that the script's multiprocessing started: see program.py
    _import_package().observe_spawned(globals()["SPAWNED"])
