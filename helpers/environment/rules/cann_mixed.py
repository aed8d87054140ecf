"""ENV042: search paths that mix two CANN installs: libraries of one load operators of the other.

Symptoms: undefined symbol, error 500001, 561103.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath

from helpers.environment.machine import Machine
from helpers.finding import Finding, Status

CODE, GROUP = "ENV042", "cann"
BASIS = "observed"


def check(machine: Machine) -> Iterator[Finding]:
    mixed = {name: roots for name in ("LD_LIBRARY_PATH", "PYTHONPATH") if len(roots := _roots(machine, name)) > 1}
    for name, roots in mixed.items():
        yield Finding(CODE, Status.WARN, "ENV042.mixed", {"name": name, "roots": sorted(roots)})
    sourced = next((root for root in machine.cann if root.sourced and not root.simulated), None)
    if sourced and not mixed:
        yield Finding(CODE, Status.OK, "ENV042.ok", {"path": sourced.path})


def _roots(machine: Machine, name: str) -> set[str]:
    """The known CANN installs that the entries of a search path lie in."""
    entries = [PurePosixPath(entry) for entry in machine.environ.get(name, "").split(os.pathsep) if entry]
    folders = {root.path: PurePosixPath(root.path) for root in machine.cann}
    return {path for path, folder in folders.items() if any(entry.is_relative_to(folder) for entry in entries)}
