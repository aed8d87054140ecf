"""A training's own launch command, `torchrun --nproc_per_node=2 train.py --epochs 1`: script, arguments, processes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError

PYTHON = re.compile(r"python[\d.]*$")
MODULES = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.elastic",
    "accelerate.commands.launch",
)
PROCESSES = ("nproc_per_node", "num_processes")
MACHINES = ("nnodes", "num_machines")
#: Options without a value (torch/distributed/run.py; accelerate/commands/launch.py).
FLAGS = {"standalone", "no_python", "run_path", "use_env", "virtual_local_rank", "multi_gpu", "cpu", "u", "O", "B"}


def read_command(script: str | Path, args: Sequence[str], nproc: int) -> tuple[Path, tuple[str, ...], int]:
    """The script, its own arguments, the processes. A plain script comes back as it is.

    `script` may be a launcher with the rest in `args`, or the whole command as one string. Raises WorkbookError where
    the command names several machines, a module, or no script.
    """
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
