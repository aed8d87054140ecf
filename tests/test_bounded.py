"""The time limit holds whatever the child does; what it said before is kept."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from helpers import bounded


def test_output_and_code() -> None:
    done = bounded.run(["sh", "-c", "echo out; echo first >&2; echo last >&2; exit 3"], timeout_s=10)
    assert (done.code, done.stdout, done.timed_out, done.last_error) == (3, "out\n", False, "last")


def test_a_hanging_grandchild_that_holds_the_pipes() -> None:
    began = time.monotonic()
    done = bounded.run(["sh", "-c", "echo before; sleep 60 & wait"], timeout_s=0.3)
    assert done.timed_out and done.stdout == "before\n"
    assert time.monotonic() - began < 30


def test_a_grandchild_that_left_the_group_cannot_hold_us() -> None:
    """setsid leaves the killed group, as a daemon would, and keeps the pipe open."""
    began = time.monotonic()
    done = bounded.run(["sh", "-c", "echo before; setsid sleep 20 & wait"], timeout_s=0.3)
    assert done.timed_out and done.stdout == "before\n"
    assert time.monotonic() - began < 15


def test_a_signal_is_a_negative_code() -> None:
    assert bounded.run(["sh", "-c", "kill -SEGV $$"], timeout_s=10).code == -11


def test_bytes_that_are_no_text() -> None:
    assert bounded.run(["printf", r"\377ok"], timeout_s=10).stdout.endswith("ok")


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        bounded.run([str(tmp_path / "nothing")], timeout_s=1)
