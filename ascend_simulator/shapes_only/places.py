"""Find the line of the program's own code that is being run."""

from __future__ import annotations

import sys
import sysconfig
import threading
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import torch


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


def _folders_of_others() -> list[Path]:
    files = [torch.__file__, getattr(sys.modules.get("torch_npu"), "__file__", None), __file__]
    return [Path(file).absolute().parent for file in files if file]


@cache
def is_own_code(file: str) -> bool:
    """Return whether a file is the program's, or a library's it uses: not torch's, torch_npu's, Python's or ours."""
    parents = set(Path(file).absolute().parents)
    if file.startswith("<frozen") or not parents.isdisjoint(_folders_of_others()):
        return False
    standard = {Path(sysconfig.get_path(name)).absolute() for name in ("stdlib", "platstdlib")}
    within = not parents.isdisjoint(standard)
    return not within or any(parent.name in ("site-packages", "dist-packages") for parent in parents)


def is_printing() -> bool:
    """Return whether torch is making the text of a tensor: it selects values, and nobody sees how many."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_own_code(frame.f_code.co_filename):
        if Path(frame.f_code.co_filename).name == "_tensor_str.py":
            return True
        frame = frame.f_back
    return False


def is_reading_for_itself() -> bool:
    """Return whether what reads keeps the value to itself: a function that its module names in READS_FOR_ITSELF, before
    any line of the program's own code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in frame.f_globals.get("READS_FOR_ITSELF", ()):
            return True
        if is_own_code(frame.f_code.co_filename) and not frame.f_globals.get("PASSES_THROUGH"):
            return False
        frame = frame.f_back
    return False


def own_frames() -> list[FrameType]:
    """Return the frames of the program's own code, the innermost first. A module that puts functions in the place of
    torch's says so by PASSES_THROUGH: the line behind it is meant; so it is behind a tensor's own `__torch_function__`.

    A thread of autograd's has none where torch's own formulas run: then those of the main thread, which waits for it.
    """
    here = _own_frames_from(sys._getframe(1))
    main = sys._current_frames().get(threading.main_thread().ident or 0)
    return here or _own_frames_from(main)


def _own_frames_from(frame: FrameType | None) -> list[FrameType]:
    frames = []
    while frame is not None:
        passes = frame.f_code.co_name == "__torch_function__" or frame.f_globals.get("PASSES_THROUGH")
        if not passes and is_own_code(frame.f_code.co_filename):
            frames.append(frame)
        frame = frame.f_back
    return frames


def place_of(frame: FrameType) -> Place:
    """Return where the frame is."""
    file = frame.f_code.co_filename
    return Place(file if file.startswith("<") else str(Path(file).absolute()), frame.f_lineno)
