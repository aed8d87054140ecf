"""Puts the stand-ins in the place of torchair's libraries, when torchair is imported.

torch_npu's own files stay as they are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from . import engine, executor
from .running import run_graph

#: A library of torchair's, and the module here that stands in for it
LIBRARIES = {"_torchair": engine, "_npu_graph_executor": executor, "_npu_utils": executor}
CORES = ("torchair.core.", "torch_npu.dynamo.torchair.core.")
GRAPHS = ("torchair._ge_concrete_graph.fx2ge_converter", "torch_npu.dynamo.torchair._ge_concrete_graph.fx2ge_converter")


class StandIns(MetaPathFinder):
    """Finds the stand-ins under the names of torchair's libraries."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        head, _, tail = name.rpartition(".")
        if tail in LIBRARIES and f"{head}." in CORES:
            return ModuleSpec(name, StandIn(LIBRARIES[tail]))
        if name in GRAPHS and (spec := PathFinder.find_spec(name, path)) and spec.loader:
            spec.loader = RunningEagerly(spec.loader)
            return spec
        return None


class StandIn(Loader):
    """Gives a module of ours under the name of a library."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        stand_in = ModuleType(spec.name, self._module.__doc__)
        stand_in.__dict__.update({name: value for name, value in vars(self._module).items() if name[:2] != "__"})
        return stand_in

    def exec_module(self, module: ModuleType) -> None:
        """Everything is there already."""


class RunningEagerly(Loader):
    """Loads torchair's module of graphs, whose graphs then run on the simulated NPU's kernels."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.GeConcreteGraph.__call__ = run_graph


def start() -> None:
    """Begin to find the stand-ins."""
    if not any(isinstance(finder, StandIns) for finder in sys.meta_path):
        sys.meta_path.insert(0, StandIns())
