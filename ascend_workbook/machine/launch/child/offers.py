"""What a plugin is offered beside the callbacks: calls after an import, and notes with the program's own lines."""

from __future__ import annotations

import builtins
import json
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

#: Frames of this file stand between the program's line and what it called; who asks whose line it is passes over them.
PASSES_THROUGH = True
#: Folders that installed packages lie in; the simulated NPU brings its torch_npu along.
INSTALLED = ("site-packages", "dist-packages", "torch_npu")
#: Files of the launch itself, but those between the program and what it called.
OURS = tuple(str(Path(__file__).with_name(name)) for name in ("observer.py", "program.py", "session.py", "observe.py"))
#: Taken before a plugin or the script puts another function in its place.
_open = builtins.open


class Offers:
    """What stands beside the observer's callbacks. `out` is the launch's folder."""

    out: Path

    def after_import(self, calls: Mapping[str, Callable[[ModuleType], None]]) -> None:
        """Call each function with the module of its name, once that has been imported; at once where it has been."""
        for name, call in calls.items():
            if name in sys.modules:
                call(sys.modules[name])
        sys.meta_path.insert(0, AfterImport(calls))

    def open_notes(self, name: str) -> Notes:
        """Return the notes that are written into a file of that name in the launch's folder."""
        return Notes(Path(self.out) / name)

    def find_caller(self) -> tuple[str, int]:
        """Return the innermost line that is no library's; empty and 0 where there is none."""
        return find_caller()

    def find_asker(self) -> str:
        """Return the file of the innermost frame that is of no plugin."""
        return find_asker()

    def is_library(self, file: str) -> bool:
        """Return whether a file is an installed package's or Python's own."""
        return is_library(file)


class AfterImport(MetaPathFinder, Loader):
    """Calls something once a module has been imported."""

    def __init__(self, calls: Mapping[str, Callable[[ModuleType], None]]) -> None:
        self._calls = dict(calls)
        self._loaders: dict[str, Loader] = {}

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name not in self._calls:
            return None
        spec = self._find_ordinary(name, path, target)
        if spec is not None and spec.loader is not None:
            self._loaders[name] = spec.loader
            spec.loader = self
        return spec

    def _find_ordinary(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        """Return what the finders behind this one find: another plugin may wait for the same module."""
        finders = sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else [PathFinder]
        specs = (finder.find_spec(name, path, target) for finder in finders if hasattr(finder, "find_spec"))
        return next((spec for spec in specs if spec is not None), None)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loaders[spec.name].create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loaders[module.__name__].exec_module(module)
        self._calls[module.__name__](module)


class Notes:
    """What a plugin did for the program, each thing once, a line of JSON each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told: set[tuple[str, str]] = set()

    def add(self, kind: str, name: str, **facts: object) -> None:
        """Write something down with the line of the program that asked for it."""
        if (kind, name) in self._told:
            return
        self._told.add((kind, name))
        file, line = find_caller()
        entry = {"kind": kind, "name": name, "file": file, "line": line, **facts}
        with _open(self._path, "a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")


def find_caller() -> tuple[str, int]:
    """Return the innermost line that is no library's; empty and 0 where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(OURS):  # nothing of the program's stands above what runs it
            break
        if not frame.f_globals.get("PASSES_THROUGH") and not is_library(file):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


def find_asker() -> str:
    """Return the file of the innermost frame that passes nothing through."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("PASSES_THROUGH"):
        frame = frame.f_back
    return frame.f_code.co_filename if frame is not None else ""


def is_library(file: str) -> bool:
    """Return whether a file is an installed package's or Python's own."""
    own = ("<", str(sysconfig.get_path("stdlib")))
    return file.startswith(own) or any(f"/{folder}/" in file for folder in INSTALLED)
