"""Runs a command that dies, or meets a full or broken disk, at the nth thing that it writes below a folder.

`fault.c` is preloaded into the command and all its children; what it counts is said there. `attack` is the whole test
of one point: the command is cut off, then what it left is judged, then it runs again and must end as if nothing had
been. A new command needs an `Attack`, and `choose_points` says where.
"""

from __future__ import annotations

import atexit
import dataclasses
import functools
import hashlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT

SOURCE = Path(__file__).with_name("fault.c")
#: The same order as in fault.c
FAULTS = ("count", "kill-group", "kill-process", "ENOSPC", "EIO")
KILLS, DISKS = FAULTS[1:3], FAULTS[3:]
STATE = struct.Struct("LLlll")
#: How long what the command started may outlive it.
ORPHAN_S = 10.0
#: What no message of ours may hold: an error that names no file, and what Python prints of a defect.
NEVER = ("error: :", "错误：：", "错误: :", "Traceback (most recent call last)")


@dataclasses.dataclass(frozen=True)
class Point:
    """One operation below the folder, as fault.c counted it."""

    number: int
    process: int
    operation: str
    path: str


@dataclasses.dataclass(frozen=True)
class Ended:
    """A command that has ended, and whether its fault happened."""

    code: int
    output: str
    hit: int
    points: tuple[Point, ...]
    left: tuple[str, ...]  # processes that outlived it by ORPHAN_S


@dataclasses.dataclass(frozen=True)
class Attack:
    """A command, and what must hold whatever happens to it. Each callable gets the folder that is watched."""

    #: Words of the command; `{here}` in them is the folder, `{name}` its name. The first is a program, or
    #: `ascend-workbook`.
    words: tuple[str, ...]
    prepare: Callable[[Path], None]
    #: Raises AssertionError unless the folder holds the right result of a command that succeeded.
    check_result: Callable[[Path], None]
    #: Raises AssertionError where something half is taken as good: after the fault, before the command runs again.
    check_between: Callable[[Path], None] = lambda here: None
    #: Files that must have the same bytes at all times, as patterns below the folder.
    originals: tuple[str, ...] = ()
    #: Exit codes of a command that succeeds, and of one that a disk refused.
    good: tuple[int, ...] = (0,)
    refused: tuple[int, ...] = (1, 2)
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    timeout_s: float = 300.0


@functools.cache
def build_library() -> Path:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler (cc, gcc, clang): the faults of the disk are a C library that is preloaded")
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / "fault.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(library), str(SOURCE), "-ldl"], check=True, timeout=120
    )
    return library


def run_to_point(
    words: Sequence[str],
    folder: Path,
    number: int = 0,
    fault: str = "count",
    *,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 300.0,
) -> Ended:
    """Run a command whose `number`th point below the folder (from 1; 0: none) fails so; wait until all of it is gone.

    The command stands in a session of its own, so that its group is what a terminal or a scheduler would end.
    """
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="faults-") as own:
        state, log = Path(own, f"state-{mark}"), Path(own, "log")
        state.write_bytes(STATE.pack(0, number, FAULTS.index(fault), 0, 0))
        surroundings = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            **(env or {}),
            "LD_PRELOAD": str(build_library()),
            "FAULTS_FOLDER": str(folder),
            "FAULTS_STATE": str(state),
            "FAULTS_LOG": str(log),
        }
        with Path(own, "output").open("w+b") as output:
            process = subprocess.Popen(
                expand(words, folder),
                cwd=ROOT,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                end_processes(mark, folder)
                output.seek(0)
                said = output.read().decode(errors="replace")
                raise AssertionError(f"{words} with {fault} at {number} did not end in {timeout_s} s: {said}") from None
            left = wait_for_processes(mark, folder)
            output.seek(0)
            text = output.read().decode(errors="replace")
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        parts = [line.split("\t", 3) for line in lines]
        points = tuple(Point(int(part[0]), int(part[1]), part[2], part[3]) for part in parts if len(part) == 4)
        return Ended(code, text, STATE.unpack(state.read_bytes())[4], points, left)


def expand(words: Sequence[str], folder: Path) -> list[str]:
    full = [word.replace("{here}", str(folder)).replace("{name}", folder.name) for word in words]
    return [sys.executable, "-m", "ascend_workbook", *full[1:]] if full[0] == "ascend-workbook" else full


def count_points(words: Sequence[str], folder: Path, *, env: Mapping[str, str] | None = None) -> tuple[Point, ...]:
    """Run the command whole; its points in their order."""
    return run_to_point(words, folder, env=env).points


def choose_points(points: Sequence[Point], most: int) -> list[int]:
    """Numbers of at most so many points, spread evenly; the first and the last are among them."""
    if len(points) <= most:
        return [point.number for point in points]
    return sorted({round(1 + index * (len(points) - 1) / max(most - 1, 1)) for index in range(most)})


def hash_files(folder: Path, patterns: Sequence[str] = ("**/*",)) -> dict[str, str]:
    """SHA-256 of each file below a folder that fits a pattern, by name."""
    files = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file() and not path.is_symlink()}
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def prepare_folder(attack: Attack, root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir()
    attack.prepare(folder)
    return folder


def attack_points(attack: Attack, root: Path, fault: str, most: int) -> int:
    """At most so many points of a command, each in a folder of its own; how many of them were hit. All that did not
    hold is raised together."""
    counted = run_to_point(attack.words, prepare_folder(attack, root, "whole"), env=attack.env)
    assert counted.code in attack.good, counted.output
    attack.check_result(root / "whole")
    numbers, hits, failures = choose_points(counted.points, most), 0, []
    for number in numbers:
        try:
            hits += attack_point(attack, prepare_folder(attack, root, f"{number}"), number, fault).hit > 0
        except AssertionError as error:
            failures.append(str(error))
        else:
            shutil.rmtree(root / f"{number}")
    assert not failures, f"{len(failures)} points:\n" + "\n----\n".join(failures)
    # a command may write less the second time, and a rename takes no room: but a fault that never comes tests nothing
    assert hits >= (len(numbers) / 2 if fault in KILLS else 1), f"{hits} of {len(numbers)} points were hit"
    return hits


def attack_point(attack: Attack, folder: Path, number: int, fault: str) -> Ended:
    """One point of a prepared folder: the fault, what it left, and the command again. Raises AssertionError."""
    before = hash_files(folder, attack.originals)
    ended = run_to_point(attack.words, folder, number, fault, env=attack.env, timeout_s=attack.timeout_s)
    where = f"{fault} at {number}: {[point for point in ended.points if point.number == number]}\n{ended.output}"
    assert not ended.left, f"processes outlived it: {ended.left}; {where}"
    assert hash_files(folder, attack.originals) == before, f"an original changed; {where}"
    if fault in DISKS and ended.hit:
        check_refusal(attack, folder, ended, where)
    elif not ended.hit:  # fewer points than when they were counted
        assert ended.code in attack.good, where
    try:
        attack.check_between(folder)
        again = run_to_point(attack.words, folder, env=attack.env, timeout_s=attack.timeout_s)
        assert again.code in attack.good and not again.left, f"{again.code} {again.left} {again.output}"
        attack.check_result(folder)
    except AssertionError as error:
        raise AssertionError(f"{error}\n-- after {where}") from error
    assert hash_files(folder, attack.originals) == before, f"an original changed when it ran again; {where}"
    return ended


def check_refusal(attack: Attack, folder: Path, ended: Ended, where: str) -> None:
    """A refused disk is one clear error, or it cost nothing of the result."""
    assert not any(text in ended.output for text in NEVER), where
    if ended.code in attack.good:
        attack.check_result(folder)
    else:
        assert ended.code in attack.refused, where
        assert ended.output.strip(), f"not a word; {where}"


def find_processes(*signs: object) -> list[int]:
    """Processes in whose environment or command line one of these stands: a mark, which a command that clears its
    children's environment takes off them, or a folder, where their home is then."""
    numbers = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if state != "Z" and any(str(sign).encode() in words for sign in signs):
                numbers.append(int(entry.name))
    return numbers


def wait_for_processes(*signs: object) -> tuple[str, ...]:
    """What is still there after ORPHAN_S, as command lines; it is ended then."""
    end = time.monotonic() + ORPHAN_S
    while (numbers := find_processes(*signs)) and time.monotonic() < end:
        time.sleep(0.05)
    lines = []
    for number in numbers:
        try:
            lines.append(Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    end_processes(*signs)
    return tuple(lines)


def end_processes(*signs: object) -> None:
    for number in find_processes(*signs):
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            continue
