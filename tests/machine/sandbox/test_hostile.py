"""Thirty-odd hostile programs: nothing outside their results changes, nothing leaves, nothing lives on, all is told."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import sandbox
from ascend_workbook.machine.launch import LaunchSpec, launch
from ascend_workbook.machine.sandbox import LANDLOCK, NAMESPACES, Account, Enclosure
from ascend_workbook.machine.sandbox.child import linux

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="name spaces and Landlock are Linux's")
TOKEN = "precious content"
#: Each program finds: precious (a folder of the user's), results, port, udp, unix, abstract, parent (a process).
START = """
import ctypes, os, pathlib, shutil, signal, socket, struct, subprocess, sys, threading, time
precious, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
port, udp, unix, abstract, parent = int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], sys.argv[6], int(sys.argv[7])
file = precious / "weights.pt"
libc = ctypes.CDLL(None, use_errno=True)
"""
#: name -> (program, the kinds of change that the account must show of the precious folder)
FILES = {
    "delete a file by its absolute path": ("file.unlink()", {"deleted"}),
    "delete the whole folder": ("shutil.rmtree(precious)", {"deleted"}),
    "overwrite in place": ("f = file.open('r+b'); f.write(b'gone'); f.flush()", {"changed"}),
    "truncate": ("os.truncate(file, 0)", {"changed"}),
    "append": ("open(file, 'a').write('more')", {"changed"}),
    "rename over": ("(results / 'x').write_text('x'); shutil.move(str(results / 'x'), str(file))", {"changed"}),
    "rename the folder away": (
        "os.rename(precious / 'weights.pt', precious / 'elsewhere')",
        {"deleted", "made"},
    ),
    "write through a memory map": (
        "import mmap; f = file.open('r+b'); m = mmap.mmap(f.fileno(), 0); m[:4] = b'gone'; m.flush()",
        {"changed"},
    ),
    "a program of another language": (
        "subprocess.run(['sh', '-c', f'rm -rf {precious}/*; echo gone > {precious}/weights.pt'])",
        {"changed"},
    ),
    "through a symbolic link in the results": (
        "(results / 'way').symlink_to(precious); (results / 'way' / 'weights.pt').unlink()",
        {"deleted"},
    ),
    "through a hard link": (
        "os.link(file, precious / 'second'); open(precious / 'second', 'w').write('gone')",
        {"changed", "made"},
    ),
    "through /proc/self/root": ("open('/proc/self/root' + str(file), 'w').write('gone')", {"changed"}),
    "through /proc/self/cwd": ("os.chdir(precious); open('/proc/self/cwd/weights.pt', 'w').write('x')", {"changed"}),
    "by a descriptor of the folder": (
        "d = os.open(precious, os.O_RDONLY); os.unlink('weights.pt', dir_fd=d)",
        {"deleted"},
    ),
    "a race of links": (
        """
def swap():
    for _ in range(300):
        try:
            (results / 'race').unlink(missing_ok=True); (results / 'race').symlink_to(file)
            (results / 'race').unlink(missing_ok=True); (results / 'race').write_text('own')
        except OSError: pass
t = threading.Thread(target=swap); t.start()
for _ in range(300):
    try: open(results / 'race', 'w').write('gone')
    except OSError: pass
t.join(); file.write_text('gone')""",
        {"changed"},
    ),
    "change rights and times": ("os.chmod(file, 0o777); os.utime(file, (0, 0))", {"changed"}),
    "extended attributes": ("os.setxattr(file, 'user.x', b'1')", {"changed"}),
    "a hook of a repository": (
        "h = precious / '.git/hooks'; h.mkdir(parents=True); (h / 'post-checkout').write_text('#!/bin/sh')",
        {"made"},
    ),
    "what a shell reads first": ("open(pathlib.Path.home() / '.bashrc', 'a').write('evil')", {"made"}),
    "within a name space of his own": (
        "libc.unshare(0x10000000 | 0x20000)\nlibc.mount(b'none', str(precious).encode(), b'tmpfs', 0, None)\n"
        "libc.umount2(str(precious).encode(), 2); file.write_text('gone')",
        {"changed"},
    ),
    "mount over it": (
        "libc.mount(b'none', str(precious).encode(), b'tmpfs', 0, None); libc.umount2(str(precious).encode(), 2)\n"
        "libc.unshare(0x10020000); libc.mount(b'none', b'/', None, 16384 | (1 << 18), None)\n"
        "libc.umount2(str(precious).encode(), 2); file.write_text('gone')",
        {"changed"},
    ),
    "climb out by chroot": (
        "os.mkdir('c')\n"
        "try: os.chroot('c')\n"
        "except OSError: pass\n"
        "[os.chdir('..') for _ in range(50)]\n"
        "try: os.chroot('.')\n"
        "except OSError: pass\n"
        "file.write_text('gone')",
        {"changed"},
    ),
}
OTHERS = {
    "kill the parent": "os.kill(parent, signal.SIGKILL)",
    "kill all": "os.kill(-1, signal.SIGKILL)",
    "stop the watching process": "os.kill(os.getppid(), signal.SIGSTOP); os.kill(1, signal.SIGKILL)",
    "ptrace the parent": "assert libc.ptrace(16, parent, 0, 0) == -1",
    "write the parent's memory": "open(f'/proc/{parent}/mem', 'r+b')",
    "read the parent's environment": "open(f'/proc/{parent}/environ').read()",
    "tcp to this machine": "socket.create_connection(('127.0.0.1', port), 2).sendall(b'secret')",
    "tcp to another machine": "socket.create_connection(('192.0.2.1', 80), 2)",
    "udp": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    "[s.sendto(b'secret', (a, udp)) for a in ('127.0.0.1', '192.0.2.1')]",
    "a name to look up": "socket.getaddrinfo('example.com', 80)",
    "a socket that is a file": "s = socket.socket(socket.AF_UNIX); s.connect(unix); s.sendall(b'secret')",
    "an abstract socket": "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + abstract); s.sendall(b'secret')",
    "settings of the kernel": "open('/proc/sys/kernel/domainname', 'w').write('gone')",
    "sysrq": "open('/proc/sysrq-trigger', 'w').write('h')",
    "the disk's device": "[open(d, 'r+b') for d in ('/dev/sda', '/dev/vda', '/dev/mem', '/dev/kmsg')]",
    "make a device": "os.mknod('disk', 0o60666, os.makedev(8, 0)); open('disk', 'rb').read(1)",
    "the clock": "time.clock_settime(time.CLOCK_REALTIME, 0)",
    "the host's name": "socket.sethostname('gone')",
    "the modes of devices": "for name in ('null', 'zero', 'urandom'):\n"
    "    try: os.chmod(f'/dev/{name}', 0)\n"
    "    except OSError as error: print(error)",
    "the owners of devices": "os.chown('/dev/null', 1, 1)",
    "keys of the session": "assert libc.syscall(248 if os.uname().machine == 'x86_64' else 217, b'user', b'hostile', "
    "b'x', 1, -3) == -1",
    "io_uring": "assert libc.syscall(425, 8, ctypes.create_string_buffer(120)) == -1",
    "fanotify": "assert libc.fanotify_init(0, 0) == -1",
    "letters into a terminal": "import fcntl; [fcntl.ioctl(d, 0x5412, b'x') for d in (0, 1, 2)]",
    "its own group and session": "os.killpg(os.getpgid(os.getppid()), signal.SIGKILL)",
    "what is loaded into every program": "open('/etc/ld.so.preload', 'w').write('/evil.so')",
    "a module for every python": "import sysconfig\n"
    "pathlib.Path(sysconfig.get_path('purelib'), 'evil.pth').write_text('x')",
    "watch the folder": "d = libc.inotify_init1(0); libc.inotify_add_watch(d, str(precious).encode(), 0xfff); "
    "(precious / 'notes.txt').write_text('gone')",
    "a port of its own for all": "s = socket.create_server(('0.0.0.0', 0)); s.settimeout(1); s.accept()",
    "credentials of the home folder": "sys.exit(7 if (pathlib.Path.home() / '.ssh/id_rsa').read_text() else 0)",
    "the keys of object storage": "sys.exit(7 if (pathlib.Path.home() / '.obs').read_text() else 0)",
}


#: Of these Landlock knows nothing: its sentence before a run says so.
OPEN_UNDER_LANDLOCK = (
    "change rights and times",
    "extended attributes",
    "tcp to",
    "udp",
    "a name",
    "a socket",
    "a port",
)
#: Who runs the enclosure: this user, root in most containers; and one without any rights.
NOBODY = 12345
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
USERS = (None, NOBODY) if IS_ROOT else (None,)


@dataclass
class Victim:
    """What must come to no harm, and where what leaves would arrive."""

    precious: Path
    results: Path
    folder: Path
    sockets: tuple[socket.socket, ...]
    arguments: list[str]
    user: int | None = None
    output: str = ""

    def attack(self, program: str, guard: str, **limits: object) -> Account:
        script = self.results.parent / "attack.py"
        script.write_text(START + program)
        enclosure = Enclosure((self.results,), **{"seconds": 60.0, **limits})  # type: ignore[arg-type]
        python = sys.executable if self.user is None else find_python()
        command = [python, str(script), *self.arguments]
        wrapped = sandbox.enclose_command(command, enclosure, guard, self.results, self.folder)
        become: dict[str, Any] = {}
        if self.user is not None:
            wrapped = [python, "-I", "-S", str(self.results.parent / "enclose" / "enclose.py"), *wrapped[4:]]
            for path in (self.folder, *self.folder.iterdir()):
                os.chown(path, self.user, self.user)
            become = {"user": self.user, "group": self.user, "extra_groups": []}
        done = subprocess.run(
            wrapped, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False, text=True, **become
        )
        self.output = done.stdout
        return sandbox.read_account(self.folder)

    def list_reached(self) -> list[socket.socket]:
        """List the sockets that something waits at: none is ever read, so all that a program has sent is there."""
        return select.select(self.sockets, [], [], 0)[0]

    def assert_unharmed(self) -> None:
        assert {path.name: path.read_text() for path in self.precious.iterdir()} == {
            "weights.pt": TOKEN,
            "notes.txt": TOKEN,
        }
        facts = (self.precious / "weights.pt").stat()
        assert facts.st_mode & 0o777 == 0o644 and facts.st_mtime_ns == 1_600_000_000_000_000_000
        assert os.listxattr(self.precious / "weights.pt") == []
        assert not self.list_reached()
        assert not (self.folder / "layers").exists()
        assert not (self.results.parent / "home" / ".bashrc").exists()
        assert not Path(sysconfig.get_path("purelib"), "evil.pth").exists() and not Path("/etc/ld.so.preload").exists()
        for name in ("null", "zero", "urandom"):
            facts = Path("/dev", name).stat()
            assert (facts.st_mode & 0o777, facts.st_uid) == (0o666, 0)


def find_python() -> str:
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no python3 that everyone may run")
    return python


@pytest.fixture(params=USERS, ids=lambda user: "user" if user else "self")
def victim(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Victim]:
    with tempfile.TemporaryDirectory(prefix="hostile_", dir="/var/tmp") as name:
        yield from make_victim(Path(name), request.param, monkeypatch)


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> Iterator[Victim]:
    with tempfile.TemporaryDirectory(prefix="hostile_", dir="/var/tmp") as name:
        yield from make_victim(Path(name), None, monkeypatch)


def make_victim(place: Path, user: int | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Victim]:
    precious, results = place / "precious", place / "results"
    for folder in (precious, results, place / "home" / ".ssh", place / "enclose"):
        folder.mkdir(parents=True)
    for name in ("weights.pt", "notes.txt"):
        (precious / name).write_text(TOKEN)
        (precious / name).chmod(0o644)
        os.utime(precious / name, ns=(1_600_000_000_000_000_000, 1_600_000_000_000_000_000))
    for file in sandbox.ENCLOSE.parent.glob("*.py"):
        shutil.copy(file, place / "enclose")
    home = place / "home"
    (home / ".ssh" / "id_rsa").write_text("KEYTEXT")
    (home / ".obs").write_text("OBS_SECRET_ACCESS_KEY=KEYTEXT\n")
    if user is not None:
        for path in [place, *place.rglob("*")]:
            os.chown(path, user, user)
    monkeypatch.setenv("HOME", str(home))
    bystander = subprocess.Popen(["sleep", "600"], **({} if user is None else {"user": user, "group": user}))  # type: ignore[call-overload]
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        unix_path = place / "u.sock"
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(unix_path))
        unix_path.chmod(0o777)
        unix.listen()
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        name = f"hostile{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen()
        arguments = [str(precious), str(results), str(tcp.getsockname()[1]), str(udp.getsockname()[1])]
        arguments += [str(unix_path), name, str(bystander.pid)]
        yield Victim(precious, results, place / "enclosure", (tcp, udp, unix, abstract), arguments, user)
    alive = bystander.poll() is None
    bystander.kill()
    bystander.wait()
    assert alive, "a process outside was ended"


def needs(guard: str) -> None:
    if sandbox.GUARDS.index(sandbox.find_guard()) > sandbox.GUARDS.index(guard):
        pytest.skip(f"this machine does not allow the guard {guard}")


@pytest.mark.parametrize("name", FILES)
def test_files_outside_stay_and_the_account_tells(name: str, victim: Victim) -> None:
    needs(NAMESPACES)
    program, kinds = FILES[name]
    account = victim.attack(program, NAMESPACES)
    victim.assert_unharmed()
    tried = {change.kind for change in account.changes if change.path.startswith(str(victim.precious.parent))}
    assert kinds <= tried, victim.output


@pytest.mark.parametrize("name", [name for name in (*FILES, *OTHERS) if not name.startswith(OPEN_UNDER_LANDLOCK)])
def test_under_landlock_nothing_outside_is_touched(name: str, victim: Victim) -> None:
    needs(LANDLOCK)
    if linux.landlock_version() < 6 and ("kill" in name or "abstract" in name or "group" in name):
        pytest.skip("signals and abstract sockets are Landlock's since Linux 6.12")
    if IS_ROOT and (name in ("kill all", "the clock", "the host's name") or "devices" in name):
        pytest.skip("root keeps these rights: the sentence before a run says so")
    account = victim.attack(FILES[name][0] if name in FILES else OTHERS[name], LANDLOCK)
    victim.assert_unharmed()
    assert account.code != 7


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_leaves_and_nothing_outside_is_touched(name: str, victim: Victim) -> None:
    needs(NAMESPACES)
    before = (socket.gethostname(), Path("/proc/sys/kernel/domainname").read_text())
    account = victim.attack(OTHERS[name], NAMESPACES)
    victim.assert_unharmed()
    assert account.code != 7 and "AssertionError" not in victim.output
    assert before == (socket.gethostname(), Path("/proc/sys/kernel/domainname").read_text())
    assert abs(time.time() - time.monotonic() - _clock_offset) < 60
    if name in ("tcp to another machine", "udp"):
        assert account.refused_sends >= 1
    if name == "what is loaded into every program" and IS_ROOT and victim.user is None:
        assert "/etc/ld.so.preload" in [change.path for change in account.changes]


_clock_offset = time.time() - time.monotonic()


def test_a_fork_bomb_ends(victim: Victim) -> None:
    needs(NAMESPACES)
    account = victim.attack("while True: os.fork()", NAMESPACES, processes=100)
    assert account.cut == "processes"
    victim.assert_unharmed()


def test_a_disk_is_not_filled(victim: Victim) -> None:
    needs(NAMESPACES)
    program = "f = open('/var/tmp/big', 'wb')\nwhile True: f.write(os.urandom(1 << 20)); f.flush()"
    account = victim.attack(program, NAMESPACES, disk_mib=64)
    assert account.cut == "disk" or account.code != 0
    assert not Path("/var/tmp/big").exists()


def test_a_disk_is_not_filled_by_many_small_files_in_the_results(victim: Victim) -> None:
    needs(NAMESPACES)
    program = "n = 0\nwhile True: open(f'r{n}', 'wb').write(bytes(1 << 20)); n += 1"
    assert victim.attack(program, NAMESPACES, disk_mib=64).cut == "disk"


def test_memory_is_bounded(victim: Victim) -> None:
    needs(NAMESPACES)
    program = "keep = []\nwhile True: keep.append(bytearray(os.urandom(1 << 20)) * 8); time.sleep(0.01)"
    assert victim.attack(program, NAMESPACES, memory_mib=300).cut == "memory"


@pytest.mark.parametrize("guard", [NAMESPACES, LANDLOCK])
def test_a_daemon_does_not_live_on(guard: str, victim: Victim) -> None:
    needs(guard)
    mark = f"9{os.getpid()}.25"
    program = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execvp('sleep', ['sleep', '{mark}'])
    os._exit(0)
time.sleep(0.3)
"""
    account = victim.attack(program, guard)
    assert account.code == 0
    assert mark not in subprocess.run(["ps", "ax"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("guard", [NAMESPACES, LANDLOCK])
def test_a_stubborn_loop_ends_in_time(guard: str, victim: Victim) -> None:
    needs(guard)
    program = "[signal.signal(s, signal.SIG_IGN) for s in (2, 15, 1)]\nwhile True: pass"
    began = time.monotonic()
    assert victim.attack(program, guard, seconds=1.0).cut == "time"
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("guard", [NAMESPACES, LANDLOCK])
def test_who_ends_the_enclosure_ends_all(sign: int, guard: str, ours: Victim) -> None:
    needs(guard)
    mark = f"8{os.getpid()}.25"
    command = ["sh", "-c", f"sleep {mark} & touch started; sleep {mark}"]
    wrapped = sandbox.enclose_command(command, Enclosure((ours.results,)), guard, ours.results, ours.folder)
    process = subprocess.Popen(wrapped)
    deadline = time.monotonic() + 30
    while not (ours.results / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(sign)
    process.wait(20)
    deadline = time.monotonic() + 10
    while mark in subprocess.run(["ps", "ax"], capture_output=True, text=True, check=True).stdout:
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.1)


@pytest.mark.parametrize("guard", [NAMESPACES, LANDLOCK])
def test_who_started_the_enclosure_and_is_gone_before_it_looks_ends_all(guard: str, ours: Victim) -> None:
    needs(guard)
    mark = f"8{os.getpid()}.5"
    program = f"""
import os, pathlib, subprocess
from ascend_workbook.machine import sandbox
results, folder = pathlib.Path({str(ours.results)!r}), pathlib.Path({str(ours.folder)!r})
command = ["sh", "-c", "touch started; sleep {mark}"]
subprocess.Popen(sandbox.enclose_command(command, sandbox.Enclosure((results,)), {guard!r}, results, folder))
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    deadline = time.monotonic() + 10
    while ours.folder.exists():  # it is removed at the end where nobody is left to read it
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.1)
    assert mark not in subprocess.run(["ps", "ax"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("guard", [NAMESPACES, LANDLOCK, sandbox.NONE])
def test_a_program_that_a_signal_ends_is_told_from_one_that_exits(guard: str, ours: Victim) -> None:
    needs(guard)
    assert ours.attack("os.kill(os.getpid(), signal.SIGSEGV)", guard).code == -signal.SIGSEGV
    assert ours.attack("sys.exit(139)", guard).code == 139
    command = sandbox.enclose_command(["sh", "-c", "kill -15 $$"], Enclosure(()), guard, ours.results, ours.folder)
    assert subprocess.run(command, check=False).returncode == -signal.SIGTERM


def test_results_leave_and_the_machine_is_seen_as_it_is(victim: Victim) -> None:
    needs(NAMESPACES)
    program = """
assert file.read_text() == 'precious content'
file.write_text('mine'); assert file.read_text() == 'mine'
(results / 'deep').mkdir(); (results / 'deep' / 'x').write_text('42')
import multiprocessing.pool
print(multiprocessing.pool.ThreadPool(2).map(abs, [-1]))
a, b = socket.socketpair(); s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname(), 2)
sys.exit(5)
"""
    account = victim.attack(program, NAMESPACES)
    victim.assert_unharmed()
    assert (account.code, account.cut) == (5, "")
    assert (victim.results / "deep" / "x").read_text() == "42"
    assert account.refused_sends == 0


def test_the_network_is_there_where_it_was_asked_for(victim: Victim) -> None:
    needs(NAMESPACES)
    victim.attack(OTHERS["tcp to this machine"], NAMESPACES, network=True)
    assert len(victim.list_reached()) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to become someone else")
@pytest.mark.parametrize("user", [65534, 1234])
def test_someone_else_than_root_is_enclosed_too(user: int) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv")
    home = Path("/var/tmp") / f"guard{os.getpid()}"
    (home / "results").mkdir(parents=True)
    (home / "enclose").mkdir()
    try:
        for file in sandbox.ENCLOSE.parent.glob("*.py"):
            shutil.copy(file, home / "enclose")
        command = ["sh", "-c", f"rm -rf {home}/kept; echo x > {home}/made; touch in"]
        (home / "kept").write_text(TOKEN)
        wrapped = sandbox.enclose_command(command, Enclosure((home / "results",)), NAMESPACES, home / "results", home)
        for path in [home, *home.rglob("*")]:
            os.chown(path, user, user)
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
        if python is None:
            pytest.skip("no python3 that everyone may run")
        become = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
        enclose = [python, "-I", "-S", str(home / "enclose" / "enclose.py"), *wrapped[4:]]
        subprocess.run([*become, *enclose], timeout=60, check=True)
        account = sandbox.read_account(home)
        assert (home / "kept").read_text() == TOKEN and not (home / "made").exists()
        assert (home / "results" / "in").exists()
        assert {change.kind for change in account.changes} == {"deleted", "made"}
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to become someone else")
@pytest.mark.parametrize("guard", [NAMESPACES, LANDLOCK, sandbox.NONE])
def test_root_has_a_program_run_as_someone_else(guard: str) -> None:
    needs(guard)
    home = Path("/var/tmp") / f"user{os.getpid()}"
    results = home / "results"
    results.mkdir(parents=True)
    try:
        os.chown(results, 1234, 4321)
        (home / "secret").write_text(TOKEN)
        (home / "secret").chmod(0o600)
        lines = ["id -u >who; id -g >>who; id -G >>who; grep -E 'CapPrm|CapEff' /proc/self/status >>who"]
        lines += ["t=$(mktemp) && echo temporary >>who; cat ../secret && echo read >>who; test ! -w / && echo no >>who"]
        enclosure = Enclosure((results,), user=1234, group=4321)
        command = ["sh", "-c", "; ".join(lines)]
        subprocess.run(sandbox.enclose_command(command, enclosure, guard, results, home / "layers"), timeout=60)
        account = sandbox.read_account(home / "layers")
        rights = ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000"]
        assert (results / "who").read_text().splitlines() == ["1234", "4321", "4321", *rights, "temporary", "no"]
        assert account.code == 0 and (results / "who").stat().st_uid == 1234
    finally:
        shutil.rmtree(home, ignore_errors=True)


def test_links_and_pipes_left_in_the_results_do_no_harm(ours: Victim, tmp_path: Path) -> None:
    needs(NAMESPACES)
    precious = ours.precious / "notes.txt"
    script = tmp_path / "leave.py"
    script.write_text(
        f"import os, pathlib\n"
        f"out = pathlib.Path({str(ours.results)!r})\n"
        f"(out / 'output.log').unlink()\n"
        f"(out / 'output.log').symlink_to({str(precious)!r})\n"
        f"os.mkfifo(out / 'gpulog.spawned0.json')\n"
        f"print('gone')\n"
    )
    for _ in range(2):
        with pytest.raises(WorkbookError, match="no regular file"):
            launch(LaunchSpec(out=ours.results, script=script, timeout_s=60, enclosure=Enclosure(())))
    ours.assert_unharmed()


def test_a_comma_in_the_path_of_the_results_takes_no_layer_away(ours: Victim, tmp_path: Path) -> None:
    needs(NAMESPACES)
    results = tmp_path / "lr=0.1,bs=8:x" / "results"
    results.mkdir(parents=True)
    command = ["sh", "-c", f"echo gone > {ours.precious}/weights.pt; echo 1 > in"]
    wrapped = sandbox.enclose_command(command, Enclosure((results,)), NAMESPACES, results, results.parent / "layers")
    done = subprocess.run(wrapped, check=False, timeout=60)
    account = sandbox.read_account(results.parent / "layers")
    assert done.returncode == 0, account
    assert [change.kind for change in account.changes if change.path.startswith(str(ours.precious))] == ["changed"]
    assert (results / "in").exists() and (ours.precious / "weights.pt").read_text() == TOKEN


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone has these rights")
def test_root_under_landlock_makes_no_device_and_changes_no_setting(victim: Victim) -> None:
    needs(LANDLOCK)
    for program in (
        "os.mknod(results / 'disk', 0o60666, os.makedev(8, 0))",
        "open('/proc/sys/kernel/core_pattern', 'r+')",
        "open('/proc/irq/default_smp_affinity', 'r+')",
    ):
        assert victim.attack(program, LANDLOCK).code == 1, program
    assert not (victim.results / "disk").exists()


def test_owners_rights_are_taken_from_what_is_left_in_the_results(victim: Victim) -> None:
    program = "shutil.copy('/bin/sh', 'shell'); os.chmod('shell', 0o6755); os.link('shell', 'second')"
    for guard in (NAMESPACES, LANDLOCK):
        needs(guard)
        account = victim.attack(program, guard)
        assert (victim.results / "shell").stat().st_mode & 0o7777 == 0o755
        assert "set-user-id" in {change.kind for change in account.changes}
        for name in ("shell", "second"):
            (victim.results / name).unlink()


def test_shared_memory_is_bounded(victim: Victim) -> None:
    needs(NAMESPACES)
    program = "f = open('/dev/shm/big', 'wb')\nfor _ in range(99): f.write(bytes(1 << 20)); f.flush()"
    account = victim.attack(program, NAMESPACES, memory_mib=50)
    assert account.code == 1 and "No space left" in victim.output


def test_processor_time_is_counted_over_all_processes(victim: Victim) -> None:
    needs(NAMESPACES)
    program = "os.fork()\nwhile True: pass"
    for guard in (NAMESPACES, sandbox.NONE):
        account = victim.attack(program, guard, cpu_seconds=2.0)
        assert account.cut == "cpu" and account.code == -signal.SIGKILL


def test_a_fresh_home_is_empty_and_goes(victim: Victim) -> None:
    program = """
home = pathlib.Path.home()
assert not list(home.iterdir()) and home == pathlib.Path(os.environ['HOME']) and home.parent == results
(home / '.cache').mkdir(); (home / '.cache' / 'x').write_text('1')
import tempfile; tempfile.mkstemp()
"""
    for guard in sandbox.GUARDS:
        needs(guard)
        assert victim.attack(program, guard, fresh_home=True).code == 0, victim.output
        assert not list(victim.results.iterdir())


def test_hidden_folders_are_closed(victim: Victim) -> None:
    program = "sys.exit(7 if file.exists() and file.read_text() else 0)"
    for guard in (NAMESPACES, LANDLOCK):
        needs(guard)
        assert victim.attack(program, guard, hidden=(victim.precious,)).code != 7
        assert victim.attack(program, guard).code == 7
    account = victim.attack("(precious / 'new').write_text('x')", NAMESPACES, hidden=(victim.precious,))
    victim.assert_unharmed()
    assert not account.failed


def test_a_name_that_is_looked_up_at_the_machines_own_resolver_counts(victim: Victim) -> None:
    needs(NAMESPACES)
    program = "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.53', 53))"
    assert victim.attack(program, NAMESPACES).refused_sends == 1


@pytest.mark.skipif(not IS_ROOT, reason="others may not write there anyway")
def test_files_directly_in_a_folder_that_holds_mounts_are_layered_and_listed(ours: Victim) -> None:
    needs(NAMESPACES)
    name = f"/hostile-{os.getpid()}"
    account = ours.attack(f"open({name!r}, 'w').write('x'); assert open({name!r}).read() == 'x'", NAMESPACES)
    assert account.code == 0 and not Path(name).exists()
    assert [(change.kind, change.path) for change in account.changes] == [("made", name)]
    assert "/" not in account.read_only


@pytest.mark.skipif(not IS_ROOT or shutil.which("unshare") is None, reason="needs root, to mount")
def test_a_mount_below_a_folder_that_a_user_cannot_list_does_not_stop_his_enclosure(ours: Victim) -> None:
    needs(NAMESPACES)
    victim = ours
    for path in (victim.results, victim.results.parent):
        os.chown(path, NOBODY, NOBODY)
    closed = victim.precious / "closed"
    (closed / "disk").mkdir(parents=True)
    closed.chmod(0o700)
    command = ["sh", "-c", f"echo x > {victim.results}/in; echo x > {victim.precious}/weights.pt; ls {closed}"]
    wrapped = sandbox.enclose_command(command, Enclosure((victim.results,)), NAMESPACES, victim.results, victim.folder)
    for path in (victim.folder, *victim.folder.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    as_user = f'mount -t tmpfs none {closed}/disk; exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "$@"'
    enclose = [find_python(), "-I", "-S", str(victim.results.parent / "enclose" / "enclose.py"), *wrapped[4:]]
    subprocess.run(["unshare", "-m", "sh", "-c", as_user, "-", *enclose], timeout=60, check=False)
    assert sandbox.read_account(victim.folder).failed == ""
    assert (victim.results / "in").exists()


@pytest.mark.skipif(not IS_ROOT, reason="needs root, to forbid name spaces to itself")
def test_where_name_spaces_are_refused_what_remains_is_named_before_the_run(ours: Victim) -> None:
    needs(LANDLOCK)
    program = f"""
import os, sys
sys.path.insert(0, {str(sandbox.ENCLOSE.parent)!r})
import linux
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    linux.unshare(linux.CLONE_NEWUSER)
    os.write(write, b"1"); time_to_go = os.read(0, 0)
    import time; time.sleep(1)
    open("/proc/sys/user/max_user_namespaces", "w").write("0")
    from ascend_workbook.findings.sentence import say
    from ascend_workbook.machine.launch.enclosed import announce_guard
    from ascend_workbook.machine.sandbox import find_guard
    sentence = announce_guard(find_guard(), copied=True)
    for lang in ("en", "zh"):
        print(sentence.key, say(sentence.key, lang, **sentence.args), flush=True)
    os._exit(0)
os.read(read, 1)
for kind in ("uid", "gid"):
    open(f"/proc/{{pid}}/{{kind}}_map", "w").write("0 0 4294967295\\n")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    assert all(line.startswith("sandbox.before_landlock") and "unshare" in line for line in lines)


@pytest.mark.parametrize("guard", [NAMESPACES, LANDLOCK])
def test_what_is_hidden_cannot_be_read_and_what_lies_beside_it_can(tmp_path: Path, guard: str) -> None:
    if guard not in sandbox.GUARDS or not sandbox._works(guard):
        pytest.skip(f"the machine has no {guard}")
    results, secret = tmp_path / "results", tmp_path / "secret"
    for folder in (results, secret):
        folder.mkdir()
    (secret / "key").write_text(TOKEN)
    (tmp_path / "open").write_text("for all")
    program = (
        "import pathlib, sys\nout = []\n"
        "for path in sys.argv[1:]:\n try: out.append(pathlib.Path(path).read_text())\n"
        " except OSError: out.append('-')\n"
        "pathlib.Path('seen').write_text('|'.join(out))"
    )
    command = [sys.executable, "-c", program, str(secret / "key"), str(tmp_path / "open"), sys.executable + ".none"]
    with sandbox.enclose(command, Enclosure((results,), hidden=(secret,), guard=guard), results) as enclosed:
        subprocess.run(enclosed.command, check=True)
    assert (results / "seen").read_text() == "-|for all|-"


@pytest.mark.full  # every entry of the folder for temporary files gets a layer: a minute where there are many
@pytest.mark.skipif(not IS_ROOT or shutil.which("unshare") is None, reason="needs root, to mount")
def test_folders_that_others_take_away_meanwhile_stop_no_enclosure(ours: Victim, tmp_path: Path) -> None:
    """Beside a mount they are made anew one by one, while another process makes and removes them."""
    needs(NAMESPACES)
    shared = tmp_path / "shared"
    (shared / "disk").mkdir(parents=True)
    names = [str(shared / f"gone{number}") for number in range(12)]
    churn = f"import os\nwhile True:\n for p in {names!r}:\n  os.mkdir(p)\n for p in {names!r}:\n  os.rmdir(p)\n"
    others = subprocess.Popen([sys.executable, "-c", churn])
    try:
        for number in range(3):
            results, layers = tmp_path / f"results{number}", tmp_path / f"layers{number}"
            results.mkdir()
            wrapped = sandbox.enclose_command(["true"], Enclosure((results,)), NAMESPACES, results, layers)
            mounted = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none {shared}/disk; exec "$@"', "-", *wrapped]
            done = subprocess.run(mounted, check=False, timeout=60)
            assert done.returncode == 0, sandbox.read_account(layers)
    finally:
        others.kill()
        others.wait()
