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

from helpers.environment.launching import line
from helpers.environment.system import PROJECT
from helpers.errors import WorkbookError
from helpers.modelarts.role import Role
from helpers.packages import installed, required

#: The preset engine's, of one card: HCCL would believe them in a process that has all cards, or none.
DROPPED = ("RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE", "ASCEND_DEVICE_ID")
PAIR = ("torch", "torch_npu", "torchvision", "torchaudio")


def environment(environ: Mapping[str, str], role: Role) -> dict[str, str]:
    """The child's variables; a rank that the platform has started keeps all of them."""
    dropped = () if role.name == "rank" else DROPPED
    kept = {name: value for name, value in environ.items() if name not in dropped}
    entries = [str(PROJECT), *filter(None, kept.get("PYTHONPATH", "").split(os.pathsep))]
    return {**kept, "PYTHONPATH": os.pathsep.join(dict.fromkeys(entries))}


def command(role: Role, python: str, verb: str, script: str, places: Mapping[str, str]) -> list[str]:
    """The words of the child's command; `{data}`, `{out}`, `{scratch}` and `{code}` are those folders.

    Raises WorkbookError `modelarts.words` for unbalanced quotes, `modelarts.cards` where torchrun lacks a number.
    """
    try:
        words = [_placed(word, places) for word in shlex.split(script or verb)]
    except ValueError as error:
        raise WorkbookError("modelarts.words", text=script or verb, error=str(error)) from error
    if not script:
        return [python, "-m", "helpers", *words]
    beside = PROJECT / words[0]
    words = [str(beside) if beside.is_file() else words[0], *words[1:]]
    if role.name == "rank":
        return [python, *words]
    started = line.torchrun(role.job, words)
    if not started:
        raise WorkbookError("modelarts.cards")
    return [python, "-m", "torch.distributed.run", *started[1:]]


def _placed(word: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        word = word.replace("{" + name + "}", place)
    return word


def lacking(verb: str) -> list[str]:
    """Packages of requirements.txt that this Python has not, where the verb needs them: `run` executes notebooks."""
    here = installed()
    return [name for name in required() if name not in here] if verb.split()[:1] == ["run"] else []


def made_ready(folder: Path) -> str:
    """An environment beside the image's that sees the image's packages, filled by set-up; its Python.

    Raises WorkbookError `modelarts.set_up` where that fails, `modelarts.torch_changed` where it sees another torch.
    """
    before = pair(sys.executable)
    set_up = str(PROJECT / "helpers" / "bootstrap.py")
    done = subprocess.run([sys.executable, set_up, "--venv", str(folder)], check=False)
    if done.returncode:
        raise WorkbookError("modelarts.set_up", code=done.returncode)
    python = str(folder / "bin" / "python")
    after = pair(python)
    changed = [name for name, version in before.items() if after.get(name) != version]
    if changed:
        raise WorkbookError("modelarts.torch_changed", names=changed)
    return python


def pair(python: str) -> dict[str, str]:
    """Versions by the metadata that a Python sees: what stands first on its path."""
    code = ("import importlib.metadata as m, sys\nfor n in sys.argv[1:]:\n try: print(n, m.version(n))\n"
            " except m.PackageNotFoundError: pass")  # fmt: skip
    done = subprocess.run([python, "-c", code, *PAIR], capture_output=True, text=True, check=True)
    parts = (each.partition(" ") for each in done.stdout.splitlines())
    return {name: version for name, _, version in parts}


def run(words: Sequence[str], environ: Mapping[str, str], folder: Path) -> int:
    """Its exit code; 128 and the signal's number where one ended it. A SIGTERM to us is handed on, and waited for."""
    child = subprocess.Popen(list(words), env=dict(environ), cwd=folder)

    def hand_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code
