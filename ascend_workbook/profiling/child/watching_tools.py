"""What watches each of Python's allocations or calls, and the modes that each operator goes through: noted from before
the sampler of lines begins. Imports nothing of the workbook."""

from __future__ import annotations

import functools
import inspect
import sys
import tracemalloc
from types import CodeType
from typing import Any

from .code_places import find_own_code, name_function

#: What note_tools has replaced: whose, its name, what it was and what it is now
_replaced: list[tuple[Any, str, Any, Any]] = []
#: The modes that the script is in, by their number: class, where each was entered, the file of its class; how often
_modes: dict[int, tuple[tuple[str, CodeType, int, str], int]] = {}
#: Those of them that it was in since the sampler began
_entered: dict[tuple[str, CodeType, int, str], None] = {}
#: Where a tool was begun: file, line, function
_begun: dict[str, tuple[str, int, str]] = {}


def note_tools() -> None:
    """Note from now on, until `forget_tools`, the lines that begin to trace Python's allocations, and those that enter
    modes in which operators are dispatched through Python. What is set by sys.setprofile and sys.settrace looks at its
    own caller: these stay as they are."""
    _replace(tracemalloc, "start", _note_start)
    mode = getattr(sys.modules.get("torch.utils._python_dispatch"), "TorchDispatchMode", None)
    if mode is not None:
        _replace(mode, "__enter__", _note_entering)
        _replace(mode, "__exit__", _note_leaving)


def forget_tools() -> None:
    """Take back what `note_tools` has replaced, where nothing else was put there since."""
    while _replaced:
        owner, name, original, ours = _replaced.pop()
        if vars(owner).get(name) is ours:
            setattr(owner, name, original)


def begin_listing() -> None:
    """List from now on the modes that the script is in, or enters."""
    _entered.clear()
    _entered.update(dict.fromkeys(place for place, _ in _modes.values()))


def list_modes() -> list[tuple[str, CodeType, int, str]]:
    """Return the modes that the script was in since then: class, where each was entered, the file of its class."""
    return list(_entered)


def list_tools() -> list[tuple[str, str, int, str]]:
    """Return what watches each of Python's allocations or calls at this moment, and where it was begun: a file, a line
    and a function, empty where that is not known."""
    going = {
        "tracemalloc": tracemalloc.is_tracing(),
        "sys.settrace": sys.gettrace() is not None,
        "sys.setprofile": sys.getprofile() is not None,
    }
    return [(tool, *_begun.get(tool, ("", 0, ""))) for tool, is_on in going.items() if is_on]


def _replace(owner: Any, name: str, make: Any) -> None:
    original = getattr(owner, name)
    ours = functools.wraps(original)(make(original))
    _replaced.append((owner, name, original, ours))
    setattr(owner, name, ours)


def _note_start(start: Any) -> Any:
    def start_and_note(*args: Any, **kwargs: Any) -> Any:
        frame = find_own_code(sys._getframe(1))
        if frame is not None:
            _begun["tracemalloc"] = (frame.f_code.co_filename, frame.f_lineno, name_function(frame.f_code))
        return start(*args, **kwargs)

    return start_and_note


def _note_entering(enter: Any) -> Any:
    def enter_and_note(mode: Any) -> Any:
        result = enter(mode)
        frame = find_own_code(sys._getframe(1))
        place, times = _modes.get(id(mode), (None, 0))
        if place is None and frame is not None:
            dispatch = inspect.unwrap(type(mode).__torch_dispatch__)
            file = getattr(getattr(dispatch, "__code__", None), "co_filename", "")
            place = (type(mode).__name__, frame.f_code, frame.f_lasti, file)
        if place is not None:  # it may enter itself again around each operator
            _modes[id(mode)] = (place, times + 1)
            _entered[place] = None
        return result

    return enter_and_note


def _note_leaving(leave: Any) -> Any:
    def leave_and_note(mode: Any, *args: Any) -> Any:
        place, times = _modes.pop(id(mode), (None, 0))
        if place is not None and times > 1:
            _modes[id(mode)] = (place, times - 1)
        return leave(mode, *args)

    return leave_and_note
