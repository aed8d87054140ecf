"""Puts functions in the place of torch's own, and of random's and numpy's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
#: Frames of this file stand between the program's line and torch's; who asks whose line it is passes over them.
PASSES_THROUGH = True


def replaces(owner: object, *names: str) -> Callable[[Function], Function]:
    """Return a decorator: its function is called in the place of the owner's, with the one that was there first."""

    def put(function: Function) -> Function:
        for name in names:
            _put_in_place(owner, name, function)
        return function

    return put


def _put_in_place(owner: object, name: str, function: Function) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def call(*args: object, **kwargs: object) -> Any:
        return function(original, *args, **kwargs)

    setattr(owner, name, call)
