"""Streams and events: everything happens at once and in order, so they only keep the time."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from . import places


class Stream:
    """Work is done when it is given."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device_index = places.index_of(device)
        self.priority = priority
        self.cuda_stream = 0

    def wait_stream(self, stream: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def record_event(self, event: Any = None) -> Any:
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None: ...


class Event:
    """Reads the clock when recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **kwargs: Any):
        self._timing = enable_timing
        self._recorded_s: float | None = None

    def record(self, stream: Any = None) -> None:
        self._recorded_s = time.perf_counter()

    def wait(self, stream: Any = None) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, end_event: Any) -> float:
        """Return milliseconds."""
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded_s is None or end_event._recorded_s is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return float((end_event._recorded_s - self._recorded_s) * 1e3)


_default: list[Stream] = []


def _default_stream(device: Any = None) -> Stream:
    if not _default:
        _default.append(Stream())
    return _default[0]


def clock_answers() -> dict[str, Any]:
    """Return torch.cuda's streams and events by their names."""
    return {
        "Stream": Stream,
        "ExternalStream": Stream,
        "Event": Event,
        "StreamContext": contextlib.nullcontext,
        "stream": contextlib.nullcontext,
        "set_stream": lambda stream: None,
        "current_stream": _default_stream,
        "default_stream": _default_stream,
        "synchronize": lambda device=None: None,
    }
