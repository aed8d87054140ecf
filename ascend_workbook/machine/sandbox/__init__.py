"""Runs other people's code where it can change nothing but its own results, and tells what it tried.

Three guards, the best that this machine allows: name spaces (user, mount, process, network) with a layer over every
file system; Landlock, by which the kernel refuses writes elsewhere and reading what is hidden, but neither the network
nor a change of modes, owners and times; none but limits. child/enclose.py does it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError

ENCLOSE = Path(__file__).resolve().parent / "child" / "enclose.py"
#: Guards from the strongest to none.
NAMESPACES, LANDLOCK, NONE = "namespaces", "landlock", "none"
GUARDS = (NAMESPACES, LANDLOCK, NONE)
#: Chooses a guard, for machines where name spaces work but must not be used.
GUARD_VARIABLE = "ASCEND_WORKBOOK_GUARD"
#: Credentials of a home folder: an enclosed program finds them empty. Ours of object storage (storage/credentials.py)
#: are among them.
CREDENTIALS = tuple(
    """
.obs .ssh .gnupg .aws .azure .kube .docker .dockercfg .netrc .pypirc .npmrc .git-credentials .obsutilconfig
.ossutilconfig .s3cfg .boto .pgpass .my.cnf .kaggle .modelarts .config/gcloud .config/gh .config/rclone
.cache/huggingface/token .cache/huggingface/stored_tokens .huggingface/token
""".split()  # noqa: SIM905 - a column of names reads better without quotes
)


@dataclass(frozen=True)
class Enclosure:
    """What an enclosed program may do.

    writable: folders through which its results leave; all else it writes is thrown away or refused.
    hidden: files and folders that it finds empty (name spaces) or cannot read (Landlock), beside the credentials of the
    home folder.
    guard: one of GUARDS; "" takes the strongest that works here.
    network: with name spaces alone it can be taken away.
    fresh_home: HOME and TMPDIR are empty folders in the last writable one, removed at the end.
    seconds, cpu_seconds, disk_mib, memory_mib, processes: of all that it starts, together; it is ended beyond one of
        them. disk_mib 0: nine tenths of what is free where the results lie.
    ways: places to which another user's way is opened, in the layers alone, as it is to what is writable.
    user, group: numbers of the Unix user it becomes, where this one is root; what is writable must be that user's.
    """

    writable: tuple[Path, ...]
    hidden: tuple[Path, ...] = ()
    guard: str = ""
    network: bool = False
    fresh_home: bool = False
    seconds: float = 3600.0
    cpu_seconds: float = math.inf
    disk_mib: int = 0
    memory_mib: int = 1 << 20
    processes: int = 2000
    user: int | None = None
    group: int | None = None
    ways: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Change:
    """A file or folder outside the results that a program made, changed, replaced or deleted (in its layer alone); or
    one in the results that it gave its owner's rights (set-user-id), which were taken from it."""

    kind: str
    path: str
    bytes: int


@dataclass(frozen=True)
class Account:
    """How an enclosed program ended, and what it tried.

    code: the program's exit code, or the signal that ended it as a negative number.
    cut: "" where it ended by itself; else time, cpu, disk, memory, processes, stopped or parent.
    changes: at most a few thousand; `changed_places` counts all.
    refused_sends: packets that had no way out, programs of any language counted.
    read_only: folders whose file system takes no layer: writes there were refused.
    """

    guard: str
    code: int
    cut: str
    seconds: float
    failed: str = ""
    changes: tuple[Change, ...] = ()
    changed_places: int = 0
    refused_sends: int = 0
    read_only: tuple[str, ...] = field(default=())


#: By guard why it does not work here, once `find_guard` has tried it.
_why_not: dict[str, str] = {}


def why_weaker() -> str:
    """Say why name spaces are not the guard: the variable that chose another, or what the kernel answered."""
    if find_guard() != NAMESPACES and os.environ.get(GUARD_VARIABLE, NAMESPACES) != NAMESPACES:
        return f"{GUARD_VARIABLE}={os.environ[GUARD_VARIABLE]}"
    return _why_not.get(NAMESPACES) or sys.platform


@cache
def find_guard() -> str:
    """Find the strongest guard that works on this machine, by trying them."""
    asked = os.environ.get(GUARD_VARIABLE, "")
    if asked and asked not in GUARDS:
        raise WorkbookError("sandbox.guard_unknown", given=asked, known=list(GUARDS), variable=GUARD_VARIABLE)
    for guard in GUARDS[GUARDS.index(asked) if asked else 0 : -1]:
        if sys.platform == "linux" and _works(guard):
            return guard
    return NONE


def _works(guard: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="guard_") as name:
        folder = Path(name).resolve()
        results = folder / "results"
        results.mkdir()
        trial = "import os, pathlib; pathlib.Path('in').touch(); os.path.exists('/proc/self/exe') or exit(3)"
        command = [sys.executable, "-I", "-S", "-c", trial]
        enclosure = Enclosure((results,), seconds=30)
        wrapped = enclose_command(command, enclosure, guard, results, folder)
        try:
            ended = subprocess.run(wrapped, capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            _why_not[guard] = str(error)
            return False
        works = ended.returncode == 0 and (results / "in").exists()
        if not works:
            with contextlib.suppress(OSError, ValueError):
                _why_not[guard] = json.loads((folder / "account.json").read_text(encoding="utf-8"))["failed"]
            output = ended.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {ended.returncode}"]
            _why_not[guard] = _why_not.get(guard) or output[-1]
        return works


@dataclass(frozen=True)
class Enclosed:
    """A command made ready to run, and where its account will lie."""

    command: list[str]
    guard: str
    folder: Path | None = None

    def read_account(self, *, ended_early: bool = False) -> Account | None:
        """Read what the program tried, once it has ended; None where it was not enclosed, or was ended too early."""
        if self.folder is None or (ended_early and not (self.folder / "account.json").is_file()):
            return None
        return read_account(self.folder)


@contextlib.contextmanager
def enclose(command: Sequence[str], enclosure: Enclosure | None, cwd: Path) -> Iterator[Enclosed]:
    """Give the command that runs another one under the machine's strongest guard, or the command itself.

    Layers and account lie in a folder beside the results that is removed at the end.
    """
    if enclosure is None:
        yield Enclosed(list(command), NONE)
        return
    guard = enclosure.guard or find_guard()
    beside = enclosure.writable[-1].absolute().parent
    folder = Path(tempfile.mkdtemp(prefix=".enclosure-", dir=beside))
    try:
        yield Enclosed(enclose_command(command, enclosure, guard, cwd, folder), guard, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def enclose_command(command: Sequence[str], enclosure: Enclosure, guard: str, cwd: Path, folder: Path) -> list[str]:
    """Return the command that runs another one under a guard.

    `folder` takes the layers and the account; it must not lie in what is writable. The command itself, which may hold a
    password, stands in no file. It is for this process to start: the enclosure ends as soon as that is not its parent.
    """
    folder.mkdir(parents=True, exist_ok=True)
    credentials = [Path.home() / name for name in CREDENTIALS if (Path.home() / name).exists()]
    beside = enclosure.writable[-1] if enclosure.writable else folder
    fields: Mapping[str, object] = {
        "parent": os.getpid(),
        "cwd": str(cwd.absolute()),
        "guard": guard,
        "folder": str(folder.absolute() / "layers"),
        "writable": [str(place.absolute()) for place in enclosure.writable],
        "hidden": [str(place) for place in (*enclosure.hidden, *credentials)],
        "network": enclosure.network,
        "seconds": min(enclosure.seconds, 1e9),
        "cpu_seconds": min(enclosure.cpu_seconds, 1e9),
        "disk_mib": enclosure.disk_mib or max(1, (shutil.disk_usage(beside).free >> 20) * 9 // 10),
        "fresh_home": enclosure.fresh_home,
        "memory_mib": enclosure.memory_mib,
        "processes": enclosure.processes,
        "user": enclosure.user,
        "group": enclosure.group,
        "ways": [str(place.absolute()) for place in enclosure.ways],
    }
    spec = folder / "enclosure.json"
    spec.write_text(json.dumps(fields), encoding="utf-8")
    return [sys.executable, "-I", "-S", str(ENCLOSE), str(spec), *command]


def read_account(folder: Path) -> Account:
    """Read what the enclosure left in its folder. Raises WorkbookError where it was not made or was killed."""
    try:
        fields = json.loads((folder / "account.json").read_text(encoding="utf-8"))
        fields["changes"] = tuple(Change(**change) for change in fields["changes"])
        fields["read_only"] = tuple(fields["read_only"])
        account = Account(**fields)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise WorkbookError("sandbox.no_account", path=str(folder), why=str(error)) from error
    if account.failed:
        raise WorkbookError("sandbox.not_made", why=account.failed, variable=GUARD_VARIABLE)
    return account
