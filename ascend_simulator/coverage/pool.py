"""Children that check entries, one per core; a child that dies or hangs costs the entry it was at, and is replaced."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from ascend_simulator.coverage.entries import Entry, Request
from ascend_simulator.errors import SimulatorError

WORKER = Path(__file__).with_name("child") / "worker.py"
#: An entry takes well under a second; the start of a child some ten on a busy machine.
TIMEOUT_S = 180.0
#: One thread each, so that a sum has the same order everywhere.
PINNED = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}


class Child:
    """One process; `ask_child` sends a line and waits for the answer's line, None where it died or hung instead."""

    def __init__(self, env: dict[str, str], *arguments: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER), *arguments],
            env={**env, **PINNED},
            text=True,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )

    def ask_child(self, request: Request | None) -> dict[str, Any] | None:
        assert self._process.stdin and self._process.stdout
        watch = threading.Timer(TIMEOUT_S, self.kill_group)
        watch.start()
        try:
            if request is not None:
                self._process.stdin.write(json.dumps(request.to_dict()) + "\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        answer: dict[str, Any] | None = json.loads(line) if line else None
        return answer

    def wait_for_end(self) -> str:
        """Return how it ended: the signal's name or the exit code, and the last line it wrote."""
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", errors="replace").strip().splitlines()
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        fatal = [line for line in lines if line.startswith("Fatal Python error")] or lines[-1:]
        return f"{name}: {fatal[0]}" if fatal else name

    def kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close_child(self) -> None:
        self.kill_group()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class Pool:
    """`with Pool(env, workers) as pool`: every child is gone at the end."""

    def __init__(self, env: dict[str, str], workers: int) -> None:
        self._env, self._workers = env, workers
        self._children: list[Child] = []
        self._closed = False

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        for child in self._children:
            child.close_child()

    def _start_child(self, *arguments: str) -> Child:
        child = Child(self._env, *arguments)
        self._children.append(child)
        return child

    def list_entries(self) -> dict[str, Any]:
        """Return what the database holds and what the simulator says of its operators.

        The child goes on as a worker.
        """
        child = self._start_child("--list")
        answer = child.ask_child(None)
        if answer is None:
            raise SimulatorError("coverage.no_child", error=child.wait_for_end())
        return answer

    def run_requests(self, requests: Sequence[Request]) -> Iterator[Entry]:
        """Yield an entry for each request, in the order in which they are done."""
        waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        for request in requests:
            waiting.put(request)
        done: queue.SimpleQueue[Entry] = queue.SimpleQueue()
        for number in range(min(self._workers, len(requests))):
            child = self._children[number] if number < len(self._children) else None
            threading.Thread(target=self._serve_requests, args=(child, waiting, done), daemon=True).start()
        for _ in requests:
            yield done.get()

    def _serve_requests(
        self, child: Child | None, waiting: queue.SimpleQueue[Request], done: queue.SimpleQueue[Entry]
    ) -> None:
        while not self._closed:
            try:
                request = waiting.get_nowait()
            except queue.Empty:
                return
            child = child or self._start_child()
            answer = child.ask_child(request)
            if answer is None:
                done.put(Entry(request, "crashed", child.wait_for_end()))
                child = None
            else:
                operators, second = tuple(answer.get("operators", ())), answer.get("second", "")
                done.put(Entry(request, answer["outcome"], answer["reason"], operators, second))
