"""CANN is installed once, sourced by bash, and the environment is what its script makes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, require_fact
from ascend_workbook.findings.finding import Finding, Status

GROUP = "cann"
BASIS = {"ENV042": "observed", "ENV045": "observed"}


def check_cann_installed(machine: Machine) -> Iterator[Finding]:
    """ENV040: CANN is installed and its version can be read. Old layout: ascend-toolkit/latest; from 8.5: cann.

    Source: https://www.hiascend.com/document (CANN installation guide).
    """
    cann = machine.real_cann
    if cann is None:
        yield Finding("ENV040", Status.FAIL if machine.needs_npu else Status.NOTE, "ENV040.none", {})
    elif not cann.version:
        yield Finding("ENV040", Status.SKIPPED, "ENV040.unreadable", {"path": cann.path})
    else:
        yield Finding("ENV040", Status.OK, "ENV040.ok", {"version": cann.version, "path": cann.path})


def check_cann_sourced(machine: Machine) -> Iterator[Finding]:
    """ENV041: set_env.sh was sourced, by bash. Sourced by /bin/sh it answers 0 and sets ASCEND_HOME_PATH to `.`.

    Seen by running CANN 9's own set_env.sh under dash: PATH then begins with `./bin`. `os.system`, `!source` and
    subprocess(shell=True) in Debian images use that shell.

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
    """
    cann, home = machine.real_cann, machine.environ.get("ASCEND_HOME_PATH", "")
    bad = Status.FAIL if machine.needs_npu else Status.WARN
    script = cann.script if cann and cann.script else "set_env.sh"
    if home and not PurePosixPath(home).is_absolute():
        yield Finding("ENV041", bad, "ENV041.relative", {"path": home, "script": script})
    elif home and not any(root.sourced for root in machine.cann):
        yield Finding("ENV041", bad, "ENV041.missing", {"path": home, "script": script})
    elif cann and cann.sourced:
        yield Finding("ENV041", Status.OK, "ENV041.ok", {"path": cann.path})
    elif cann:
        status = Status.WARN if machine.needs_npu else Status.NOTE
        yield Finding("ENV041", status, "ENV041.not_sourced", {"path": cann.path, "script": script})


def check_cann_mixed(machine: Machine) -> Iterator[Finding]:
    """ENV042: search paths that mix two CANN installs: libraries of one load operators of the other.

    Symptoms: undefined symbol, error 500001, 561103.
    """
    mixed = {
        name: roots for name in ("LD_LIBRARY_PATH", "PYTHONPATH") if len(roots := _roots_on_path(machine, name)) > 1
    }
    for name, roots in mixed.items():
        yield Finding("ENV042", Status.WARN, "ENV042.mixed", {"name": name, "roots": sorted(roots)})
    sourced = next((root for root in machine.cann if root.sourced and not root.simulated), None)
    if sourced and not mixed:
        yield Finding("ENV042", Status.OK, "ENV042.ok", {"path": sourced.path})


def _roots_on_path(machine: Machine, name: str) -> set[str]:
    """Return the known CANN installs that the entries of a search path lie in."""
    entries = [PurePosixPath(entry) for entry in machine.environ.get(name, "").split(os.pathsep) if entry]
    folders = {root.path: PurePosixPath(root.path) for root in machine.cann}
    return {path for path, folder in folders.items() if any(entry.is_relative_to(folder) for entry in entries)}


def check_set_env_difference(machine: Machine) -> Iterator[Finding]:
    """ENV045: the environment is what set_env.sh makes, compared after really sourcing it through bash.

    Half an environment looks sourced: an old ~/.bashrc, variables copied by hand into a kernel or a Dockerfile.
    """
    cann = machine.real_cann
    if cann is None or not cann.sourced:
        return  # ENV041 says so
    unset = require_fact(cann.unset)
    args: Args = {"script": cann.script, "names": [*unset, *cann.lacking][:6], "count": len(unset) + len(cann.lacking)}
    whole = not unset and not cann.lacking
    yield Finding("ENV045", *((Status.OK, "ENV045.ok") if whole else (Status.WARN, "ENV045.differs")), args)


RULES = {
    "ENV040": check_cann_installed,
    "ENV041": check_cann_sourced,
    "ENV042": check_cann_mixed,
    "ENV045": check_set_env_difference,
}
