"""Whose code a frame is, and which line of it: what the sampler of lines and what it notes have in common. Imports
nothing of the workbook."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

#: In the path of what pip installed
PACKAGES = "-packages" + os.sep
#: Our own frames below and above the script's
OURS = str(Path(__file__).parents[2]) + os.sep
#: Of Python's own library: a thread with nothing else below it is none of the script's
LIBRARY = (str(Path(os.__file__).parent) + os.sep, "<frozen ")


@contextlib.contextmanager
def keep_garbage() -> Iterator[None]:
    """Let no collection begin while another thread's frames are read. Up to Python 3.11 reading one makes an object,
    which may begin one: it holds a lock that a thread that begins waits for, and finalizers in it let the other thread
    run on, which ends the frames that are just being read."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def find_caller(frame: FrameType) -> FrameType:
    """Return the nearest frame of no installed package and not ours, else the frame itself."""
    near: FrameType | None = frame
    while near is not None and not is_own(near.f_code):
        near = near.f_back
    return near or frame


def find_own_code(frame: FrameType | None) -> FrameType | None:
    """Return the nearest frame of the script's own code, which Python's library is not, or None."""
    while frame is not None and (not is_own(frame.f_code) or frame.f_code.co_filename.startswith(LIBRARY)):
        frame = frame.f_back
    return frame


def is_own(code: CodeType) -> bool:
    """Return whether code is the script's own."""
    return not (PACKAGES in code.co_filename or code.co_filename.startswith(OURS))


def is_own_class(module: type) -> bool:
    code = getattr(getattr(module, "forward", None), "__code__", None)
    return code is not None and is_own(code)


def name_function(code: CodeType) -> str:
    """Return a function's name, of the script's own methods with their class: two of one name are apart."""
    name: str = getattr(code, "co_qualname", code.co_name) if is_own(code) else code.co_name  # Python 3.11
    return name.rpartition("<locals>.")[2]


def find_line(code: CodeType, at: int) -> int:
    """Return the line of an instruction of a function."""
    line = code.co_firstlineno
    if hasattr(code, "co_lines"):
        for begin, end, number in code.co_lines():
            if begin <= at < end:
                return line if number is None else int(number)
        return line
    import dis  # Python 3.9

    for begin, number in dis.findlinestarts(code):
        if begin > at:
            break
        line = number
    return line
