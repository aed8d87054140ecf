"""The work itself, in a child: its command, its environment, its end."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from ascend_workbook.environment.launching import job
from ascend_workbook.environment.system import PROJECT
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.packages import installed_versions, read_requirements
from ascend_workbook.modelarts.role import Role

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
    """Make the words of the child's command; `{data}`, `{out}`, `{scratch}` and `{code}` are those folders.

    Raises WorkbookError `modelarts.words` for unbalanced quotes, `modelarts.cards` where torchrun lacks a number.
    """
    try:
        words = [_fill_places(word, places) for word in shlex.split(script or verb)]
    except ValueError as error:
        raise WorkbookError("modelarts.words", text=script or verb, error=str(error)) from error
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


def _fill_places(word: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        word = word.replace("{" + name + "}", place)
    return word


def missing_packages(verb: str) -> list[str]:
    """Return what of requirements.txt this Python has not, where the verb needs it: `run` executes notebooks."""
    here = installed_versions()
    return [name for name in read_requirements() if name not in here] if verb.split()[:1] == ["run"] else []


def make_ready(folder: Path) -> str:
    """Make an environment beside the image's that sees the image's packages, and return its Python.

    Raises WorkbookError `modelarts.set_up` where that fails, `modelarts.torch_changed` where it sees another torch.
    """
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
    on, and waited for.
    """
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
