"""What the check would say if a package had another version: the facts of a machine with one of them changed."""

from __future__ import annotations

from dataclasses import replace

from ascend_workbook.environment.machine import Machine


def supposed(machine: Machine, **packages: str) -> Machine:
    """Return the machine as if these packages (`torch="2.8.0"`) were installed; nothing is installed or imported."""
    python = replace(machine.python, packages={**machine.python.packages, **packages})
    chosen_versions = {name: version for name, version in packages.items() if name in machine.chosen.versions}
    chosen = replace(machine.chosen, versions={**machine.chosen.versions, **chosen_versions})
    return replace(machine, python=python, chosen=chosen)
