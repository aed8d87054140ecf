"""Memory: what is free, and a process that the system itself killed for want of it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_workbook.batch.campaign import attempt, local
from tests.batch.campaign.conftest import Start, ended, item
from tests.conftest import ROOT

#: For a runner, two runs' processes and their kernels, one of which wants more.
LIMIT = 700 << 20


@contextlib.contextmanager
def bounded_group() -> Iterator[Path]:
    """A cgroup with a bound on memory; skips where none can be made."""
    for base, bound in ((attempt.CGROUPS / "memory", "memory.limit_in_bytes"), (attempt.CGROUPS, "memory.max")):
        group = base / f"workbook-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / bound).write_text(str(LIMIT))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    pytest.skip("no cgroup with a bound on memory can be made here")


@pytest.mark.full
def test_a_process_that_the_system_killed_is_told_as_out_of_memory(start: Start) -> None:
    """No bound of the plan's: the kernel of the system ends the notebook's, and the other run goes on."""
    with bounded_group() as group:
        words = [str(start.folder.parent), str(start.books), json.dumps({"workers": 1}), "devours-a", "good"]
        into = f'echo $$ > {group}/cgroup.procs && exec {sys.executable} -m tests.batch.campaign.starting "$@"'
        done = subprocess.run(["sh", "-c", into, "sh", *words], cwd=ROOT, capture_output=True, text=True, timeout=120)
    runs = ended(start.folder)
    assert done.returncode == 0, done.stderr
    assert runs["devours-a"].state == "out_of_memory" and runs["good"].state == "good"
    assert runs["devours-a"].verdict["say"] == "plan.oom_killed"  # type: ignore[index, call-overload]
    assert runs["devours-a"].attempts == 2, "a killed kernel is tried again"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"proc": "0::/a/b\n", "a/b/memory.events": "oom 3\noom_kill 2\noom_group_kill 0\n"}, 2),
        ({"proc": "5:cpu:/\n4:memory:/a\n0::/\n", "memory/a/memory.oom_control": "under_oom 0\noom_kill 7\n"}, 7),
    ],
)
def test_the_counter_of_kills(
    files: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(files, tmp_path, monkeypatch)
    assert attempt.count_oom_kills() == expected


def test_what_is_free_is_what_the_narrowest_group_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mib = 1 << 20
    files = {
        "proc": "0::/a/b\n",
        "a/b/memory.max": "max\n",
        "a/b/memory.current": f"{mib}\n",
        "a/memory.max": f"{100 * mib}\n",
        "a/memory.current": f"{40 * mib}\n",
    }
    lay(files, tmp_path, monkeypatch)
    assert attempt.free_mb() == 60


def lay(files: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of /sys/fs/cgroup, and what /proc/self/cgroup says."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    real = attempt._read_text
    monkeypatch.setattr(attempt, "CGROUPS", folder)
    monkeypatch.setattr(
        attempt, "_read_text", lambda path: real(folder / "proc" if str(path).startswith("/proc") else path)
    )


def test_what_processes_share_counts_once_where_it_decides() -> None:
    """A child that has the same pages as its parent, as a data loader's workers have."""
    code = "import os, sys; kept = bytearray(120 << 20); os.fork(); print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdout.readline()
        process.stdout.readline()
        both = attempt.processes_below(process.pid)
        assert len(both) == 2
        plain, decided = attempt.measure_memory_mb(both), attempt.measure_memory_mb(both, limit_mb=200)
        process.stdin.close()
    assert plain > 240 and 120 <= decided < 180


@pytest.mark.full
def test_a_run_waits_for_memory_while_another_goes_and_one_alone_never_does(
    monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    monkeypatch.setattr(local, "free_mb", lambda: 100)
    runs, lines = start([item("good-a"), item("good-b")], workers=2)
    assert [run.state for run in runs.values()] == ["good", "good"]
    assert any(line.startswith("good-b: waits for memory: 100 MiB free") for line in lines)
    ends = [number for number, line in enumerate(lines) if "good-a: good" in line]
    assert ends and ends[0] < next(number for number, line in enumerate(lines) if "good-b: started" in line)
