"""Puts the stand-ins in the place of torchair's libraries, when torchair is imported.

torch_npu's own files stay as they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from . import engine, executor
from .running import CHANGED

#: torchair's libraries, and the module here that stands in for each
LIBRARIES = {
    "torchair.core._torchair": engine,
    "torchair.core._npu_graph_executor": executor,
    "torchair.core._npu_utils": executor,
}
#: Where torch_npu keeps torchair, which is known by both names
INSIDE = "torch_npu.dynamo."


class StandIns(MetaPathFinder):
    """Finds the stand-ins under the names of torchair's libraries, and the modules of which something is changed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        short = name[len(INSIDE) :] if name.startswith(INSIDE) else name
        if short in LIBRARIES:
            return ModuleSpec(name, StandIn(LIBRARIES[short]))
        if short in CHANGED and (spec := PathFinder.find_spec(name, path)) and spec.loader:
            spec.loader = Changed(spec.loader, CHANGED[short])
            return spec
        return None


class StandIn(Loader):
    """Gives what a module of ours holds under the name of a library."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        stand_in = ModuleType(spec.name, self._module.__doc__)
        stand_in.__dict__.update({name: value for name, value in vars(self._module).items() if name[:2] != "__"})
        return stand_in

    def exec_module(self, module: ModuleType) -> None:
        """Everything is there already."""


class Changed(Loader):
    """Loads a module as it is, then changes it."""

    def __init__(self, loader: Loader, change: Callable[[ModuleType], None]) -> None:
        self._loader, self._change = loader, change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._change(module)


def start() -> None:
    """Begin to find the stand-ins."""
    if not any(isinstance(finder, StandIns) for finder in sys.meta_path):
        sys.meta_path.insert(0, StandIns())
