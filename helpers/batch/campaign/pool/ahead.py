"""An iterator that goes on while its results are used: runs are started while others that ended are looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Queue
from typing import TypeVar, Union

T = TypeVar("T")
END = object()


def ahead(items: Iterator[T], stop: Callable[[], None]) -> Iterator[T]:
    """The same, taken from `items` by a thread. What that raises is raised here, after what came before it; `stop` is
    called where nobody takes them to the end, and must make `items` end."""
    found: Queue[Union[T, BaseException, object]] = Queue()
    thread = threading.Thread(target=_fill, args=(items, found))
    thread.start()
    try:
        while (one := found.get()) is not END:
            if isinstance(one, BaseException):
                raise one
            yield one  # type: ignore[misc]
    except BaseException:
        stop()
        raise
    finally:
        thread.join()


def _fill(items: Iterator[T], found: Queue[Union[T, BaseException, object]]) -> None:
    try:
        for one in items:
            found.put(one)
        found.put(END)
    except BaseException as error:  # noqa: BLE001 - raised again by who takes
        found.put(error)
