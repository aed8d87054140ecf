"""Gets the answer out of what a student handed over: plain data, or a function that returns it.

The function is the student's and runs in the notebook's process: whatever it raises, prints or loops over becomes a
sentence. Scripts never run here; their tasks start a child (see running.py).
"""

from __future__ import annotations

import contextlib
import io
import signal
import threading
from collections.abc import Iterator
from typing import Any

from ascend_workbook.findings.sentence import Sentence
from course.patience import patient_limit

SECONDS = 10.0
#: More than this printed by an answer is cut off, and is no answer.
PRINTED = 100_000


class _Stopped(BaseException):
    """Not an Exception: a student's `except Exception` shall not keep it."""

    def __init__(self, why: Sentence) -> None:
        super().__init__()
        self.why = why


class _Limited(io.StringIO):
    """A standard output that ends whoever writes without end."""

    def write(self, text: str) -> int:
        if self.tell() + len(text) > PRINTED:
            raise _Stopped(Sentence("course.trouble.printed", characters=PRINTED))
        return super().write(text)


def resolve_answer(answer: Any, seconds: float | None = None) -> tuple[Any, Sentence | None]:
    """Return (the answer, None), or (None, why there is none). An answer that is None is no answer. An answer that is
    None is no answer.
    """
    if callable(answer):
        answer, trouble = _call_answer(answer, patient_limit(SECONDS) if seconds is None else seconds)
        if trouble:
            return None, trouble
    return answer, Sentence("course.trouble.none") if answer is None else None


def _call_answer(function: Any, seconds: float) -> tuple[Any, Sentence | None]:
    try:
        with _limit_time(seconds), contextlib.redirect_stdout(_Limited()):
            return function(), None
    except _Stopped as stopped:
        return None, stopped.why
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the student's code: whatever it raises is told
        if isinstance(error, NotImplementedError) and not error.args:  # with words it is an operator that is not there
            return None, Sentence("course.trouble.stub")
        return None, Sentence("course.trouble.raised", error=f"{type(error).__name__}: {error}"[:300])


@contextlib.contextmanager
def _limit_time(seconds: float) -> Iterator[None]:
    """End what runs too long; only a main thread can be interrupted, others run as long as they run."""

    def raise_stopped(*_: object) -> None:
        raise _Stopped(Sentence("course.trouble.slow", seconds=seconds))

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, raise_stopped)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
