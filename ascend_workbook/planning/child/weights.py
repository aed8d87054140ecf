"""A launch plugin: weights that are not here. A model keeps those it was built with, which take as much memory.

    weights   those that torch.hub would download, and files of weights that the launch was told to make, which are
              empty (configuration `files`)

Only what failed is replaced, and each is written down (stand_ins.jsonl). Runs in the user's process by path and imports
nothing of the workbook.
"""

from __future__ import annotations

import functools
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

#: This file's frames stand between the program and torch; whose line it is must not change by that.
PASSES_THROUGH = True
#: What a checkpoint holds beside weights: counts by their names, and numbers that are no counts.
COUNTS, NUMBERS = ("epoch", "step", "iter", "seed"), ("best", "acc", "loss", "score")


class Taken:
    """What a program took of weights that were not there, by its path, until a `load_state_dict` had it.

    The rest may have set a size: a model that is built of it has the program's own defaults."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, ...], tuple[str, int]] = {}
        self.walked: tuple[str, ...] = ()
        self.find_caller: Callable[[], tuple[str, int]] = lambda: ("", 0)

    def add(self, path: tuple[str, ...]) -> None:
        """Keep what was taken, with the program's line."""
        if path:
            self.places.setdefault(path, self.find_caller())

    def settle(self, state: Any) -> None:
        """Forget what was loaded, what holds it and what it holds; for a dict made of one, the one last walked over."""
        path = state.path if isinstance(state, Unloaded) else self.walked
        for other in list(self.places):
            if other == path[: len(other)] or path == other[: len(path)]:
                del self.places[other]

    def write(self, notes: Any) -> None:
        """Write down what no `load_state_dict` had."""
        for path, (file, line) in self.places.items():
            notes.add("values", ": ".join(path), guessed=True, file=file, line=line)


TAKEN = Taken()


class Unloaded(OrderedDict):  # type: ignore[type-arg]
    """Weights that were not there to be loaded: whatever is taken of them is not there either."""

    path: tuple[str, ...] = ()

    def __missing__(self, key: object) -> Any:
        name = str(key).lower()
        if any(word in name for word in COUNTS):
            return 0
        return 0.0 if any(word in name for word in NUMBERS) else self.take(key)

    def take(self, key: object) -> Unloaded:
        """Return what stands for a value of no known kind."""
        part = make_unloaded((*self.path, str(key)))
        TAKEN.add(part.path)
        return part

    def __iter__(self) -> Any:
        TAKEN.walked = self.path
        return super().__iter__()

    def keys(self) -> Any:
        TAKEN.walked = self.path
        return super().keys()

    def values(self) -> Any:
        TAKEN.walked = self.path
        return super().values()

    def items(self) -> Any:
        TAKEN.walked = self.path
        return super().items()

    def get(self, key: object, default: Any = None) -> Any:
        """Return the default; what it is instead of is kept."""
        if default is None or isinstance(default, Unloaded):
            return default
        if isinstance(default, dict) and not default:
            return self.take(key)
        if not any(word in str(key).lower() for word in (*COUNTS, *NUMBERS)):
            self.take(key)
        return default

    def __delitem__(self, key: object) -> None:
        """Delete nothing: there is nothing."""

    def pop(self, key: object, *default: Any) -> Any:
        """Return the default, or what stands for the value."""
        return self.get(key, *default) if default else self[key]


def make_unloaded(path: tuple[str, ...]) -> Unloaded:
    """Return weights that were not there: the file's name, and the keys within it."""
    state = Unloaded()
    state.path = path
    return state


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for weights from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    TAKEN.find_caller = observer.find_caller
    observer.on_end(lambda status: TAKEN.write(notes))
    files = {os.path.abspath(name): name for name in config.get("files", ())}  # noqa: PTH100
    patch_downloads(notes)
    if files:
        patch_files(notes, files)
    patch_loading(bool(files))


def patch_downloads(notes: Any) -> None:
    """Give no weights where those to be downloaded are not to be had."""
    ordinary = torch.hub.load_state_dict_from_url

    @functools.wraps(ordinary)
    def load_state_dict_from_url(url: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(url, *args, **kwargs)
        except OSError:
            name = url.rsplit("/", 1)[-1]
            notes.add("weights", name, guessed=False)
            return make_unloaded((name,))

    torch.hub.load_state_dict_from_url = load_state_dict_from_url


def patch_files(notes: Any, files: dict[str, str]) -> None:
    """Give no weights where a file of them was not there."""
    ordinary = torch.load

    @functools.wraps(ordinary)
    def load(f: Any, *args: Any, **kwargs: Any) -> Any:
        name = f if isinstance(f, (str, os.PathLike)) else getattr(f, "name", None)
        known = files.get(os.path.abspath(name)) if isinstance(name, (str, os.PathLike)) else None  # noqa: PTH100
        if known is None:
            return ordinary(f, *args, **kwargs)
        notes.add("weights", known, guessed=False)
        return make_unloaded((known,))

    torch.load = load


def patch_loading(any_file: bool) -> None:
    """Let a model, an optimizer and a schedule keep what they have, where they are given weights that were not there;
    `any_file`: what a program took of such a file, and kept nothing of, is none either."""

    def is_unloaded(state: Any) -> bool:
        return isinstance(state, Unloaded) or any_file and isinstance(state, dict) and not state

    ordinary_module = torch.nn.Module.load_state_dict

    @functools.wraps(ordinary_module)
    def load_state_dict(self: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        if is_unloaded(state_dict):
            TAKEN.settle(state_dict)
            return torch.nn.modules.module._IncompatibleKeys([], [])
        return ordinary_module(self, state_dict, *args, **kwargs)

    torch.nn.Module.load_state_dict = load_state_dict
    for cls in (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler):
        keep_state(cls, is_unloaded)


def keep_state(cls: Any, is_unloaded: Any) -> None:
    """Let what has a state keep it, where it is given one that was not there."""
    ordinary = cls.load_state_dict

    @functools.wraps(ordinary)
    def load_state_dict(self: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_unloaded(state_dict):
            return ordinary(self, state_dict, *args, **kwargs)
        TAKEN.settle(state_dict)
        return None

    cls.load_state_dict = load_state_dict
