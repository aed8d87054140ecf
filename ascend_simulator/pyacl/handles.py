"""What a client holds by a number: descriptions, data sets, buffers; and how a call that fails is told."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from .calling import LIBRARY

#: Codes and meanings: https://www.hiascend.com/document, "pyACL API", "Error codes".
SUCCESS, PARAMETER, UNINITIALISED, BAD_FILE = 0, 100000, 100001, 100003
NO_MODEL_ID, CANNOT_DESERIALIZE, BAD_INPUT, BAD_OUTPUT, NOT_DYNAMIC = 100011, 100012, 100017, 100018, 100019
FAILED = 500002

_IS_INITIALISED = LIBRARY["_ZN3sim14is_initialisedEv"]
_IS_INITIALISED.restype = ctypes.c_bool
_FAIL = LIBRARY["_ZN3sim4failEiPKcS1_z"]
_NUMBERS = count(0x10_0000, 0x40)
Held = TypeVar("Held")


class Failure(Exception):
    """A call that ends with an error code and a message."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Handles(dict[int, Any]):
    """Objects by the number that a client was given, none of which is given twice."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def add(self, held: Any) -> int:
        number = next(_NUMBERS)
        self[number] = held
        return number

    def find(self, number: int) -> Any:
        """Return the object. Raises Failure for a number that was not given, or given back."""
        if number not in self:
            raise Failure(PARAMETER, f"there is no {self.what} {number:#x}")
        return self[number]

    def remove(self, number: int) -> None:
        """Forget the object. Raises Failure for a number that was not given, or given back."""
        self.find(number)
        del self[number]


def tell_failure(name: str, failure: Failure) -> int:
    """Keep the message for acl.get_recent_err_msg, and return the code."""
    return int(_FAIL(ctypes.c_int(failure.code), name.encode(), b"%s", str(failure).encode()))


def answering(*nothing: Any, always: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function answer as pyACL's do: results, then the code; `nothing` in their place where it fails.

    Without results the code alone is returned; with `always` the results alone. Calls before acl.init are refused with
    100001, as public samples that go on after a failed start would otherwise seem to work."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            try:
                if not _IS_INITIALISED():
                    raise Failure(UNINITIALISED, "acl.init was not called")
                result = function(*arguments)
                code = SUCCESS
            except Failure as failure:
                module = function.__module__.rpartition(".")[2]
                place = "acl" if module == "buffers" else f"acl.{module}"
                code = tell_failure(f"{place}.{function.__name__}", failure)
                result = nothing if len(nothing) != 1 else nothing[0]
            if always:
                return result
            if not nothing:
                return code
            return (*result, code) if len(nothing) > 1 else (result, code)

        return call

    return decorate
