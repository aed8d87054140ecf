"""A launch plugin: stand-ins for packages that only tell others of a run (wandb), and that are not installed.

Such a package does nothing to a training; each that stood in is written down (stand_ins.jsonl). Those that are
installed are switched off where they would ask for an account, which nobody can give here (configuration `offline`).
torch.utils.tensorboard stands on the package tensorboard, and writes nothing where that is not installed.

Runs in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: This file's frames stand between the program and the package; whose line it is must not change by that.
PASSES_THROUGH = True
#: Packages that tell others of a run, and do nothing to it.
LOGGERS = frozenset(
    {
        "wandb",
        "tensorboardX",
        "tensorboard_logger",
        "visdom",
        "swanlab",
        "mlflow",
        "comet_ml",
        "neptune",
        "clearml",
        "aim",
    }
)
#: What torch gives a program that writes curves, and what it stands on.
WRITER, WRITTEN_BY = "torch.utils.tensorboard", "tensorboard"
#: Settings of packages that ask for an account, as a program may set them itself.
OFF = {"WANDB_MODE": "disabled", "SWANLAB_MODE": "disabled", "COMET_MODE": "disabled", "CLEARML_OFFLINE_MODE": "1"}


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Answer for such packages from now on."""
    loggers = Loggers(observer)
    sys.meta_path.append(loggers)
    if importlib.util.find_spec(WRITTEN_BY) is None:
        sys.meta_path.insert(0, Writer(observer))
    if config.get("offline", True):
        for name, value in OFF.items():
            os.environ.setdefault(name, value)


class Loggers(MetaPathFinder, Loader):
    """Answers for packages that only tell others of a run, after all that is installed."""

    def __init__(self, observer: Any) -> None:
        self._observer, self._notes = observer, observer.open_notes("stand_ins.jsonl")

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        top = name.split(".")[0]
        if top not in LOGGERS or not is_asked_by_program(self._observer):
            return None
        self._notes.add("logger", top, guessed=False)
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Silent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []


class Writer(Loggers):
    """Answers for what torch writes curves with."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name != WRITER or not is_asked_by_program(self._observer):
            return None
        self._notes.add("logger", WRITTEN_BY, guessed=False)
        return ModuleSpec(name, self, is_package=True)


def is_asked_by_program(observer: Any) -> bool:
    """Return whether the program itself imports: a library only looks whether it could use the package."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "importlib":
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and not observer.is_library(frame.f_code.co_filename)


class Silent(ModuleType):
    """A module of which every name is Nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class Nothing:
    """Takes every call and gives nothing back."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Decorate a function with itself; anything else comes to nothing."""
        return (
            args[0]
            if len(args) == 1 and not kwargs and callable(args[0]) and not isinstance(args[0], Nothing)
            else self
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        """Keep nothing."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        """Let every error pass."""

    def __str__(self) -> str:
        return ""
