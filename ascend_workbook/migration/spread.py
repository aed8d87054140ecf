"""Work over many files on the cores there are: forked children that send their results back through pipes.

Children are forked, not started anew: nothing is imported twice, a script without a __main__ guard is safe,
and memory is shared. Where there is no fork (Windows) or little to do, the work is done here.
"""

from __future__ import annotations

import gc
import os
import pickle
import selectors
from collections.abc import Iterable, Mapping, Sequence
from typing import Callable, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Below this many items a fork costs more than it saves.
FEW = 200
#: Items whose results travel together; more of them where all numbers would not fit into a pipe (64 KiB on Linux).
CHUNK = 50
LENGTH_BYTES = 8
NUMBER_BYTES = 8
MOST_CHUNKS = 4096


def count_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread_work(work: Callable[[Item], Result], items: Sequence[Item], *, children: int | None = None) -> list[Result]:
    """Compute `[work(item) for item in items]`, on `children` processes (default: a core each, none for few items).

    The work must leave files, threads and standard output alone. What a child that died did not send is done here."""
    count = children if children is not None else (count_cores() if len(items) >= FEW else 1)
    if count < 2 or not hasattr(os, "fork"):
        return _work_here(work, items)
    size = max(CHUNK, -(-len(items) // MOST_CHUNKS))
    chunks = {number: items[number : number + size] for number in range(0, len(items), size)}
    todo = _open_number_queue(chunks)
    done: dict[int, list[Result]] = _collect_chunks([_start_child(work, chunks, todo) for _ in range(count)])
    os.close(todo)
    for number, chunk in chunks.items():
        if number not in done:
            done[number] = [work(item) for item in chunk]
    return [result for number in chunks for result in done[number]]


def _work_here(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """The work in this process, without looks for garbage in between: syntax trees hold no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return [work(item) for item in items]
    finally:
        if enabled:
            gc.enable()


def _open_number_queue(numbers: Iterable[int]) -> int:
    """A pipe that holds the numbers: each child takes the next one when it is free, so that all end together."""
    reading, writing = os.pipe()
    os.write(writing, b"".join(number.to_bytes(NUMBER_BYTES, "little") for number in numbers))
    os.close(writing)
    return reading


def _start_child(work: Callable[[Item], Result], chunks: Mapping[int, Sequence[Item]], todo: int) -> tuple[int, int]:
    """A child that works on chunks while there are some; its process id and the end of the pipe to read."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    status = 1
    try:  # the child: no exit handlers, no output buffers of the parent
        os.close(reading)
        gc.disable()  # syntax trees hold no cycles; looking for some costs a third of the time
        while number_bytes := os.read(todo, NUMBER_BYTES):
            number = int.from_bytes(number_bytes, "little")
            data = pickle.dumps((number, [work(item) for item in chunks[number]]), -1)
            left = memoryview(len(data).to_bytes(LENGTH_BYTES, "little") + data)
            while left:
                left = left[os.write(writing, left) :]
        status = 0
    finally:
        os._exit(status)


def _collect_chunks(children: Iterable[tuple[int, int]]) -> dict[int, list[Result]]:
    """All chunks by their number, as they come."""
    done: dict[int, list[Result]] = {}
    buffers: dict[int, bytearray] = {}
    with selectors.DefaultSelector() as waiting:
        for child, pipe in children:
            waiting.register(pipe, selectors.EVENT_READ, child)
            buffers[pipe] = bytearray()
        while waiting.get_map():
            for key, _ in waiting.select():
                data = os.read(key.fd, 1 << 16)
                buffers[key.fd] += data
                _unpack_chunks(buffers[key.fd], done)
                if not data:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
                    os.waitpid(key.data, 0)
    return done


def _unpack_chunks(buffer: bytearray, done: dict[int, list[Result]]) -> None:
    """Takes every whole chunk off the front of the buffer."""
    while len(buffer) >= LENGTH_BYTES:
        end = LENGTH_BYTES + int.from_bytes(buffer[:LENGTH_BYTES], "little")
        if len(buffer) < end:
            return
        number, results = pickle.loads(bytes(buffer[LENGTH_BYTES:end]))
        done[number] = results
        del buffer[:end]
