"""Compiled libraries: made once and kept, safely by several processes, and never needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ascend_workbook.machine import native

needs_compiler = pytest.mark.skipif(native.find_compiler() is None, reason="no C++ compiler")
FUNCTION = 'extern "C" __attribute__((visibility("default"))) int answer() { return %s; }\n'


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(native.SWITCH, raising=False)
    native.load_library.cache_clear()
    yield tmp_path / "prefix" / "share" / "ascend-workbook" / "native"
    native.load_library.cache_clear()


def source(tmp_path: Path, value: str = "41 + 1") -> Path:
    path = tmp_path / "answer.cpp"
    path.write_text(FUNCTION % value)
    return path


def answer(found: native.Native) -> int:
    assert found.library is not None, found.why
    return int(found.library.answer())


@needs_compiler
def test_it_is_compiled_once_and_again_when_its_source_changes(tmp_path: Path, place: Path) -> None:
    assert answer(native.load_library(source(tmp_path))) == 42
    (made,) = place.iterdir()
    before = made.stat().st_mtime_ns
    native.load_library.cache_clear()
    assert answer(native.load_library(source(tmp_path))) == 42 and made.stat().st_mtime_ns == before
    native.load_library.cache_clear()
    assert answer(native.load_library(source(tmp_path, "7"))) == 7 and len(list(place.iterdir())) == 2


@needs_compiler
def test_a_header_beside_it_is_part_of_it(tmp_path: Path) -> None:
    path = source(tmp_path, "VALUE")
    for value in (7, 8):
        path.write_text(f'#include "value.h"\n{FUNCTION % "VALUE"}')
        (tmp_path / "value.h").write_text(f"#define VALUE {value}\n")
        native.load_library.cache_clear()
        assert answer(native.load_library(path)) == value


@needs_compiler
def test_processes_that_compile_at_once_leave_one_whole_library(tmp_path: Path, place: Path) -> None:
    code = (
        "import sys; sys.prefix = sys.argv[2]; from pathlib import Path; from ascend_workbook.machine import native; "
        "print(native.load_library(Path(sys.argv[1])).library.answer())"
    )
    command = [sys.executable, "-c", code, str(source(tmp_path)), str(tmp_path / "prefix")]
    with ThreadPoolExecutor(3) as pool:
        told = list(
            pool.map(
                lambda _: (
                    subprocess.run(command, capture_output=True, text=True, cwd=native.ROOT.parent, check=True).stdout
                ),
                range(3),
            )
        )
    assert told == ["42\n"] * 3 and len(list(place.iterdir())) == 1


@needs_compiler
def test_an_environment_that_cannot_be_written_leaves_it_to_the_cache(tmp_path: Path, place: Path) -> None:
    (tmp_path / "prefix").write_text("a file where a folder should be")
    assert answer(native.load_library(source(tmp_path))) == 42
    assert len(list((tmp_path / "cache" / "ascend-workbook" / "native").iterdir())) == 1


@needs_compiler
def test_no_place_at_all_is_told(tmp_path: Path) -> None:
    for name in ("prefix", "cache"):
        (tmp_path / name).write_text("a file where a folder should be")
    found = native.load_library(source(tmp_path))
    assert found.library is None and found.why is not None and found.why.key == "native.unusable"


@needs_compiler
def test_a_compiler_that_fails_is_told_with_its_first_error_and_leaves_nothing(tmp_path: Path, place: Path) -> None:
    found = native.load_library(source(tmp_path, "nothing_of_this_name"))
    assert found.library is None and found.why is not None and "nothing_of_this_name" in found.why.message("en")
    assert list(place.iterdir()) == []


@needs_compiler
def test_a_library_that_is_broken_is_told(tmp_path: Path, place: Path) -> None:
    path = source(tmp_path)
    place.mkdir(parents=True)
    (place / f"answer.{native._compute_digest(path.read_bytes())}.so").write_bytes(b"no library")
    found = native.load_library(source(tmp_path))
    assert found.library is None and found.why is not None and found.why.key == "native.unusable"


def test_without_a_compiler_python_does_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "find_compiler", lambda: None)
    found = native.load_library(source(tmp_path))
    assert found.library is None and found.why is not None and found.why.key == "native.no_compiler"


def test_it_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.SWITCH, "0")
    found = native.load_library(source(tmp_path))
    assert found.library is None and found.why is not None and native.SWITCH in found.why.message("zh")


@needs_compiler
def test_every_source_of_ours_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    native.main()
    told = capsys.readouterr().out.splitlines()
    assert all(line.endswith(": ready") for line in told), told
