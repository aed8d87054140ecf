"""Work over many files on the cores there are: forked children that leave their results in files without a name.

Children are forked, not started anew: nothing is imported twice, a script without a __main__ guard is safe,
and memory is shared. Where there is no fork (Windows) or little to do, the work is done here.
"""

from __future__ import annotations

import gc
import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Callable, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Below this many items a fork costs more than it saves.
FEW = 200
#: Items that are done together; more of them where all numbers would not fit into a pipe (64 KiB on Linux).
CHUNK = 50
NUMBER_BYTES = 8
MOST_CHUNKS = 4096


def spread_work(work: Callable[[Item], Result], items: Sequence[Item], *, children: int | None = None) -> list[Result]:
    """Compute `[work(item) for item in items]`, on `children` processes (default: a core each, none for few items).

    The work must leave files, threads and standard output alone. What a child that died did not leave is done here."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = children if children is not None else (cores if len(items) >= FEW else 1)
    if count < 2 or not hasattr(os, "fork"):
        enabled = gc.isenabled()
        gc.disable()  # syntax trees hold no cycles; looking for some costs a third of the time
        try:
            return [work(item) for item in items]
        finally:
            if enabled:
                gc.enable()
    size = max(CHUNK, -(-len(items) // MOST_CHUNKS))
    chunks = {number: items[number : number + size] for number in range(0, len(items), size)}
    todo, writing = os.pipe()  # holds the numbers: each child takes the next one when it is free
    os.write(writing, b"".join(number.to_bytes(NUMBER_BYTES, "little") for number in chunks))
    os.close(writing)
    started = [_start_child(work, chunks, todo) for _ in range(count)]
    os.close(todo)
    done: dict[int, list[Result]] = {}
    for child, file in started:
        os.waitpid(child, 0)
        file.seek(0)
        with file, suppress(EOFError, pickle.UnpicklingError):  # its end, or where a child died
            while True:
                done.update([pickle.load(file)])
    for number, chunk in chunks.items():
        if number not in done:
            done[number] = [work(item) for item in chunk]
    return [result for number in chunks for result in done[number]]


def _start_child(
    work: Callable[[Item], Result], chunks: Mapping[int, Sequence[Item]], todo: int
) -> tuple[int, IO[bytes]]:
    """A child that works on chunks while there are some; its process id and the file of its results."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever reads it closes it
    child = os.fork()
    if child:
        return child, file
    status = 1
    try:  # the child: no exit handlers, no output buffers of the parent
        gc.disable()
        while number_bytes := os.read(todo, NUMBER_BYTES):
            number = int.from_bytes(number_bytes, "little")
            pickle.dump((number, [work(item) for item in chunks[number]]), file, -1)
            file.flush()
        status = 0
    finally:
        os._exit(status)
