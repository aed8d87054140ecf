"""Runs the user's script or module as `python script.py` or `python -m module` would."""

from __future__ import annotations

import importlib.machinery
import os
import runpy
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

#: observe.py's own __main__ module: dropped from sys.modules it would be emptied while it still runs.
_KEPT: list[ModuleType] = []


def prepare_interpreter(script: str | None, module: str | None, args: list[str]) -> None:
    """Set sys.argv, sys.path[0] and a fresh `__main__`, as the interpreter would have made them."""
    safe = getattr(sys.flags, "safe_path", False)
    if script is not None:
        sys.argv = [script, *args]
        first = str(Path(script).resolve().parent)
    else:
        sys.argv = ["-m", *args]
        first = os.getcwd()  # noqa: PTH109
    if not safe:
        sys.path.insert(0, first)
    _KEPT.append(sys.modules["__main__"])
    sys.modules["__main__"] = _main_module(script)
    if "__annotations__" in vars(_KEPT[-1]):  # until Python 3.13 the interpreter puts it there
        sys.modules["__main__"].__annotations__ = {}


def _main_module(script: str | None) -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    if script is not None:
        main.__file__ = script
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
        main.__dict__["__cached__"] = None
    return main


def execute_script(script: str | None, module: str | None) -> None:
    """Run the script; whatever it raises comes out, SystemExit included."""
    if script is None:
        assert module is not None
        # What `python -m` itself calls; it fills the __main__ module that is in sys.modules.
        runpy._run_module_as_main(module)  # type: ignore[attr-defined]
        return
    # compile() reads the coding line, which a decoded string would not have
    code = compile(Path(script).read_bytes(), script, "exec", dont_inherit=True)
    exec(code, sys.modules["__main__"].__dict__)


def user_part(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the frames of the launcher and its hooks, as the user would have seen it."""
    frames = []
    while trace is not None:
        if not _is_ours(trace.tb_frame.f_code.co_filename):
            frames.append(trace)
        trace = trace.tb_next
    trimmed: TracebackType | None = None
    for frame in reversed(frames):
        trimmed = TracebackType(trimmed, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return trimmed


def _is_ours(path: str) -> bool:
    return path.startswith((str(Path(__file__).parent), "<frozen runpy")) or path == runpy.__file__


def _of_the_user(path: str) -> bool:
    """Return whether a path is not in an installed library: the place of an error that the user can go to."""
    if path.startswith(str(Path(__file__).parents[3]) + os.sep):
        return False  # a plugin that stood between
    libraries = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    for name in ("torch", "torch_npu"):  # they need not lie in site-packages
        where = getattr(sys.modules.get(name), "__file__", None)
        if where:
            libraries.add(str(Path(where).parents[1]))
    return not path.startswith((*libraries, "<"))


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return the error as the log keeps it: type, message, place, the last 40 lines of the traceback."""
    trace = user_part(error.__traceback__)
    lines = "".join(traceback.format_exception(type(error), error, trace)).splitlines()
    frames = traceback.extract_tb(trace)
    last = [frame for frame in frames if _of_the_user(frame.filename)][-1:] or frames[-1:]
    return {
        "type": type(error).__name__,
        "message": str(error),
        "path": last[0].filename if last else None,
        "line": last[0].lineno if last else None,
        "traceback": lines[-40:],
    }
