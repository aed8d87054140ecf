"""An iterator that goes on while its results are used: runs are started while others that ended are looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Queue
from typing import TypeVar, Union

T = TypeVar("T")
END = object()


def iterate_ahead(items: Iterator[T], stop: Callable[[], None]) -> Iterator[T]:
    """Yield the items, which a thread takes from `items` ahead of use. What that raises is raised here, after what came
    before it; `stop` is called where nobody takes them to the end, and must make `items` end."""
    queue: Queue[Union[T, BaseException, object]] = Queue()
    thread = threading.Thread(target=_fill_queue, args=(items, queue))
    thread.start()
    try:
        while (item := queue.get()) is not END:
            if isinstance(item, BaseException):
                raise item
            yield item  # type: ignore[misc]
    except BaseException:
        stop()
        raise
    finally:
        thread.join()


def _fill_queue(items: Iterator[T], queue: Queue[Union[T, BaseException, object]]) -> None:
    try:
        for item in items:
            queue.put(item)
        queue.put(END)
    except BaseException as error:  # noqa: BLE001 - raised again by who takes
        queue.put(error)
