"""Which lines of the script the host is at, while its steps are recorded: the training thread's call stack, looked at
about every millisecond from a thread beside it, every collection of Python's garbage, and every call that waits for the
device or for other processes: these are too short to be met by chance, and each has its line.

The profilers' own call stacks take a time with every Python call: a step of many short calls takes several times as
long, and the profile shows the recording. This one costs the same whatever the script does. Written beside the data
(`rank0.lines.json`); profiling/readers/lines.py reads it. Imports nothing of the workbook."""

from __future__ import annotations

import functools
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

INTERVAL_S = 0.001
#: While it samples: a thread that computes in Python alone hands over so often, else it would be seen late or never
SWITCH_S = 0.0005
#: Frames of one stack that are kept, the innermost ones, and collections that are told of
DEEPEST, SHORTEST_NS = 60, 20_000
#: The generation of garbage whose collection looks at every object
OLDEST = 2
#: Our own frames below and above the script's
OURS = str(Path(__file__).parents[2]) + os.sep

#: Calls whose lines are noted: of torch.Tensor, and of torch.distributed
READS = ("item", "tolist", "nonzero", "cpu", "numpy", "__bool__", "__float__", "__int__")
COLLECTIVES = (
    *("all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor"),
    *("broadcast", "all_to_all_single", "barrier"),
)

Stack = tuple[tuple[CodeType, int], ...]


class LineSampler:
    """Samples the thread that makes it, from `start` to `stop`; `write_samples` then says what was seen."""

    def __init__(self) -> None:
        self._thread_id, self._native_id = threading.get_ident(), threading.get_native_id()
        self._samples: list[tuple[int, int]] = []
        self._stacks: dict[Stack, int] = {}
        self._collections: list[tuple[int, int, int]] = []
        self._collecting_since = 0
        self._calls: list[tuple[int, int, CodeType, int]] = []
        self._replaced: list[tuple[Any, str, Any, bool]] = []
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._switch_s = sys.getswitchinterval()

    def start(self) -> None:
        """Begin to sample, in a thread of its own."""
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switch_s, SWITCH_S))
        gc.callbacks.append(self._note_collection)
        self._note_calls()
        self._thread = threading.Thread(target=self._sample, name="line-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End sampling; without a start nothing happens."""
        if self._thread is None:
            return
        self._ended.set()
        self._thread.join()
        self._thread = None
        gc.callbacks.remove(self._note_collection)
        for owner, name, original, own in reversed(self._replaced):
            setattr(owner, name, original) if own else delattr(owner, name)
        self._replaced.clear()
        sys.setswitchinterval(self._switch_s)

    def write_samples(self, path: Path) -> None:
        """Write what was seen: frames by number, stacks of them from the outermost, and when each stack was seen."""
        numbers: dict[tuple[str, int, str], int] = {}
        stacks = []
        for stack in self._stacks:
            frames = [(code.co_filename, find_line(code, at), code.co_name) for code, at in reversed(stack)]
            stacks.append([numbers.setdefault(frame, len(numbers)) for frame in frames])
        calls = []
        for begin, length, code, at in self._calls:
            frame = (code.co_filename, find_line(code, at), code.co_name)
            calls.append((begin, length, numbers.setdefault(frame, len(numbers))))
        content = {
            "version": 1,
            "pid": os.getpid(),
            "tid": self._native_id,
            "interval_ns": round(1e9 * INTERVAL_S),
            "frames": list(numbers),
            "stacks": stacks,
            "samples": self._samples,
            "collections": self._collections,
            "calls": calls,
        }
        path.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")

    def _note_calls(self) -> None:
        """Replace calls that wait by such as note their lines; a module that is not loaded is not."""
        torch = sys.modules.get("torch")
        tensor = getattr(torch, "Tensor", None)
        for owner, names in ((tensor, READS), (sys.modules.get("torch.distributed"), COLLECTIVES)):
            for name in names if owner is not None else ():
                call = getattr(owner, name, None)
                if call is not None:
                    self._replaced.append((owner, name, call, name in vars(owner)))
                    setattr(owner, name, self._note_call(call))

    def _note_call(self, call: Any) -> Any:
        calls, ours = self._calls, self._thread_id

        @functools.wraps(call)
        def call_and_note(*args: Any, **kwargs: Any) -> Any:
            begin = time.time_ns()
            try:
                return call(*args, **kwargs)
            finally:
                if threading.get_ident() == ours:
                    frame = sys._getframe(1)
                    calls.append((begin, time.time_ns() - begin, frame.f_code, frame.f_lasti))

        return call_and_note

    def _sample(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            frame = sys._current_frames().get(self._thread_id)
            if frame is not None:
                self._keep_stack(frame)

    def _keep_stack(self, frame: FrameType | None) -> None:
        stack: list[tuple[CodeType, int]] = []
        now = time.time_ns()
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
            if info["generation"] == OLDEST and threading.get_ident() == self._thread_id:
                self._keep_stack(sys._getframe(1))
        elif now - self._collecting_since >= SHORTEST_NS:
            self._collections.append((self._collecting_since, now - self._collecting_since, info["generation"]))
            if threading.get_ident() == self._thread_id:
                self._keep_stack(sys._getframe(1))


def find_line(code: CodeType, at: int) -> int:
    """Return the line of an instruction of a function."""
    line = code.co_firstlineno
    if hasattr(code, "co_lines"):
        for begin, end, number in code.co_lines():
            if begin <= at < end:
                return line if number is None else int(number)
        return line
    import dis  # Python 3.9

    for begin, number in dis.findlinestarts(code):
        if begin > at:
            break
        line = number
    return line
