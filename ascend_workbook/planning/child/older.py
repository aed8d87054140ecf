"""A launch plugin: names that the installed version of a library no longer has stand for what took their place.

    older   numpy.product, torch._six, an argument of TrainingArguments or of a learning rate's schedule: what is there
            today, or nothing where that changed no training
    mpi     mpi4py, which finds no peers where a rank runs alone: a world of the job's size, whose peers say the same

Each is written down (stand_ins.jsonl) with the line that asked for it: the script has to be mended all the same. Runs
in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch

#: This file's frames stand between the program and the library; whose line it is must not change by that.
PASSES_THROUGH = True
#: Names of numpy that are gone, and those of today; the first are Python's own.
OF_PYTHON = ("bool", "int", "float", "complex", "object", "str")
OF_NUMPY = {
    "bool8": "bool_",
    "product": "prod",
    "cumproduct": "cumprod",
    "alltrue": "all",
    "sometrue": "any",
    "in1d": "isin",
    "row_stack": "vstack",
    "trapz": "trapezoid",
    "float_": "float64",
    "complex_": "complex128",
    "unicode_": "str_",
    "string_": "bytes_",
    "Inf": "inf",
    "Infinity": "inf",
    "infty": "inf",
    "PINF": "inf",
    "NaN": "nan",
    "NAN": "nan",
    "round_": "round",
}
OF_COLLECTIONS = ("Mapping", "MutableMapping", "Sequence", "Iterable", "Iterator", "Callable", "Hashable", "Sized")
#: Arguments of transformers that are gone: the one of today, or none.
OF_ARGUMENTS = {
    "evaluation_strategy": "eval_strategy",
    "no_cuda": "use_cpu",
    **dict.fromkeys(("logging_dir", "overwrite_output_dir", "save_safetensors", "group_by_length"), ""),
    **dict.fromkeys(("half_precision_backend", "fp16_opt_level", "fp16_backend", "push_to_hub_token"), ""),
}
OF_TRAINER = {"tokenizer": "processing_class"}
OF_SCHEDULES = {"verbose": ""}
OF_TSNE = {"n_iter": "max_iter"}
#: Modules that are gone, and those that hold their names today; torch's own two held names of several.
OF_MODULES = {
    "scipy.sparse.linalg.eigen": "scipy.sparse.linalg",
    "scipy.sparse.linalg.eigen.arpack": "scipy.sparse.linalg",
    "torchvision.models.utils": "torch.hub",
    "sklearn.externals.joblib": "joblib",
    "torch._six": "",
}
#: What torch._six held.
SIX: dict[str, Any] = {
    "inf": float("inf"),
    "nan": float("nan"),
    "string_classes": (str, bytes),
    "int_classes": int,
    "PY3": True,
    "PY37": True,
}
OF_ADAMW = {"correct_bias": "", "no_deprecation_warning": ""}


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Answer for what is gone from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    numpy_names = {name: functools.partial(getattr, builtins, name) for name in OF_PYTHON}
    fill = functools.partial(fill_names, notes, observer)
    fill(sys.modules["collections"], {name: _of("collections.abc", name) for name in OF_COLLECTIONS})
    fill(inspect, {"getargspec": _of("inspect", "getfullargspec")})
    fill(time, {"clock": _of("time", "perf_counter")})
    calls: dict[str, Callable[[ModuleType], None]] = {
        "numpy": lambda module: fill(
            module, {**numpy_names, **{old: _of("numpy", new) for old, new in OF_NUMPY.items()}}
        ),
        "PIL.Image": lambda module: fill(module, {"ANTIALIAS": _of("PIL.Image", "LANCZOS")}),
        "pandas.errors": lambda module: fill(
            module, {"SettingWithCopyWarning": _of("pandas.errors", "ChainedAssignmentError")}
        ),
        "fractions": lambda module: fill(module, {"gcd": _of("math", "gcd")}),
        "scipy.sparse.linalg.eigen": lambda module: setattr(module, "__path__", []),
        "sklearn.manifold": lambda module: accept_older(notes, module.TSNE, OF_TSNE),
        "transformers": functools.partial(give_optimizer, notes),
        "transformers.training_args": functools.partial(accept_older_arguments, notes),
        "transformers.trainer": lambda module: accept_older(notes, module.Trainer, OF_TRAINER),
    }
    observer.after_import(calls)
    for cls in [*vars(torch.optim.lr_scheduler).values()]:
        if isinstance(cls, type) and issubclass(cls, torch.optim.lr_scheduler.LRScheduler):
            accept_older(notes, cls, OF_SCHEDULES)
    sys.meta_path.insert(0, Peers(notes, observer))
    sys.meta_path.append(OlderModules(notes))


def _of(module: str, name: str) -> Callable[[], Any]:
    """Return what finds a name of a module when it is asked for."""
    find: Callable[[], Any] = lambda: getattr(import_module(module), name)  # noqa: E731
    return find


def fill_names(notes: Any, observer: Any, module: ModuleType, names: dict[str, Callable[[], Any]]) -> None:
    """Let a module answer the program for names that it lacks; a library often only looks what there is."""
    ordinary = module.__dict__.get("__getattr__")

    def find_older(name: str) -> Any:
        if name in names and not observer.is_library(observer.find_asker()):
            value = names[name]()
            notes.add("older", f"{module.__name__}.{name}", guessed=False, now=describe(value))
            return value
        if ordinary is not None:
            return ordinary(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = find_older  # type: ignore[method-assign]


def describe(value: Any) -> str:
    """Return a name for what stands in."""
    name = getattr(value, "__name__", None)
    return str(name if name is not None else value)


def give_optimizer(notes: Any, module: ModuleType) -> None:
    """Give transformers.AdamW where it is gone: torch's own, which keeps as much."""
    module = sys.modules.get(module.__name__, module)  # the library puts another one in its place
    if hasattr(module, "AdamW"):
        return

    class AdamW(torch.optim.AdamW):  # type: ignore[misc]
        """Stands for the optimizer that transformers had."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            notes.add("older", "transformers.AdamW", guessed=False, now="torch.optim.AdamW")
            super().__init__(*args, **{name: value for name, value in kwargs.items() if name not in OF_ADAMW})

    module.AdamW = AdamW  # type: ignore[attr-defined]


def accept_older_arguments(notes: Any, module: ModuleType) -> None:
    """The same for TrainingArguments, and for what a program makes of them: a dataclass has a beginning of its own."""
    base = module.TrainingArguments
    accept_older(notes, base, OF_ARGUMENTS)
    ordinary = dataclasses._process_class  # type: ignore[attr-defined]

    @functools.wraps(ordinary)
    def process_class(cls: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = ordinary(cls, *args, **kwargs)
        if isinstance(arguments, type) and issubclass(arguments, base) and "__init__" in vars(arguments):
            accept_older(notes, arguments, OF_ARGUMENTS)
        return arguments

    dataclasses._process_class = process_class  # type: ignore[attr-defined]


def accept_older(notes: Any, cls: Any, names: dict[str, str]) -> None:
    """Let a class take arguments of older versions: under today's name, or not at all."""
    ordinary = cls.__init__
    known = inspect.signature(ordinary).parameters

    @functools.wraps(ordinary)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in [each for each in kwargs if each in names and each not in known]:
            value, now = kwargs.pop(name), names[name]
            if now and now not in kwargs:
                kwargs[now] = value
            notes.add("older", f"{cls.__name__}({name}=)", guessed=False, now=now or "-")
        ordinary(self, *args, **kwargs)

    cls.__init__ = init


class OlderModules(MetaPathFinder, Loader):
    """Answers for modules that are gone, after all that is there."""

    def __init__(self, notes: Any) -> None:
        self._notes = notes

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        return ModuleSpec(name, self, is_package=name == "scipy.sparse.linalg.eigen") if name in OF_MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        now = OF_MODULES[module.__name__]
        names = {**SIX, "container_abcs": import_module("collections.abc")}
        if now:
            names = {name: value for name, value in vars(import_module(now)).items() if not name.startswith("__")}
        module.__dict__.update(names)
        self._notes.add("older", module.__name__, guessed=False, now=now or "-")


# MPI


def is_asked_by_program(observer: Any) -> bool:
    """Return whether the program itself imports."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "importlib":
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and not observer.is_library(frame.f_code.co_filename)


class Peers(MetaPathFinder, Loader):
    """Answers the program for mpi4py; a library that looks for it would take the run for one of MPI's."""

    def __init__(self, notes: Any, observer: Any) -> None:
        self._notes, self._observer = notes, observer

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name not in ("mpi4py", "mpi4py.MPI") or name == "mpi4py" and not is_asked_by_program(self._observer):
            return None
        return ModuleSpec(name, self, is_package=name == "mpi4py")

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == "mpi4py":
            module.__path__ = []
            return
        self._notes.add("mpi", "mpi4py", guessed=False)
        names = {"COMM_WORLD": World(), "SUM": "sum", "MAX": "max", "MIN": "min", "Comm": World, "FLOAT": "float"}
        module.__dict__.update(names)


class World:
    """A communicator whose peers say what this rank says."""

    rank = property(lambda self: int(os.environ.get("RANK", "0")))
    size = property(lambda self: int(os.environ.get("WORLD_SIZE", "1")))

    def Get_rank(self) -> int:
        return int(self.rank)

    def Get_size(self) -> int:
        return int(self.size)

    def bcast(self, value: Any, root: int = 0) -> Any:
        return value

    def allreduce(self, value: Any, op: Any = None) -> Any:
        return value

    def gather(self, value: Any, root: int = 0) -> list[Any]:
        return [value] * self.size

    allgather = gather

    def barrier(self) -> None:
        """Wait for nobody."""

    Barrier = barrier

    def Bcast(self, buffer: Any, root: int = 0) -> None:
        """Keep the buffer as it is."""

    def Allreduce(self, sent: Any, result: Any, op: Any = None) -> None:
        result[...] = sent

    def Split(self, color: int = 0, key: int = 0) -> World:
        return self
