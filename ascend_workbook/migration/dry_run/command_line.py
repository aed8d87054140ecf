"""A training's own launch command, `torchrun --nproc_per_node=2 train.py --epochs 1`: script, arguments, processes."""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.migration.reading.source import decode_bytes
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.texts import shell
from ascend_workbook.migration.texts.launches import Launch, find_launches, other_scripts

# `dry-run run.sh`: the one launch command of a shell script, with the folder and variables that it runs with.

LARGEST_BYTES = 1 << 20
SHOWN, LONGEST = 8, 160
SHELLS = re.compile(r"(?:/usr/bin/|/bin/)?(?:ba|z|da)?sh$|source$")
#: Say which devices are there, or where libraries and programs lie: each side of a dry run has its own.
NOT_TAKEN = re.compile(r"(?:CUDA_VISIBLE_DEVICES|ASCEND_RT_VISIBLE_DEVICES|PATH|LD_LIBRARY_PATH|LD_PRELOAD|CUDA_HOME)$")


@dataclass(frozen=True)
class FromShell:
    """`words`: the command, as command_line.read takes it. `cwd`: the folder that it runs in; None: not to be told.
    `file` is the shell script."""

    words: tuple[str, tuple[str, ...]]
    cwd: Path | None
    file: Path
    environment: Mapping[str, str]
    finding: Finding

    def find_script(self, path: Path) -> tuple[Path, Path | None]:
        """The training script and the folder it runs in: where `cd` led, else the shell script's own, or above it."""
        name = Path(os.path.relpath(path))
        for base in (self.cwd, self.file.parent, self.file.parent.parent):
            if base is not None and (candidate := Path(os.path.normpath(base / name))).is_file():
                return candidate, base
        return path, self.cwd


def read_shell_command(script: str | Path, args: Sequence[str], data: bytes | None = None) -> FromShell | None:
    """Read the one plain launch of a shell script, None of another file; `data` is its content where that is not the
    file's. Raises WorkbookError for none or more."""
    words = [str(script), *map(str, args)]
    with suppress(ValueError):  # of quotes that nothing closes: no command then
        if isinstance(script, str) and not Path(script).exists() and len(split := shlex.split(script)) > 1:
            words = [*split, *words[1:]]
    if SHELLS.match(words[0]) and len(words) > 1:
        words = words[1:]
        while len(words) > 1 and re.match(r"[-+]\w+$", words[0]) and words[0] != "-c":
            words = words[1:]
    file = Path(words[0])
    if not shell.is_shell(file.name):
        if file.suffix or not file.is_file():
            return None
        with file.open("rb") as stream:  # a script without a suffix names its shell in its first line
            if not re.match(rb"#!.*\b(?:ba|z|da)?sh\b", stream.readline(200)):
                return None
    if not file.is_file():
        raise WorkbookError("launch.script_missing", path=str(file.absolute()))
    return _read_only_launch(file, words[1:], data)


def _read_only_launch(file: Path, args: Sequence[str], data: bytes | None) -> FromShell:
    shell_launches, text = _read_launches(file, args, data)
    first = shell_launches[0] if len(shell_launches) == 1 else None
    if first is None or not first.words:
        raise _explain_refusal(file, shell_launches, text)
    cwd = Path(os.path.normpath(Path.cwd() / first.folder)) if first.folder is not None else None
    variables = {name: value for name, value in first.environment.items() if not NOT_TAKEN.match(name)}
    left = sorted({*first.unknown, *(set(first.environment) - set(variables))})
    launch_args: dict[str, Scalar] = {
        "place": str(Place(file.name, first.line)),
        "command": shlex.join(first.words),
        "names": ", ".join(variables) or "-",
        "left": ", ".join(left) or "-",
    }
    finding = Finding("MIG148", Status.GOOD, "MIG148.launch", launch_args, Place(file.name, first.line))
    return FromShell((first.words[0], first.words[1:]), cwd, file.absolute(), variables, finding)


def _read_launches(file: Path, args: Sequence[str], data: bytes | None) -> tuple[list[Launch], str]:
    try:
        if (file.stat().st_size if data is None else len(data)) > LARGEST_BYTES:
            raise WorkbookError("command.file", path=str(file), error=f"> {LARGEST_BYTES >> 20} MiB")
        text = decode_bytes(file.read_bytes() if data is None else data)[0]
    except OSError as cause:
        raise WorkbookError("command.file", path=str(file), error=explain_os_error(cause)) from cause
    except Unreadable as cause:
        raise WorkbookError("MIG100.unreadable", path=str(file), **cause.sentence_args) from cause
    own = os.path.relpath(file.parent)
    outside = {"PYTHONPATH": "", **os.environ}  # scripts add to it whether or not there is one
    return find_launches(text, own, list(args), outside), text


def _explain_refusal(file: Path, shell_launches: list[Launch], text: str) -> WorkbookError:
    """One error that lists what was found, and the way out."""
    if not shell_launches:
        others: list[Scalar] = [f"{line}: {source}" for line, source in islice(other_scripts(text), SHOWN)]
        key = "shell_launch.other_scripts" if others else "shell_launch.none"
        return WorkbookError(key, path=str(file), scripts=others)
    lines: list[Scalar] = [
        f"{file.name}:{launch.line}: {textwrap.shorten(launch.source, LONGEST, placeholder=' …')}"
        for launch in shell_launches[:SHOWN]
    ]
    if len(shell_launches) > 1:
        return WorkbookError("shell_launch.several", path=str(file), count=len(shell_launches), commands=lines)
    return WorkbookError("shell_launch.not_plain", command=lines[0], why=shell_launches[0].why)


PYTHON = re.compile(r"python[\d.]*$")
MODULES = {"accelerate.commands.launch", *(f"torch.distributed.{name}" for name in ("run", "launch", "elastic"))}
PROCESSES = ("nproc_per_node", "num_processes")
MACHINES = ("nnodes", "num_machines")
#: Options without a value (torch/distributed/run.py; accelerate/commands/launch.py).
FLAGS = {"standalone", "no_python", "run_path", "use_env", "virtual_local_rank", "multi_gpu", "cpu", "u", "O", "B"}


def read_command(script: str | Path, args: Sequence[str], nproc: int) -> tuple[Path, tuple[str, ...], int]:
    """The script, its own arguments, the processes. A plain script comes back as it is.

    `script` may be a launcher with the rest in `args`, or the whole command as one string. Raises WorkbookError where
    the command names several machines, a module, or no script."""
    words = [str(script), *map(str, args)]
    if isinstance(script, str) and not Path(script).exists() and len(split := shlex.split(script)) > 1:
        words = [*split, *words[1:]]
    if not _count_launcher_words(words):
        return Path(words[0]).absolute(), tuple(words[1:]), nproc
    options, rest = _split_options(words[_count_launcher_words(words) :])
    if not rest:
        raise WorkbookError("command_line.no_script", command=shlex.join(words))
    machines = next((options[name] for name in MACHINES if name in options), "1")
    if machines not in ("1", "1:1"):
        raise WorkbookError("command_line.machines", count=machines)
    wanted = next((options[name] for name in PROCESSES if name in options), str(nproc))
    if not wanted.isdigit() or int(wanted) < 1:
        raise WorkbookError("command_line.processes", given=wanted)
    return Path(rest[0]).absolute(), tuple(rest[1:]), int(wanted)


def _count_launcher_words(words: Sequence[str]) -> int:
    """How many words the launcher is; 0 where there is none."""
    name = Path(words[0]).name
    if name == "torchrun":
        return 1
    if name == "accelerate" and words[1:2] == ["launch"]:
        return 2
    if PYTHON.match(name):
        after = [at for at, word in enumerate(words) if word in MODULES and words[at - 1] == "-m"]
        return after[0] + 1 if after else 1
    return 0


def _split_options(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The launcher's options, and what follows them: the script and its arguments."""
    options: dict[str, str] = {}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].lstrip("-").partition("=")
        name = name.replace("-", "_")
        if name in ("m", "module"):
            raise WorkbookError("command_line.module", module=" ".join(words[at + 1 : at + 2]))
        if not equals and name not in FLAGS and at + 1 < len(words) and not words[at + 1].endswith(".py"):
            at += 1
            value = words[at]
        options[name] = value
        at += 1
    return options, list(words[at:])
