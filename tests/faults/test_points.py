"""The faults are where they are said to be: counted in a process and its children, and each ends as it is named."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import points
from tests.faults.points import KILLS, Attack, Point, attack_point, choose_points, count_points, run_to_point

WRITES = """
import os, subprocess, sys, pathlib
here = pathlib.Path(sys.argv[1])
(here / "a.part").write_bytes(b"0123456789")
(here / "a.part").rename(here / "a")
pathlib.Path(sys.argv[2]).write_bytes(b"not below the folder")
subprocess.run([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('from a child')", str(here / "b")])
with open(here / "a", "r+b", 0) as stream:
    os.fsync(stream.fileno())
    stream.truncate(3)
    os.pwrite(stream.fileno(), b"x", 0)
os.link(here / "a", here / "c")
os.remove(here / "a")
"""
#: Without the endings of what the C library calls the same: open64, renameat
COUNTED = "open a.part, write a.part, rename a, open b, write b, fsync a, ftruncate a, pwrite a, link c, unlink a"


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "w").mkdir()
    return (sys.executable, "-c", WRITES, "{here}", str(tmp_path / "elsewhere"))


def test_each_operation_below_the_folder_is_a_point(words: tuple[str, ...], tmp_path: Path) -> None:
    counted = count_points(words, tmp_path / "w")
    names = [f"{point.operation.removesuffix('64').removesuffix('at')} {Path(point.path).name}" for point in counted]
    assert [point.number for point in counted] == list(range(1, 11))
    assert names == COUNTED.split(", ")
    processes = [point.process for point in counted]
    assert processes[3] == processes[4] != processes[0] and len(set(processes)) == 2


@pytest.mark.parametrize("fault", KILLS)
def test_a_kill_comes_before_the_operation_or_in_half_of_a_write(
    words: tuple[str, ...], tmp_path: Path, fault: str
) -> None:
    here = tmp_path / "w"
    ended = run_to_point(words, here, 2, fault)
    assert (ended.code, ended.hit) == (-9, 1) and (here / "a.part").read_bytes() == b"01234"
    ended = run_to_point(words, here, 3, fault)
    assert (ended.code, ended.hit) == (-9, 1) and (here / "a.part").exists() and not (here / "a").exists()


@pytest.mark.parametrize(("fault", "code"), [("kill-group", -9), ("kill-process", 0)])
def test_a_kill_in_a_child_takes_the_group_or_the_child(
    words: tuple[str, ...], tmp_path: Path, fault: str, code: int
) -> None:
    ended = run_to_point(words, tmp_path / "w", 5, fault)
    assert (ended.code, ended.hit) == (code, 1)
    assert (tmp_path / "w" / "b").read_text() == "from a" and (tmp_path / "w" / "c").exists() == (code == 0)


def test_a_full_disk_cuts_a_write_and_stays_full(tmp_path: Path) -> None:
    program = """
import os, sys
file = os.open(sys.argv[1] + "/a", os.O_CREAT | os.O_WRONLY)
print(os.write(file, b"0123456789"))
os.rename(sys.argv[1] + "/a", sys.argv[1] + "/b")  # takes no room
for attempt in range(2):
    try:
        os.write(file, b"0123456789")
    except OSError as error:
        print(error.errno)
"""
    ended = run_to_point((sys.executable, "-c", program, "{here}"), tmp_path, 2, "ENOSPC")
    assert ended.output.split() == ["5", "28", "28"] and ended.hit == 3 and (tmp_path / "b").read_bytes() == b"01234"


def test_an_input_output_error_comes_once(words: tuple[str, ...], tmp_path: Path) -> None:
    ended = run_to_point(words, tmp_path / "w", 3, "EIO")
    assert ended.code == 1 and "[Errno 5]" in ended.output and ended.hit == 1
    (tmp_path / "w" / "a").write_bytes(b"")
    ended = run_to_point(words, tmp_path / "w", 4, "EIO")
    assert ended.code == 0 and "[Errno 5]" in ended.output and ended.hit == 1


def test_programs_of_the_system_are_counted_too(tmp_path: Path) -> None:
    (tmp_path / "from").write_bytes(b"x" * 100)
    ended = run_to_point(("cp", "{here}/from", "{here}/to"), tmp_path, 1, "ENOSPC")
    assert ended.code == 1 and ended.hit and "No space left" in ended.output


def test_what_outlives_a_command_is_named_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "ORPHAN_S", 0.3)
    program = "import subprocess; subprocess.Popen(['sleep', '77.7'], start_new_session=True)"
    ended = run_to_point((sys.executable, "-c", program), tmp_path)
    assert [line.split()[-1] for line in ended.left] == ["77.7"]
    cleared = program.replace("True)", f"True, env={{'HOME': {str(tmp_path / 'home')!r}}})")
    ended = run_to_point((sys.executable, "-c", cleared), tmp_path)
    assert [line.split()[-1] for line in ended.left] == ["77.7"]
    assert run_to_point((sys.executable, "-c", ""), tmp_path).left == ()


def test_points_are_spread_from_the_first_to_the_last() -> None:
    every = [Point(number, 1, "write", "a") for number in range(1, 101)]
    assert choose_points(every[:3], 5) == [1, 2, 3]
    assert choose_points(every, 4) == [1, 34, 67, 100] and choose_points(every, 1) == [1]


COPY = """
import pathlib, sys
here = pathlib.Path(sys.argv[1])
data = (here / "from").read_bytes()
try:
    %s
except OSError as error:
    sys.exit(%s)
"""
ASIDE = '(here / "part").write_bytes(data); (here / "part").rename(here / "to")'
STRAIGHT = '(here / "to").write_bytes(data)'
CASES: dict[str, tuple[str, str, int, str, str]] = {
    "half under a final name": (STRAIGHT, "2", 2, "kill-group", "half"),
    "an original": ('(here / "from").write_bytes(b"12"); ' + STRAIGHT, "2", 2, "kill-group", "original changed"),
    "an error without a file": (ASIDE, "'error: : full'", 2, "ENOSPC", "error: :"),
    "a good end without a result": (ASIDE, "0", 2, "ENOSPC", "to"),
    "a code of its own": (ASIDE, "7", 2, "ENOSPC", "ENOSPC at 2"),
    "not a word": (ASIDE, "2", 1, "EIO", "not a word"),
}


@pytest.mark.parametrize("case", CASES, ids=[name.replace(" ", "-") for name in CASES])
def test_what_an_attack_must_see(tmp_path: Path, case: str) -> None:
    action, answer, number, fault, words = CASES[case]
    attack = make_copy(action, answer, lambda here: None)
    (tmp_path / "from").write_bytes(b"0123")
    with pytest.raises(AssertionError, match=words):
        attack_point(attack, tmp_path, number, fault)


@pytest.mark.parametrize("fault", ["kill-group", "kill-process", "ENOSPC", "EIO"])
def test_a_command_that_writes_aside_withstands_it(tmp_path: Path, fault: str) -> None:
    for number in (1, 2, 3):  # a rename takes no room
        (tmp_path / "from").write_bytes(b"0123")
        ended = attack_point(make_copy(ASIDE, "f'{error}'", lambda here: None), tmp_path, number, fault)
        assert ended.hit or (fault, number) == ("ENOSPC", 3)


def make_copy(action: str, answer: str, prepare: Callable[[Path], None]) -> Attack:
    def check_result(here: Path) -> None:
        assert (here / "to").exists() and (here / "to").read_bytes() == b"0123", "to"

    def check_between(here: Path) -> None:
        assert not (here / "to").exists() or (here / "to").read_bytes() == b"0123", "half"

    words = (sys.executable, "-c", COPY % (action, answer), "{here}")
    return Attack(words, prepare, check_result, check_between, originals=("from",))
