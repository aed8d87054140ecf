"""Which lines of the script the host is at, while its steps are recorded: the training thread's call stack, looked at
about every millisecond from a thread beside it, every collection of Python's garbage, and every call that waits for the
device or for other processes: these are too short to be met by chance, and each has its line.

The profilers' own call stacks take a time with every Python call: a step of many short calls takes several times as
long, and the profile shows the recording. This one costs the same whatever the script does. Beside each
look it notes how long the thread ran, and how long it and those that it may wait for were ready to run while others had
the cores: on a busy machine a step is longer by that, and no script can help it.

Written beside the data (`rank0.lines.json`); profiling/readers/lines.py reads it. Imports nothing of the workbook."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .call_notes import Notes
from .code_places import OURS, find_line, find_own_code, keep_garbage, name_function
from .queues import Queues, read_words
from .watching_tools import begin_listing, forget_tools, list_modes, list_tools, note_tools

__all__ = ["LineSampler", "forget_tools", "note_tools"]

INTERVAL_S = 0.001
#: While it samples: a thread that computes in Python alone hands over so often, else it would be seen late or never
SWITCH_S = 0.0001
#: Frames of one stack that are kept, the innermost ones, and collections that are told of
DEEPEST, SHORTEST_NS = 60, 20_000
#: The generation of garbage whose collection looks at every object
OLDEST = 2
#: At every so many looks the other threads are looked at; one runs that has had a core for one in so many parts of the
#: time since then
LOOK_AT_OTHERS, RUNS = 10, 5
#: Every so many samples it is asked anew which threads and worker processes there are
FIND_THREADS = 50
#: The script goes on after so long, even where a finalizer of its own keeps the sampling thread
LONGEST_END_S = 5.0

Stack = tuple[tuple[CodeType, int], ...]


class LineSampler:
    """Samples the thread that makes it, from `start` to `stop`; `write_samples` then says what was seen."""

    def __init__(self) -> None:
        self._thread_id, self._native_id = threading.get_ident(), threading.get_native_id()
        self._samples: list[tuple[int, int]] = []
        self._stacks: dict[Stack, int] = {}
        self._collections: list[tuple[int, int, int]] = []
        self._collecting_since = 0
        self._notes = Notes()
        self._delays: list[tuple[int, ...]] = []
        self._queues = Queues(self._thread_id, self._native_id)
        self._ran: dict[int, tuple[int, int]] = {}
        self._others: dict[tuple[CodeType, int], int] = {}
        self._modes: list[tuple[str, CodeType, int, str]] = []
        self._content: dict[str, object] = {}
        self._ended_early = ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._switch_s = sys.getswitchinterval()

    def start(self) -> None:
        """Begin to sample, in a thread of its own."""
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switch_s, SWITCH_S))
        gc.callbacks.append(self._note_collection)
        self._notes.start()
        begin_listing()
        self._thread = threading.Thread(target=self._sample, name="line-sampler", daemon=True)
        self._thread.start()

    @property
    def delays(self) -> list[tuple[int, ...]]:
        """Return a row a look: when it ended; how long the thread had run; how long it, and of the others the one that
        waited the longest, had waited for a core; how long the look kept the interpreter; how long the one of the
        others that ran the longest had run: nanoseconds; and whether the thread slept."""
        return self._delays

    def stop(self) -> None:
        """End sampling; without a start nothing happens."""
        if self._thread is None:
            return
        self._ended.set()
        self._thread.join(LONGEST_END_S)
        still_reading, self._thread = self._thread.is_alive(), None
        self._modes = list_modes()
        if not still_reading:
            self._queues.close()
        gc.callbacks.remove(self._note_collection)
        self._notes.stop()
        sys.setswitchinterval(self._switch_s)

    def write_samples(self, path: Path, calm_steps: Sequence[tuple[int, int]] = ()) -> None:
        """Write what was seen until the first call: frames by number, stacks of them from the outermost, and when each
        stack was seen; and what steps took that were not recorded, and waited for a core: recording takes a time of its
        own."""
        self._content = self._content or self._describe()
        content = {**self._content, "calm_steps": list(calm_steps)}
        path.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")

    def _describe(self) -> dict[str, object]:
        numbers: dict[tuple[str, int, str], int] = {}
        stacks = []
        for stack in self._stacks:
            frames = [(code.co_filename, find_line(code, at), name_function(code)) for code, at in reversed(stack)]
            stacks.append([numbers.setdefault(frame, len(numbers)) for frame in frames])
        calls = []
        for begin, length, code, at, *called in self._notes.calls:
            frame = (code.co_filename, find_line(code, at), name_function(code))
            calls.append((begin, length, numbers.setdefault(frame, len(numbers)), *called))
        return {
            "version": 1,
            "pid": os.getpid(),
            "tid": self._native_id,
            "interval_ns": round(1e9 * INTERVAL_S),
            "frames": list(numbers),
            "stacks": stacks,
            "samples": self._samples,
            "collections": self._collections,
            "calls": calls,
            "delays": self._delays,
            "tools": list_tools(),
            "modes": [
                (name, code.co_filename, find_line(code, at), name_function(code), file)
                for name, code, at, file in self._modes
            ],
            "others": [
                (code.co_filename, find_line(code, at), name_function(code), count)
                for (code, at), count in self._others.items()
            ],
            "never_used": self._notes.list_never_used(),
            "ended_early": self._ended_early,
        }

    def _sample(self) -> None:
        try:
            while not self._ended.wait(INTERVAL_S):
                self._look()
        except Exception as error:  # noqa: BLE001 - the script goes on; what was not seen from here on is told of
            self._ended_early = f"{type(error).__name__}: {error}"

    def _look(self) -> None:
        if len(self._delays) % FIND_THREADS == 0:
            self._queues.find_threads()
        begin = time.time_ns()
        with keep_garbage():
            frames = sys._current_frames()
        frame = frames.pop(self._thread_id, None)
        if frame is not None:
            self._keep_stack(frame)
        *usage, others_ran = self._queues.read_usage()
        before_ns, before_ran, *_ = self._delays[-1] if self._delays else (begin, usage[0])
        rests = 2 * (usage[0] - before_ran) < begin - before_ns
        asleep = rests and self._queues.is_asleep()
        now = time.time_ns()
        self._delays.append((now, *usage, now - begin, others_ran, int(asleep)))
        if len(self._delays) % LOOK_AT_OTHERS == 0:  # it gives the interpreter away
            self._keep_others(frames, now)

    def _keep_others(self, frames: dict[int, FrameType], now_ns: int) -> None:
        """Keep where other threads of the script run that have had a core for a part of the time. It may end at any
        moment: its clock is a file that is then gone."""
        frames.pop(threading.get_ident(), None)
        threads: dict[int, threading.Thread] = getattr(threading, "_active", {})  # enumerate() waits for a lock
        for number, frame in frames.items():
            with keep_garbage():
                place = find_own_code(frame)
            thread = threads.get(number)
            if place is None or thread is None or thread.native_id is None:
                continue
            words = read_words(f"/proc/self/task/{thread.native_id}/schedstat")
            if not words:
                continue
            before, ran_ns = self._ran.get(thread.native_id), int(words[0])
            self._ran[thread.native_id] = (now_ns, ran_ns)
            if before is not None and RUNS * (ran_ns - before[1]) >= now_ns - before[0]:
                key = (place.f_code, place.f_lasti)
                self._others[key] = self._others.get(key, 0) + LOOK_AT_OTHERS

    def _keep_own_stack(self) -> None:
        """Keep the stack below a collection: there is none where C collects and no Python runs below it."""
        if threading.get_ident() == self._thread_id:
            self._keep_stack(sys._getframe())

    def _keep_stack(self, frame: FrameType | None) -> None:
        stack: list[tuple[CodeType, int]] = []
        now = time.time_ns()
        with keep_garbage():
            while frame is not None and len(stack) < DEEPEST:
                if not frame.f_code.co_filename.startswith(OURS):
                    stack.append((frame.f_code, frame.f_lasti))
                frame = frame.f_back
        if stack:
            key = tuple(stack)
            self._samples.append((now, self._stacks.setdefault(key, len(self._stacks))))

    def _note_collection(self, phase: str, info: dict[str, Any]) -> None:
        """Note a collection, and the stack at both its ends: no thread is seen while one goes on."""
        now = time.time_ns()
        if phase == "start":
            self._collecting_since = now
            if info["generation"] == OLDEST:
                self._keep_own_stack()
        elif now - self._collecting_since >= SHORTEST_NS:
            self._collections.append((self._collecting_since, now - self._collecting_since, info["generation"]))
            self._keep_own_stack()
