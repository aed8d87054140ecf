"""The benchmark of a class stops at once where its students' users cannot reach what they need."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks import classroom


def test_whoever_stays_who_they_are_can_start(tmp_path: Path) -> None:
    assert classroom.unreachable({}) == ""
    missing = classroom.unreachable({}, script=tmp_path / "none.py")
    assert str(tmp_path / "none.py") in missing and "No such file" in missing


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    told = classroom.unreachable({}, python=str(tmp_path / "python"))
    assert str(tmp_path / "python") in told and "that all users can reach" in told


def test_it_ends_before_anyone_starts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(classroom, "unreachable", lambda become: "The students' users cannot start it.")
    monkeypatch.setattr(classroom, "crowd", lambda *given: pytest.fail("a student was started"))
    monkeypatch.setattr(sys, "argv", ["classroom.py", "--users", "1"])
    assert classroom.main() == 2
    assert capsys.readouterr().err == "The students' users cannot start it.\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_closed_folder(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "python").symlink_to(sys.executable)
    told = classroom.unreachable(classroom.user_of(0), python=str(closed / "python"))
    assert "Permission denied" in told and str(closed / "python") in told
