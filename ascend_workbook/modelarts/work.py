"""The work itself, in a child: where it may write, its data and results, its command, its environment, its end.

The platform gives a local folder that it keeps in step with OBS, or an obs:// address.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from ascend_workbook.environment.launching import job
from ascend_workbook.environment.system import PROJECT
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, say
from ascend_workbook.machine.packages import installed_versions, read_requirements
from ascend_workbook.modelarts.role import Role
from ascend_workbook.storage.transfer import download, upload

#: ModelArts' local disk of bare-metal flavours (https://support.huaweicloud.com, ma_drawer_124).
CACHE = "/cache"
#: A training's worth of dumps does not fit into less.
LEAST_FREE_MIB = 1024.0
#: So many names of files that were not sent are told.
MOST_NAMES = 5


@dataclass(frozen=True)
class Scratch:
    """A folder of this job's own; `source` is what named the disk, `free_mib` what was free on it."""

    folder: Path
    source: str
    free_mib: float


def choose_scratch(environ: Mapping[str, str], folder_told: str = "", host: int | None = None) -> Scratch:
    """Choose the first place that can be written: the folder told, else /cache, MA_LOG_DIR, the folder for temporary
    files. `host`, where there are several, has a folder of its own: the disk may be one that they share. Raises
    WorkbookError `modelarts.scratch` where none can."""
    candidates = (
        [("--scratch", folder_told)]
        if folder_told
        else [(CACHE, CACHE), ("MA_LOG_DIR", environ.get("MA_LOG_DIR", "")), ("TMPDIR", tempfile.gettempdir())]
    )
    for source, place in candidates:
        if place and Path(place).is_dir() and os.access(place, os.W_OK | os.X_OK):
            name = environ.get("MA_VJ_NAME", "")  # all processes of the job have the same; it is a part of a path here
            name = name if re.fullmatch(r"[\w-]{1,100}", name, re.ASCII) else "job"
            folder = Path(place, f"ascend-workbook-{name}" + ("" if host is None else f"-host-{host}"))
            folder.mkdir(mode=0o755, exist_ok=True)
            free = os.statvfs(folder)
            return Scratch(folder, source, free.f_bavail * free.f_frsize / (1 << 20))
    raise WorkbookError("modelarts.scratch", places=[place for _, place in candidates if place])


def is_remote(place: str) -> bool:
    return "://" in place


def find_moxing() -> Any | None:
    """Return ModelArts' moxing, or None where it is not importable or has not what is needed of it. It has the job's
    agency for credentials. It is never installed: on PyPI the name belongs to something else."""
    if importlib.util.find_spec("moxing") is None:
        return None
    try:
        moxing = importlib.import_module("moxing")
    except ImportError:
        return None
    file = getattr(moxing, "file", None)
    whole = all(callable(getattr(file, name, None)) for name in ("copy_parallel", "list_directory"))
    return moxing if whole else None


def bring_data(place: str, into: Path) -> Path:
    """Return where the data can be read on this host: the place itself, or a copy below `into`. Raises WorkbookError
    `modelarts.no_data` where there is nothing, and what the storage raises."""
    if not is_remote(place):
        if not Path(place).exists():
            raise WorkbookError("modelarts.no_data", place=place)
        return Path(place)
    moxing = find_moxing()
    if moxing is None:  # checked where a manifest vouches for it; data of others has none
        received = download.receive_files(place, into, unverified=True)
        download.raise_wrong(received)
        if received.unchecked:
            print("modelarts: " + say("STO504.unchecked", None, count=received.unchecked), flush=True)
        return into
    into.mkdir(parents=True, exist_ok=True)
    moxing.file.copy_parallel(place, str(into))
    if not any(into.iterdir()):
        raise WorkbookError("modelarts.no_data", place=place)
    return into


def send_results(folder: Path, place: str) -> int:
    """Send the files of the folder to the address and return how many; tell which stay here, as upload.find_reason has
    it. With a manifest; after moxing each is looked for there. Raises WorkbookError `modelarts.not_sent` with what is
    missing, and what the storage raises."""
    moxing = find_moxing()
    if moxing is None:
        moved = upload.send_files(folder, place)
        _tell_kept([*moved.skipped])
        return len(moved.files)
    inside = folder.resolve()
    files = sorted(path for path in inside.rglob("*") if path.is_file() or path.is_symlink())
    skipped = [path for path in files if upload.find_reason(inside, path)]
    names = [path.relative_to(inside).as_posix() for path in files if path not in skipped]
    _tell_kept([path.relative_to(inside).as_posix() for path in skipped])
    with tempfile.TemporaryDirectory(prefix=".sending-", dir=inside.parent) as aside:
        if skipped:  # moxing takes whole folders
            for name in names:
                Path(aside, name).parent.mkdir(parents=True, exist_ok=True)
                _link_or_copy(inside / name, Path(aside, name))
        moxing.file.copy_parallel(aside if skipped else str(folder), place)
    there = {str(name).lstrip("/") for name in moxing.file.list_directory(place, recursive=True)}
    missing = [name for name in names if name not in there]
    if missing:
        raise WorkbookError("modelarts.not_sent", count=len(missing), of=len(names), first=missing[0], place=place)
    return len(names)


def _tell_kept(names: Sequence[str]) -> None:
    if names:
        shown: list[Scalar] = [*names[:MOST_NAMES]]
        print("modelarts: " + say("RUN402.kept_here", None, count=len(names), names=shown), flush=True)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source.resolve(), target)
    except OSError:  # a file system without hard links
        shutil.copyfile(source, target)


#: The preset engine's, of one card: HCCL would believe them in a process that has all cards, or none.
DROPPED = ("RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE", "ASCEND_DEVICE_ID")
PAIR = ("torch", "torch_npu", "torchvision", "torchaudio")


def make_environment(environ: Mapping[str, str], role: Role) -> dict[str, str]:
    """Make the child's variables; a rank that the platform has started keeps all of them."""
    dropped = () if role.name == "rank" else DROPPED
    variables = {name: value for name, value in environ.items() if name not in dropped}
    entries = [str(PROJECT), *filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))]
    return {**variables, "PYTHONPATH": os.pathsep.join(dict.fromkeys(entries))}


def make_command(role: Role, python: str, verb: str, script: str, places: Mapping[str, str]) -> list[str]:
    """Make the words of the child's command; `{data}`, `{out}`, `{scratch}` and `{code}` are those folders. Raises
    WorkbookError `modelarts.words` for unbalanced quotes, `modelarts.cards` where torchrun lacks a number."""
    try:
        words = shlex.split(script or verb)
    except ValueError as error:
        raise WorkbookError("modelarts.words", text=script or verb, error=str(error)) from error
    for name, place in places.items():
        words = [word.replace("{" + name + "}", place) for word in words]
    if not script:
        return [python, "-m", "ascend_workbook", *words]
    beside = PROJECT / words[0]
    words = [str(beside) if beside.is_file() else words[0], *words[1:]]
    if role.name == "rank":
        return [python, *words]
    started = job.torchrun_command(role.job, words)
    if not started:
        raise WorkbookError("modelarts.cards")
    return [python, "-m", "torch.distributed.run", *started[1:]]


def missing_packages(verb: str) -> list[str]:
    """Return what of requirements.txt this Python has not, where the verb needs it: `run` executes notebooks."""
    here = installed_versions()
    return [name for name in read_requirements() if name not in here] if verb.split()[:1] == ["run"] else []


def make_ready(folder: Path) -> str:
    """Make an environment beside the image's that sees the image's packages, and return its Python. Raises
    WorkbookError `modelarts.set_up` where that fails, `modelarts.torch_changed` where it sees another torch."""
    before = pair_versions(sys.executable)
    set_up = str(PROJECT / "tools" / "bootstrap.py")
    process = subprocess.run([sys.executable, set_up, "--venv", str(folder)], check=False)
    if process.returncode:
        raise WorkbookError("modelarts.set_up", code=process.returncode)
    python = str(folder / "bin" / "python")
    after = pair_versions(python)
    changed = [name for name, version in before.items() if after.get(name) != version]
    if changed:
        raise WorkbookError("modelarts.torch_changed", names=changed)
    return python


def pair_versions(python: str) -> dict[str, str]:
    """Return the versions by the metadata that a Python sees: what stands first on its path."""
    code = (
        "import importlib.metadata as m, sys\nfor n in sys.argv[1:]:\n try: print(n, m.version(n))\n"
        " except m.PackageNotFoundError: pass"
    )
    process = subprocess.run([python, "-c", code, *PAIR], capture_output=True, text=True, check=True)
    parts = (line.partition(" ") for line in process.stdout.splitlines())
    return {name: version for name, _, version in parts}


def run_child(words: Sequence[str], environ: Mapping[str, str], folder: Path) -> int:
    """Run the child and return its exit code; 128 and the signal's number where one ended it. A SIGTERM to us is handed
    on, and waited for."""
    child = subprocess.Popen(list(words), env=dict(environ), cwd=folder)

    def hand_signal_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, hand_signal_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code
