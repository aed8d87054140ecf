"""Calling the simulated runtime's C functions."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

I32, U32, SIZE, POINTER, FLOAT = ctypes.c_int32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_float
#: Beside this module in the simulator's folder: the library that torch_npu has in the same process
LIBRARY = ctypes.CDLL(str(Path(__file__).resolve().parents[2] / "lib64" / "libascendcl.so"), mode=os.RTLD_GLOBAL)


class Lacking(AttributeError, NotImplementedError):
    """Something of pyACL that the stand-in lacks, by its name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"[simulated NPU] the stand-in for CANN's module acl lacks {name}")


class Out:
    """A result that the C function gives through a pointer."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind


def make_argument(name: str, kind: Any, value: Any) -> Any:
    """Return the value as the C function takes it; ctypes would cut off what does not fit."""
    place = kind(value)
    if isinstance(value, int) and (place.value or 0) != value:
        sign = "an unsigned" if kind(-1).value > 0 else "a signed"
        bits = ctypes.sizeof(kind) * 8
        raise OverflowError(f"acl.rt.{name}(): {value} does not fit into {sign} number of {bits} bits")
    return place


def make_function(name: str, c_name: str, *parameters: Any) -> Callable[..., Any]:
    """Return a function that takes what goes into the C function, and returns what comes out, its code last."""
    c_function = getattr(LIBRARY, c_name)
    c_function.restype = I32
    expected = sum(not isinstance(parameter, Out) for parameter in parameters)

    def function(*values: Any) -> Any:
        if len(values) != expected:
            raise TypeError(f"acl.rt.{name}() takes {expected} arguments, {len(values)} were given")
        remaining = iter(values)
        places = [
            parameter.kind() if isinstance(parameter, Out) else make_argument(name, parameter, next(remaining))
            for parameter in parameters
        ]
        passed = [
            ctypes.byref(place) if isinstance(parameter, Out) else place for parameter, place in zip(parameters, places)
        ]
        code = int(c_function(*passed))
        results = [place.value or 0 for parameter, place in zip(parameters, places) if isinstance(parameter, Out)]
        return (*results, code) if results else code

    function.__name__ = name
    function.__doc__ = f"Call {c_name}."
    return function


def call_c(name: str) -> str:
    """Return the text of a C function without arguments."""
    function = getattr(LIBRARY, name)
    function.restype = ctypes.c_char_p
    text: bytes | None = function()
    return (text or b"").decode("utf-8", "replace")
