"""Keeps the workbook's packages out of the user's imports, and carries the launch into spawned processes."""

from __future__ import annotations

import multiprocessing.spawn
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

CHILD = Path(__file__).resolve().parent
#: The folder that holds our packages, and those whose names users give their own modules too.
ROOT, NAMES = CHILD.parents[3], ("helpers", "course")


class _NotOurs:
    """Answers `import helpers` and `import course` from every place but our own.

    Taking our folder off sys.path is not enough: an installed workbook lies in site-packages, where it
    would win over a user's `helpers/` folder without `__init__.py` (a regular package beats a namespace one).
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in NAMES:
            return None
        spec = PathFinder.find_spec(name, [entry for entry in sys.path if not _holds_us(entry)], target)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec


def _holds_us(entry: str) -> bool:
    """Return whether the entry of sys.path is the folder of our packages, or one in which they are links to ours."""
    return any((Path(entry or ".") / name).resolve() == ROOT / name for name in NAMES)


def keep_out() -> None:
    """Keep our package off the way of the user's imports from now on, here and in forked children."""
    sys.meta_path.insert(0, _NotOurs)
    # The folder itself stays where the user would miss it: site-packages, and the script's own folder.
    sys.path[:] = [entry for entry in sys.path if not (_holds_us(entry) and _is_checkout(entry))]


def _is_checkout(entry: str) -> bool:
    return (Path(entry or ".") / "pyproject.toml").is_file()


class _Carrier:
    """Unpickling this in a spawned process runs observe.py there, before the user's main module is imported."""

    def __init__(self, spec_path: str) -> None:
        self.spec_path = spec_path

    def __reduce__(self) -> tuple[Any, ...]:
        return runpy.run_path, (str(CHILD / "observe.py"), {"SPAWNED": self.spec_path}, "_workbook_spawned")


def follow_spawned(spec_path: str) -> None:
    """Give processes started by multiprocessing's spawn the same transform and observation.

    multiprocessing sends a dictionary of preparation data ahead of the process object and ignores keys it
    does not know (multiprocessing/spawn.py: `prepare`).
    """
    original = multiprocessing.spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        data: dict[str, Any] = original(name)
        # First, so that it is unpickled before anything of the user's.
        return {"_workbook": _Carrier(spec_path), **data}

    multiprocessing.spawn.get_preparation_data = get_preparation_data
