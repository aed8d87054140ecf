"""Runs the user's script or module as `python script.py` or `python -m module` would, and stops it.

The workbook's packages are kept out of its imports; processes that it spawns get the same launch.
"""

from __future__ import annotations

import importlib.machinery
import multiprocessing.spawn
import os
import runpy
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .observer import Observer

CHILD = Path(__file__).resolve().parent
#: The folder that holds our packages, and those whose names users give their own modules too.
ROOT, NAMES = CHILD.parents[3], ("helpers", "course")
#: How often a script may swallow the exception that stops it.
PATIENCE = 3
#: observe.py's own __main__ module: dropped from sys.modules it would be emptied while it still runs.
_KEPT: list[ModuleType] = []


def prepare_interpreter(script: str | None, module: str | None, args: list[str]) -> None:
    """Set sys.argv, sys.path[0] and a fresh `__main__`, as the interpreter would have made them."""
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    if script is not None:
        first = str(Path(script).resolve().parent)
        main.__file__ = script
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
        main.__dict__["__cached__"] = None
    else:
        first = os.getcwd()  # noqa: PTH109
    sys.argv = [script or "-m", *args]
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, first)
    _KEPT.append(sys.modules["__main__"])
    sys.modules["__main__"] = main
    if "__annotations__" in vars(_KEPT[-1]):  # until Python 3.13 the interpreter puts it there
        main.__annotations__ = {}


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
    ours, frames = (str(CHILD), "<frozen runpy", str(runpy.__file__)), []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(ours):
            frames.append(trace)
        trace = trace.tb_next
    trimmed: TracebackType | None = None
    for frame in reversed(frames):
        trimmed = TracebackType(trimmed, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return trimmed


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


def describe_error(error: BaseException) -> dict[str, object]:
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
    sys.path[:] = [
        entry for entry in sys.path if not (_holds_us(entry) and (Path(entry or ".") / "pyproject.toml").is_file())
    ]


class _Carrier:
    """Unpickling this in a spawned process runs observe.py there, before the user's main module is imported."""

    def __init__(self, spec_path: str) -> None:
        self.spec_path = spec_path

    def __reduce__(self) -> tuple[object, ...]:
        return runpy.run_path, (str(CHILD / "observe.py"), {"SPAWNED": self.spec_path}, "_workbook_spawned")


def follow_spawned(spec_path: str) -> None:
    """Give processes started by multiprocessing's spawn the same transform and observation.

    multiprocessing sends a dictionary of preparation data ahead of the process object and ignores keys it
    does not know (multiprocessing/spawn.py: `prepare`).
    """
    original = multiprocessing.spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, object]:
        # First, so that it is unpickled before anything of the user's.
        return {"_workbook": _Carrier(spec_path), **original(name)}

    multiprocessing.spawn.get_preparation_data = get_preparation_data


class StopTraining(SystemExit):
    """Raised inside `optimizer.step`; with code 0 everything above takes it for a normal exit."""

    def __init__(self) -> None:
        super().__init__(0)


_raised = 0


def make_stop(observer: Observer) -> StopTraining:
    """Return the exception that stops the script; one that swallows it three times is ended on the spot."""
    global _raised
    _raised += 1
    if _raised > PATIENCE:
        observer.note("stop_ignored", times=PATIENCE)
        observer.finish("stopped_after", None)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    return StopTraining()
