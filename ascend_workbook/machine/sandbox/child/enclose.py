"""Runs a command where it can change nothing but what it was given: `python -I -S enclose.py SPEC.json COMMAND`.

With name spaces (guard "namespaces") every file system is covered by a layer of its own: the command sees the machine
as it is, may write and delete anywhere, and what it did stays in the layers, to be listed and thrown away. It has its
own process list, no network unless asked, few devices and no rights over the machine. With Landlock (guard "landlock")
the kernel refuses changes outside the writable places. The process that is started here watches: time, bytes written,
memory, processor time and number of processes; when it ends, or who started it ends, all that the command started
ends.

Only the standard library: it runs before anything of the user's, by the interpreter alone.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import socket
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parent))
import linux  # type: ignore[import-not-found]  # beside this file; there is no package around it

#: Between two looks at the processes, in seconds; and how much longer than a look: looking takes 2 % of a core at most.
POLL_S, LONGEST_POLL_S, PATIENCE = 0.2, 2.0, 50
LEAST_PIDS = 1024
MIB = 1 << 20
#: Files of a folder that holds mounts lie in its layer as copies; larger ones are seen, and read-only.
LARGEST_COPY, MOST_COPIED = 16 * MIB, 64 * MIB
#: What of /dev an enclosed program gets: these, and the accelerators' own.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
ACCELERATORS = ("davinci", "devmm_svm", "hisi_hdc", "nvidia", "kfd", "dri")
#: Of /proc: what changes or shows the machine itself.
READ_ONLY_PROC = ("sys", "irq", "bus", "fs", "scsi", "acpi")
SEALED_PROC = ("sysrq-trigger", "kcore", "keys", "timer_list")
#: Folders of running services: their sockets would be a way out.
SERVICES = ("/run", "/var/run")
EXIT_NOT_ENCLOSED = 124
MOST_CHANGES = 5_000
#: How far folders of the user are looked for within those of others, where the user is not root.
#: Whose a file seems where the name space has no name for its owner.
OVERFLOW_USER = 65534
ISLAND_DEPTH, MOST_LOOKED_AT, MOST_ISLANDS = 4, 20_000, 100
TICKS = os.sysconf("SC_CLK_TCK")
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


class Spec:
    """What is asked for, as the JSON has it (see Enclosure in ascend_workbook/machine/sandbox)."""

    def __init__(self, path: str, command: list[str]) -> None:
        fields = json.loads(Path(path).read_text(encoding="utf-8"))
        self.path = os.path.abspath(path)
        home = os.path.dirname(self.path)
        self.account, self.inside = os.path.join(home, "account.json"), os.path.join(home, "inside.json")
        self.command = command
        self.parent: int = fields["parent"]
        self.cwd: str = fields["cwd"]
        self.guard: str = fields["guard"]
        self.folder: str = fields["folder"]
        self.writable: list[str] = fields["writable"]
        self.hidden: list[str] = fields["hidden"]
        self.ways: list[str] = fields["ways"]
        self.network: bool = fields["network"]
        self.seconds: float = fields["seconds"]
        self.disk_bytes: int = fields["disk_mib"] * MIB
        self.memory_bytes: int = fields["memory_mib"] * MIB
        self.cpu_seconds: float = fields["cpu_seconds"]
        self.processes: int = fields["processes"]
        self.fresh_home: bool = fields["fresh_home"]
        self.user: int | None = fields["user"]
        self.group: int | None = fields["group"]


# ---------------------------------------------------------------------------------------------- the new root


def mount_points() -> list[str]:
    """List the places where something is mounted, as this process sees them."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as rows:
        fields = [row.split(" ")[4] for row in rows]
    return [field.encode("utf-8", "surrogateescape").decode("unicode_escape") for field in fields]


def own_islands(points: list[str]) -> list[str]:
    """List folders of this user within folders of others: a layer cannot copy up a parent whose owner it has no name
    for, so each gets a layer of its own. Looked for some levels deep.
    """
    user = os.geteuid()
    islands: list[str] = []
    tops = [f"/{name}" for name in sorted(os.listdir("/")) if name not in ("proc", "sys", "dev", "run")]
    left = [(path, 1) for path in tops if not os.access(path, os.W_OK)]  # what he may write takes his layer as it is
    looked = 0
    while left and looked < MOST_LOOKED_AT and len(islands) < MOST_ISLANDS:
        folder, depth = left.pop(0)
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                looked += 1
                if not entry.is_dir(follow_symlinks=False):
                    continue
                his = entry.stat(follow_symlinks=False).st_uid == user != OVERFLOW_USER
                own = his or os.access(entry.path, os.W_OK)
                if own and (depth > 1 or not his or folder in points):
                    islands.append(entry.path)
                elif not own and depth < ISLAND_DEPTH:
                    left.append((entry.path, depth + 1))
    return islands


def bound_sockets() -> list[str]:
    """List the sockets of running programs that are files: connecting to one is no write, and a way out."""
    with contextlib.suppress(OSError), open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as rows:
        paths = {row.rstrip("\n").split(" ", 7)[-1].strip() for row in list(rows)[1:]}
        return sorted(path for path in paths if path.startswith("/") and os.path.exists(path))
    return []


class NewRoot:
    """Builds, below a folder, the machine's file systems under layers. Paths are absolute ones of the old root."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.root = os.path.join(spec.folder, "root")
        self.points = [point for point in mount_points() if point != "/"]
        if os.geteuid() != 0:
            self.points += own_islands(self.points)
        self.layers: list[tuple[str, str]] = []
        self.read_only: list[str] = []
        self.copied = 0

    def build(self) -> None:
        """Mount everything; afterwards `layers` and `read_only` tell how."""
        os.makedirs(self.root, exist_ok=True)
        linux.mount("newroot", self.root, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755,size=64m")
        sockets = bound_sockets()
        self._cover_entries("/", self.root)
        self._make_devices()
        self._make_proc()
        linux.mount("/sys", self._new("/sys"), None, linux.MS_BIND | linux.MS_REC)
        linux.make_read_only(self._new("/sys"))
        for place in self.spec.writable:
            target = self._new(place)
            os.makedirs(target, exist_ok=True)
            linux.mount(place, target, None, linux.MS_BIND | linux.MS_REC)
        for place in [*self.spec.hidden, self.spec.folder, self.spec.path]:
            self._hide(place)
        for place in sockets:
            if not any(is_below(place, service) for service in SERVICES):
                self._hide(place)
        for place in [*self.spec.ways, *self.spec.writable] if self.spec.user is not None else ():
            self._open_way(place)

    def _new(self, path: str) -> str:
        return os.path.join(self.root, os.path.realpath(path).lstrip("/"))

    def _cover_entries(self, folder: str, target: str) -> None:
        """Cover a folder that holds mounts: a layer over copies of its own files, and another on each folder in it."""
        base = os.path.join(self.spec.folder, "base", str(len(self.layers)))
        os.makedirs(base)
        names, too_large = [], []
        for name in sorted(os.listdir(folder)):
            with contextlib.suppress(FileNotFoundError):  # another process took it away meanwhile
                if not self._copy(os.path.join(folder, name), os.path.join(base, name)):
                    too_large.append(name)
                names.append(name)
        if not self._lay_over(folder, target, base):
            linux.mount(base, target, None, linux.MS_BIND)
        for name in names:
            path, there = os.path.join(folder, name), os.path.join(target, name)
            if name in too_large:
                self._bind_read_only(path, there)
            elif path not in ("/proc", "/sys", "/dev") and os.path.isdir(there) and not os.path.islink(there):
                try:
                    self._cover(path, there)
                except FileNotFoundError:
                    if os.path.lexists(path):
                        raise

    def _copy(self, path: str, copy: str) -> bool:
        """Make what lies in a folder that holds mounts anew: links, empty folders, files; False for one too large."""
        facts = os.lstat(path)
        if stat.S_ISLNK(facts.st_mode):
            os.symlink(os.readlink(path), copy)
        elif stat.S_ISDIR(facts.st_mode):
            os.mkdir(copy, stat.S_IMODE(facts.st_mode))
        elif stat.S_ISREG(facts.st_mode):
            small = facts.st_size <= min(LARGEST_COPY, MOST_COPIED - self.copied) and os.access(path, os.R_OK)
            if not small:
                os.close(os.open(copy, os.O_CREAT | os.O_WRONLY, 0o644))
                return False
            shutil.copy2(path, copy)
            self.copied += facts.st_size
        with contextlib.suppress(OSError):  # an owner that the name space has no name for; a socket, which is left out
            os.chown(copy, facts.st_uid, facts.st_gid, follow_symlinks=False)
        return True

    def _cover(self, path: str, target: str) -> None:
        """Cover a folder, which is there in its place."""
        if path in SERVICES:
            linux.mount("services", target, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755,size=16m")
            return
        if any(is_below(point, path) and point != path for point in self.points) and os.access(path, os.R_OK):
            self._cover_entries(path, target)
        elif not self._lay_over(path, target, path):
            self._bind_read_only(path, target)

    def _lay_over(self, path: str, target: str, lower: str) -> bool:
        """Cover what lies below by a layer of a folder; False where its file system cannot be covered."""
        number = len(self.layers)
        upper, work = (os.path.join(self.spec.folder, kind, str(number)) for kind in ("upper", "work"))
        os.makedirs(upper, exist_ok=True)
        os.makedirs(work, exist_ok=True)
        shutil.copystat(path, upper)
        with contextlib.suppress(OSError):  # an owner that the name space has no name for
            os.chown(upper, os.lstat(path).st_uid, os.lstat(path).st_gid)
        if not os.access(path, os.W_OK):  # who may not write there may not in the layer, whose owner he is
            os.chmod(upper, stat.S_IMODE(os.lstat(upper).st_mode) & ~0o222)
        opened = [os.open(place, os.O_PATH) for place in (lower, upper, work)]  # a comma would begin another option
        try:
            places = zip(("lowerdir", "upperdir", "workdir"), opened)
            options = ",".join(["userxattr", *(f"{name}=/proc/self/fd/{number}" for name, number in places)])
            linux.mount("layer", target, "overlay", linux.MS_NOSUID | linux.MS_NODEV, options)
        except OSError:
            return False
        finally:
            for number in opened:
                os.close(number)
        self.layers.append((path, upper))
        return True

    def _bind_read_only(self, path: str, target: str) -> None:
        linux.mount(path, target, None, linux.MS_BIND | linux.MS_REC)
        linux.make_read_only(target)
        self.read_only.append(path)

    def _open_way(self, path: str) -> None:
        """Let every user pass through the folders that lead to a place: in the layers alone."""
        parts = os.path.realpath(path).strip("/").split("/")
        for count in range(1, len(parts)):
            folder = "/" + "/".join(parts[:count])
            if not any(is_below(folder, place) for place in self.spec.writable):
                with contextlib.suppress(OSError):  # one without a layer stays closed
                    os.chmod(self.root + folder, stat.S_IMODE(os.stat(self.root + folder).st_mode) | 0o011)

    def _make_devices(self) -> None:
        dev = self.root + "/dev"
        linux.mount("dev", dev, "tmpfs", linux.MS_NOSUID | linux.MS_NOEXEC, "mode=755,size=1m")
        for name in sorted(os.listdir("/dev")):
            if name not in DEVICES and not name.startswith(ACCELERATORS):
                continue
            source, target = f"/dev/{name}", f"{dev}/{name}"
            if os.path.isdir(source):
                os.mkdir(target)
            else:
                os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o666))
            linux.mount(source, target, None, linux.MS_BIND | linux.MS_REC)
            linux.make_read_only(target)  # its mode and owner are the machine's; what is written to a device passes
        shared = min(self.spec.memory_bytes, free_memory() // 2)
        for folder, kind, options in (
            ("shm", "tmpfs", f"mode=1777,size={shared}"),
            ("pts", "devpts", "newinstance,ptmxmode=0666,mode=620"),
        ):
            os.mkdir(f"{dev}/{folder}")
            linux.mount(folder, f"{dev}/{folder}", kind, linux.MS_NOSUID | linux.MS_NOEXEC, options)
        os.symlink("pts/ptmx", f"{dev}/ptmx")
        for name, leads_to in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
            os.symlink(f"/proc/self/{leads_to}", f"{dev}/{name}")

    def _make_proc(self) -> None:
        proc = self.root + "/proc"
        linux.mount("proc", proc, "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
        with contextlib.suppress(OSError):  # of its own list since Linux 6.14; threads are counted too
            most = max(LEAST_PIDS, 4 * self.spec.processes)
            Path(f"{proc}/sys/kernel/pid_max").write_text(str(most), encoding="ascii")
        for name in READ_ONLY_PROC:
            with contextlib.suppress(FileNotFoundError):
                linux.mount(f"{proc}/{name}", f"{proc}/{name}", None, linux.MS_BIND | linux.MS_REC)
                linux.make_read_only(f"{proc}/{name}")
        for name in SEALED_PROC:
            with contextlib.suppress(FileNotFoundError):
                linux.mount("/dev/null", f"{proc}/{name}", None, linux.MS_BIND)

    def _hide(self, path: str) -> None:
        """Put something empty in the place of a file or a folder."""
        target = self._new(path)
        if os.path.isdir(target):
            linux.mount("hidden", target, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755,size=4k")
        elif os.path.lexists(target):
            linux.mount("/dev/null", target, None, linux.MS_BIND)


def list_around(folder: str, hidden: list[str]) -> Iterator[str]:
    """Yield files and folders that together are all below a folder but what is hidden."""
    below = [place for place in hidden if is_below(place, folder)]
    if os.path.islink(folder):  # what it leads to is listed where it lies
        return
    if not below:
        yield folder
    elif folder not in below:
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(folder)):
                yield from list_around(os.path.join(folder, name), below)


def allowed_devices() -> list[str]:
    """List what of /dev may be written under Landlock: a program's own devices and the accelerators."""
    return ["shm", "pts", "ptmx", *DEVICES, *(name for name in os.listdir("/dev") if name.startswith(ACCELERATORS))]


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def count_refused_sends() -> int:
    """Return how often something was sent to where no way leads (OutNoRoutes), or, as a name to look up is, to a port
    of this network's own where nobody listens (NoPorts)."""
    total = 0
    for table in ("snmp", "snmp6"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            rows = [row.split() for row in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()]
            if table == "snmp6":
                total += sum(int(row[1]) for row in rows if row[0] in ("Ip6OutNoRoutes", "Udp6NoPorts"))
            for names, values in zip(rows[::2], rows[1::2]) if table == "snmp" else ():
                total += sum(int(values[at]) for at, name in enumerate(names) if name in ("OutNoRoutes", "NoPorts"))
    return total


def free_memory() -> int:
    """Return the bytes of memory that can be had, by the kernel and by this container's limit."""
    rows = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    least = min(int(row.split()[1]) << 10 for row in rows if row.startswith(("MemAvailable", "MemTotal")))
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            least = min(least, int(Path("/sys/fs/cgroup", limit).read_text(encoding="ascii")))
    return least


# ---------------------------------------------------------------------------------------------- the processes


def run_as_first(spec: Spec, report: int) -> NoReturn:
    """Be the first process of the new process list: build, start the command, bury orphans, tell what was refused."""
    linux.die_with_parent(signal.SIGKILL)
    try:
        linux.unshare(linux.CLONE_NEWNS)  # the one who waits keeps the machine's root, to look at the layers
        root = NewRoot(spec)
        root.build()
        if not spec.network:
            # bring `lo` up in the new network: ranks of one training talk over it
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                import fcntl

                request = bytearray(struct.pack("16sH22x", b"lo", 0))
                fcntl.ioctl(any_socket, SIOCGIFFLAGS, request)
                flags = struct.unpack("16sH22x", request)[1] | IFF_UP
                fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags))
        linux.change_root(root.root)
        os.chdir(spec.cwd)
        limit_resources(spec)
    except OSError as error:
        tell(report, {"failed": f"{error.strerror or error}: {error.filename or ''}"})
        os._exit(EXIT_NOT_ENCLOSED)
    tell(report, {"layers": root.layers, "read_only": root.read_only})
    child = os.fork()
    if child == 0:
        start_command(spec, report, enclosed=True)
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda number, _: os.kill(child, number))
    ended = status = 0
    while ended != child:
        ended, status = os.wait()
    tell(report, {"refused_sends": 0 if spec.network else count_refused_sends(), "signal": signal_of(status)})
    os._exit(exit_code_of(status))


def start_command(spec: Spec, report: int, *, enclosed: bool) -> NoReturn:
    """Become the command, in a session of its own and with no rights over the machine."""
    try:
        if report >= 0:
            os.close(report)
        os.setsid()
        for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(sign, signal.SIG_DFL)
        if enclosed or spec.user is not None:
            linux.drop_capabilities(spec.user, spec.group)
        if spec.guard != "none":
            linux.refuse_new_privileges()
            with contextlib.suppress(OSError):  # a kernel without seccomp
                linux.refuse_calls()
        os.execvpe(spec.command[0], spec.command, os.environ)
    except OSError as error:
        os.write(2, f"{spec.command[0]}: {error}\n".encode(errors="replace"))
    os._exit(127)


def limit_resources(spec: Spec) -> None:
    """Bound one file's size, and leave no core."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    most = spec.disk_bytes if hard == resource.RLIM_INFINITY else min(spec.disk_bytes, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def exit_code_of(status: int) -> int:
    """Return a shell's exit code for a wait status: 128 and the signal where one ended it."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def signal_of(status: int) -> int:
    """Return the signal that ended a process, 0 where none did."""
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def tell(report: int, fields: dict[str, object]) -> None:
    """Write a line of JSON to who watches."""
    with contextlib.suppress(OSError):
        os.write(report, json.dumps(fields).encode() + b"\n")


def enter_namespaces(spec: Spec, ready: int, mapped: int) -> NoReturn:
    """Take name spaces of our own, wait for their map of users, start the first process in them, list what it did."""
    linux.die_with_parent(signal.SIGKILL)
    flags = linux.CLONE_NEWUSER | linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS
    try:
        linux.unshare(flags | (0 if spec.network else linux.CLONE_NEWNET))
        os.write(ready, b"1")
        if not os.read(mapped, 1):
            os._exit(EXIT_NOT_ENCLOSED)
        linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
        choose_place_for_layers(spec)
    except OSError as error:
        write_aside(spec.inside, {"failed": str(error) or "no reason given"})
        os._exit(EXIT_NOT_ENCLOSED)
    report_read, report_write = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(report_read)
        run_as_first(spec, report_write)
    os.close(report_write)
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda *_: os.kill(first, signal.SIGTERM))
    with os.fdopen(report_read, "rb") as report:
        fields: dict[str, Any] = {}
        for line in report:
            fields.update(json.loads(line))
    code = exit_code_of(os.waitpid(first, 0)[1])
    changes = list_changes(fields.pop("layers", []))
    write_aside(spec.inside, {**fields, "changes": changes[:MOST_CHANGES], "changed_places": len(changes)})
    os._exit(code)


def choose_place_for_layers(spec: Spec) -> None:
    """Keep the layers on disk where its file system can hold them (not one of layers itself), else in memory."""
    trial = [os.path.join(spec.folder, name) for name in ("trial_upper", "trial_work", "trial")]
    for folder in trial:
        os.makedirs(folder, exist_ok=True)
    try:
        linux.mount(
            "trial", trial[2], "overlay", 0, f"userxattr,lowerdir=/usr/lib,upperdir={trial[0]},workdir={trial[1]}"
        )
        linux.unmount(trial[2])
    except OSError:
        size = min(spec.disk_bytes, free_memory() // 2)
        linux.mount("layers", spec.folder, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"size={size}")


def map_users(pid: int) -> None:
    """Give a new user name space its users: all of them for root, else the one who started this."""
    everyone = os.geteuid() == 0
    if not everyone:
        Path(f"/proc/{pid}/setgroups").write_text("deny", encoding="ascii")
    for kind, own in (("uid", os.geteuid()), ("gid", os.getegid())):
        map_ = Path(f"/proc/self/{kind}_map").read_text(encoding="ascii")
        rows = [row.split() for row in map_.splitlines()]
        text = "".join(f"{inside} {inside} {count}\n" for inside, _, count in rows) if everyone else f"{own} {own} 1\n"
        Path(f"/proc/{pid}/{kind}_map").write_text(text, encoding="ascii")


def start(spec: Spec) -> int:
    """Start the command under the guard that the spec names, and return the process to watch."""
    ready_read, ready_write = os.pipe()
    mapped_read, mapped_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ready_read)
        os.close(mapped_write)
        if spec.guard == "namespaces":
            enter_namespaces(spec, ready_write, mapped_read)
        os.close(ready_write)
        os.close(mapped_read)
        start_without_namespaces(spec)
    os.close(ready_write)
    os.close(mapped_read)
    if os.read(ready_read, 1):
        with contextlib.suppress(OSError):
            map_users(child)
            os.write(mapped_write, b"1")
    os.close(ready_read)
    os.close(mapped_write)
    return child


def start_without_namespaces(spec: Spec) -> NoReturn:
    """Start the command with writes bounded by Landlock, or with nothing but limits; end all of it with our parent."""
    linux.adopt_orphans()
    limit_resources(spec)
    os.chdir(spec.cwd)
    command = os.fork()
    if command == 0:
        if spec.guard == "landlock":
            hidden = [os.path.realpath(place) for place in (*spec.hidden, spec.path)]
            writable = [*spec.writable, *(f"/dev/{name}" for name in allowed_devices())]
            linux.restrict_files(writable, list(list_around("/", hidden)))
        start_command(spec, -1, enclosed=spec.guard == "landlock" and os.geteuid() == 0)

    def end(*_: object) -> None:
        end_all(0)
        os._exit(128 + signal.SIGKILL)

    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, end)
    linux.die_with_parent(signal.SIGTERM)
    ended = status = 0
    while ended != command:
        ended, status = os.wait()
    end_all(0)
    write_aside(spec.inside, {"signal": signal_of(status)})
    os._exit(exit_code_of(status))


# ---------------------------------------------------------------------------------------------- watching


def descendants(pid: int) -> dict[int, float]:
    """Return the processes below a process, each with its seconds of processor time, its ended children's included."""
    children: dict[int, list[tuple[int, float]]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append((int(entry), sum(map(int, fields[11:15])) / TICKS))
    out: dict[int, float] = {}
    left = [pid]
    while left:
        below = children.get(left.pop(), [])
        out.update(below)
        left += [child for child, _ in below]
    return out


def private_bytes(pid: int) -> int:
    """Return the resident memory of a process that is no file's."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            fields = file.read().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * resource.getpagesize()


def written_bytes(places: list[str]) -> int:
    """Return the bytes on disk of what lies below the places, each file once."""
    total = 0
    seen: set[tuple[int, int]] = set()
    left = list(places)
    while left:
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                        continue
                    facts = entry.stat(follow_symlinks=False)
                    if (facts.st_dev, facts.st_ino) not in seen:
                        seen.add((facts.st_dev, facts.st_ino))
                        total += facts.st_blocks * 512
    return total


def watch(spec: Spec, child: int, began: float) -> tuple[int, str]:
    """Wait for the end of the command; its exit code, and what cut it short (as Account.cut has it)."""
    places = [os.path.join(spec.folder, "upper"), *spec.writable]
    before = written_bytes(places)
    next_look = 0.0
    heard = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return exit_code_of(status), ""
        looked = time.monotonic()
        cut = "time" if looked - began > spec.seconds else "parent" if os.getppid() != spec.parent else ""
        below = descendants(os.getpid())
        if len(below) > spec.processes:
            cut = cut or "processes"
        elif sum(map(private_bytes, below)) > spec.memory_bytes:
            cut = cut or "memory"
        elif sum(below.values()) > spec.cpu_seconds:
            cut = cut or "cpu"
        pause = min(max(POLL_S, PATIENCE * (time.monotonic() - looked)), LONGEST_POLL_S)
        if not cut and looked > next_look:
            if written_bytes(places) - before > spec.disk_bytes:
                cut = "disk"
            next_look = time.monotonic() + max(1.0, PATIENCE * (time.monotonic() - looked))
        if cut:
            end_all(child)
            return 128 + signal.SIGKILL, cut
        until, there = looked + pause, len(os.listdir("/proc"))
        while time.monotonic() < until:
            came = signal.sigtimedwait(heard, POLL_S / 2)
            if came is not None and came.si_signo != signal.SIGCHLD:
                return end_all(child) or 128 + came.si_signo, "stopped"
            if came is not None or len(os.listdir("/proc")) > there + spec.processes // 2:  # a fork bomb does not wait
                break


def end_all(child: int) -> int:
    """Kill what the command started, and return its exit code; the one who lists what it did has ten seconds for it."""
    code = 0
    patience = time.monotonic() + 10.0
    while True:
        left = descendants(os.getpid())
        late = time.monotonic() > patience
        for pid in left:
            if pid != child or late:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                ended, status = os.waitpid(-1, os.WNOHANG)
                if ended == child:
                    code = exit_code_of(status)
                if not ended:
                    break
        if not left:
            return code
        time.sleep(0.02)


# ---------------------------------------------------------------------------------------------- the account


def list_changes(layers: list[tuple[str, str]]) -> list[dict[str, object]]:
    """List what lies in the layers: made, changed and deleted files, by their paths on the machine."""
    changes: list[dict[str, object]] = []
    for lower, upper in layers:
        for folder, folders, files in os.walk(upper):
            below = os.path.relpath(folder, upper)
            there = os.path.normpath(os.path.join(lower, below))
            if below != "." and (is_opaque(folder) or not os.path.lexists(there)):
                kind = "replaced" if os.path.lexists(there) else "made"
                changes.append({"kind": kind, "path": there + "/", "bytes": written_bytes([folder])})
                if kind == "made":  # what it holds is part of it
                    folders[:] = []
                    continue
            for name in [*files, *(name for name in folders if os.path.islink(os.path.join(folder, name)))]:
                facts = os.lstat(os.path.join(folder, name))
                path = os.path.join(there, name)
                if stat.S_ISCHR(facts.st_mode) and facts.st_rdev == 0:
                    changes.append({"kind": "deleted", "path": path, "bytes": 0})
                else:
                    kind = "changed" if os.path.lexists(path) else "made"
                    changes.append({"kind": kind, "path": path, "bytes": facts.st_size})
    return changes


def is_opaque(folder: str) -> bool:
    """Return whether a layer's folder replaces the one below it."""
    with contextlib.suppress(OSError):
        return os.getxattr(folder, "user.overlay.opaque") in (b"y", b"x")
    return False


def take_privileges(places: list[str]) -> list[dict[str, object]]:
    """Take the set-user-id and set-group-id bits of files that were left in the results, and list them."""
    taken: list[dict[str, object]] = []
    for place in places:
        for folder, _, names in os.walk(place):
            for path in (os.path.join(folder, name) for name in names):
                with contextlib.suppress(OSError):
                    facts = os.lstat(path)
                    if stat.S_ISREG(facts.st_mode) and facts.st_mode & (stat.S_ISUID | stat.S_ISGID):
                        os.chmod(path, stat.S_IMODE(facts.st_mode) & 0o1777)
                        taken.append({"kind": "set-user-id", "path": path, "bytes": facts.st_size})
    return taken


def remove_folder(folder: str) -> None:
    """Remove a folder; in layers the kernel leaves folders that nobody may enter."""
    for parent, folders, _ in os.walk(folder):
        for path in (os.path.join(parent, name) for name in folders):
            if not os.path.islink(path):
                with contextlib.suppress(OSError):
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def write_aside(path: str, fields: dict[str, Any]) -> None:
    """Write a JSON file whole or not at all."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(fields, file)
    os.replace(path + ".part", path)


def main() -> int:
    """Run what the spec says; the exit code is the command's."""
    spec = Spec(sys.argv[1], sys.argv[2:])
    linux.adopt_orphans()
    os.makedirs(spec.folder, exist_ok=True)
    # folders within the results for temporary files and, where asked for, an empty home, while it runs
    wanted = {"TMPDIR": spec.guard == "landlock" or spec.fresh_home, "HOME": spec.fresh_home}
    own_folders = []
    for name in [name for name, is_wanted in wanted.items() if is_wanted and spec.writable]:
        own_folders.append(tempfile.mkdtemp(prefix=f".{name.lower()}-", dir=spec.writable[-1]))
        os.environ[name] = own_folders[-1]
        if spec.user is not None:
            os.chown(own_folders[-1], spec.user, -1 if spec.group is None else spec.group)
    began = time.monotonic()
    child = start(spec)
    code, cut = watch(spec, child, began)
    end_all(child)
    for folder in own_folders:
        remove_folder(folder)
    inside: dict[str, Any] = {"failed": "", "refused_sends": 0, "read_only": [], "changes": [], "changed_places": 0}
    inside["signal"] = 0
    with contextlib.suppress(FileNotFoundError):
        inside.update(json.loads(Path(spec.inside).read_text(encoding="utf-8")))
        os.unlink(spec.inside)
    taken = take_privileges(spec.writable) if spec.guard != "none" else []
    inside["changes"], inside["changed_places"] = taken + inside["changes"], len(taken) + inside["changed_places"]
    sign = inside.pop("signal", 0) or (signal.SIGKILL if cut else 0)
    seconds = round(time.monotonic() - began, 3)
    write_aside(spec.account, {"guard": spec.guard, "code": -sign or code, "cut": cut, "seconds": seconds, **inside})
    remove_folder(spec.folder if cut != "parent" else os.path.dirname(spec.folder))
    if sign:
        # by the same signal: who waits for this process learns what it would have learnt of the command
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if sign not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(sign, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {sign})
        os.kill(os.getpid(), sign)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        sys.stderr.write(f"the enclosure could not be made: {error}\n")
        sys.exit(EXIT_NOT_ENCLOSED if error.errno != errno.ENOSPC else 1)
