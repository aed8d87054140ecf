"""How long threads run, and wait for a core that others have. Imports nothing of the workbook."""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time
from pathlib import Path
from typing import Any

#: Of what a thread ran, another that ran this part of it may be one that it waits for
TAKES_PART = 0.05
#: System calls in which a thread sleeps until a moment: nanosleep and clock_nanosleep, and select without a file, which
#: is what Python calls up to 3.10; by machine
SLEEPS = {"x86_64": ("35 ", "230 ", "23 0x0 ", "270 0x0 "), "aarch64": ("101 ", "115 ", "72 0x0 ")}


class Queues:
    """How long a thread has run, and how long it and others of its process, and its workers, waited for a core."""

    def __init__(self, thread_id: int, native_id: int) -> None:
        self._native_id = native_id
        self._clock = time.pthread_getcpuclockid(thread_id) if hasattr(time, "pthread_getcpuclockid") else None
        self._files: dict[str, int] = {}
        #: By the files: what a thread had run and waited at the last look, and what it had run at the first
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._others_ns = self._others_ran_ns = self._begun_ns = 0
        self._sleeps = tuple(call.encode() for call in SLEEPS.get(platform.machine(), ()))
        # it keeps the interpreter, which os.pread gives away at each call
        self._pread: Any = getattr(ctypes.PyDLL(None), "pread", None)
        self._buffer = ctypes.create_string_buffer(80)

    def find_threads(self) -> None:
        """Open what the system tells of each thread and worker process; where it tells nothing there is none."""
        pid, own = os.getpid(), threading.get_native_id()
        paths = set()
        for tid in _list_names(f"/proc/{pid}/task"):
            if tid != str(own):
                paths.add(f"/proc/{pid}/task/{tid}/schedstat")
            for child in read_words(f"/proc/{pid}/task/{tid}/children"):
                paths.add(f"/proc/{child}/schedstat")
        if self._sleeps:
            paths.add(f"/proc/{pid}/task/{self._native_id}/syscall")
        for path in self._files.keys() - paths:
            os.close(self._files.pop(path))
        for path in paths - self._files.keys():
            try:
                self._files[path] = os.open(path, os.O_RDONLY)
            except OSError:
                continue

    def read_usage(self) -> tuple[int, int, int, int]:
        """Return how long the thread has run, and how long it waited for a core; of the others that it may wait for,
        how long the one waited that waited the longest, and how long the one ran that ran the longest, summed over all
        calls: nanoseconds."""
        ran = time.clock_gettime_ns(self._clock) if self._clock is not None else 0
        self._begun_ns = self._begun_ns or ran
        own, most, most_ran = 0, 0, 0
        ours = f"/proc/{os.getpid()}/task/{self._native_id}/schedstat"
        for path, file in self._files.items():
            words = self._read(file).split() if path.endswith("/schedstat") else ()
            if len(words) < 2:
                continue
            its_ran, waited = int(words[0]), int(words[1])
            if path == ours:
                own = waited
                continue
            before_ran, before_waited, first_ran = self._seen.get(path, (its_ran, waited, its_ran))
            if its_ran - first_ran >= TAKES_PART * (ran - self._begun_ns):
                most, most_ran = max(most, waited - before_waited), max(most_ran, its_ran - before_ran)
            self._seen[path] = (its_ran, waited, first_ran)
        self._others_ns += most
        self._others_ran_ns += most_ran
        return ran, own, self._others_ns, self._others_ran_ns

    def is_asleep(self) -> bool:
        """Return whether the thread sleeps until a moment, and waits for nobody; False where the system does not tell
        it."""
        file = self._files.get(f"/proc/{os.getpid()}/task/{self._native_id}/syscall")
        return file is not None and self._read(file).startswith(self._sleeps)

    def _read(self, file: int) -> bytes:
        size = self._pread(file, self._buffer, 79, ctypes.c_long(0)) if self._pread else 0
        return self._buffer.raw[: max(0, size)]

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()


def _list_names(folder: str) -> list[str]:
    try:
        return [entry.name for entry in Path(folder).iterdir()]
    except OSError:
        return []


def read_words(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").split()
    except OSError:
        return []
