"""What set_env.sh would make of this environment, and what of it is not here: it is really sourced, through bash.

An environment half set (an old ~/.bashrc, a kernel started elsewhere, `sh` in place of bash, variables copied by hand)
looks sourced, and fails later with a library or an operator that is not found.
"""

from __future__ import annotations

import os
from dataclasses import replace

from ascend_workbook.environment.machine import CannRoot
from ascend_workbook.environment.system import System, Told, Untold
from ascend_workbook.machine import cann

#: Of these, what the script adds must be among the entries; others must have the script's value.
PATHS = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
#: Set by CANN's scripts without being needed to train, or by the shell itself.
LEFT_OUT = ("PWD", "OLDPWD", "SHLVL", "_", "CMAKE_PREFIX_PATH", "TOOLCHAIN_HOME")
TIMEOUT_S = 10.0


def compare_with_script(system: System, root: CannRoot) -> CannRoot:
    """Return the root with `unset` and `lacking` filled; a script that is missing, or that bash cannot source, is
    untold.
    """
    if not root.script:
        return replace(root, unset=Untold("untold.no_script", {"path": root.path}))
    base = _base_environment(system)
    wanted = cann.sourced_environment(system.path_of(root.path), base, timeout_s=TIMEOUT_S)
    if wanted is None or not any(name.startswith("ASCEND_") and name not in base for name in wanted):
        return replace(root, unset=Untold("untold.script", {"path": root.script}))
    return replace(root, unset=_find_unset(system, base, wanted), lacking=_find_lacking(system, base, wanted))


def _base_environment(system: System) -> dict[str, str]:
    """Return a shell's own variables, without what an earlier set_env.sh has left."""
    plain = {name: system.environ[name] for name in ("HOME", "USER", "LANG") if name in system.environ}
    return {**plain, "PATH": system.environ.get("PATH", "/usr/bin:/bin"), "LD_LIBRARY_PATH": ""}


def _find_unset(system: System, base: dict[str, str], wanted: dict[str, str]) -> Told[tuple[str, ...]]:
    """Return the names of variables that are missing or point elsewhere; links to one folder are the same."""
    names = (name for name in wanted if name.startswith(("ASCEND_", "ATB_")) and name not in (*LEFT_OUT, *base))
    return tuple(sorted(name for name in names if not _is_same(system, wanted[name], system.environ.get(name, ""))))


def _is_same(system: System, wanted: str, here: str) -> bool:
    if wanted == here:
        return True
    paths = wanted.startswith("/") and here.startswith("/")
    return paths and system.path_of(wanted).resolve() == system.path_of(here).resolve()


def _find_lacking(system: System, base: dict[str, str], wanted: dict[str, str]) -> tuple[str, ...]:
    """Return folders that exist, are added by the script and are not here, as `LD_LIBRARY_PATH:
    /usr/local/Ascend/cann/lib64`.
    """
    lines = []
    for name in PATHS:
        here = {_real_path(system, entry) for entry in system.environ.get(name, "").split(os.pathsep) if entry}
        before = base.get(name, "").split(os.pathsep)
        for entry in dict.fromkeys(wanted.get(name, "").split(os.pathsep)):
            added = entry.startswith("/") and entry not in before and system.path_of(entry).is_dir()
            if added and _real_path(system, entry) not in here:
                lines.append(f"{name}: {entry}")
    return tuple(lines)


def _real_path(system: System, entry: str) -> str:
    return str(system.path_of(entry).resolve()) if entry.startswith("/") else entry
