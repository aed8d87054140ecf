"""What set_env.sh would make of this environment, and what of it is not here: it is really sourced, through bash.

An environment half set (an old ~/.bashrc, a kernel started elsewhere, `sh` in place of bash, variables copied by hand)
looks sourced, and fails later with a library or an operator that is not found.
"""

from __future__ import annotations

import os
from dataclasses import replace

from helpers import cann
from helpers.environment.machine import CannRoot
from helpers.environment.system import System, Told, Untold

#: Of these, what the script adds must be among the entries; others must have the script's value.
PATHS = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
#: Set by CANN's scripts without being needed to train, or by the shell itself.
LEFT_OUT = ("PWD", "OLDPWD", "SHLVL", "_", "CMAKE_PREFIX_PATH", "TOOLCHAIN_HOME")
TIMEOUT_S = 10.0


def compared(system: System, root: CannRoot) -> CannRoot:
    """The root with `unset` and `lacking` filled; a script that is missing, or that bash cannot source, is untold."""
    if not root.script:
        return replace(root, unset=Untold("untold.no_script", {"path": root.path}))
    base = _base(system)
    wanted = cann.sourced_environment(system.path(root.path), base, timeout_s=TIMEOUT_S)
    if wanted is None or not any(name.startswith("ASCEND_") and name not in base for name in wanted):
        return replace(root, unset=Untold("untold.script", {"path": root.script}))
    return replace(root, unset=_unset(system, base, wanted), lacking=_lacking(system, base, wanted))


def _base(system: System) -> dict[str, str]:
    """A shell's own variables: without what an earlier set_env.sh has left."""
    plain = {name: system.environ[name] for name in ("HOME", "USER", "LANG") if name in system.environ}
    return {**plain, "PATH": system.environ.get("PATH", "/usr/bin:/bin"), "LD_LIBRARY_PATH": ""}


def _unset(system: System, base: dict[str, str], wanted: dict[str, str]) -> Told[tuple[str, ...]]:
    """Variables that are missing or point elsewhere; only names, links to one folder are the same."""
    names = (name for name in wanted if name.startswith(("ASCEND_", "ATB_")) and name not in (*LEFT_OUT, *base))
    return tuple(sorted(name for name in names if not _same(system, wanted[name], system.environ.get(name, ""))))


def _same(system: System, wanted: str, here: str) -> bool:
    if wanted == here:
        return True
    paths = wanted.startswith("/") and here.startswith("/")
    return paths and system.path(wanted).resolve() == system.path(here).resolve()


def _lacking(system: System, base: dict[str, str], wanted: dict[str, str]) -> tuple[str, ...]:
    """`LD_LIBRARY_PATH: /usr/local/Ascend/cann/lib64`: folders that exist, are added by the script and are not here."""
    found = []
    for name in PATHS:
        here = {_real(system, entry) for entry in system.environ.get(name, "").split(os.pathsep) if entry}
        before = base.get(name, "").split(os.pathsep)
        for entry in dict.fromkeys(wanted.get(name, "").split(os.pathsep)):
            added = entry.startswith("/") and entry not in before and system.path(entry).is_dir()
            if added and _real(system, entry) not in here:
                found.append(f"{name}: {entry}")
    return tuple(found)


def _real(system: System, entry: str) -> str:
    return str(system.path(entry).resolve()) if entry.startswith("/") else entry
