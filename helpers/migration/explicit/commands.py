"""What a launch script hands to the script it starts: `--device cuda`, `device=cuda:0`, `--backend nccl`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from helpers.finding import Edit, Finding
from helpers.migration.repair import REWRITE, found_at
from helpers.migration.source import Source
from helpers.migration.texts import shell

#: An option whose name says device or accelerator, with its value.
DEVICE = re.compile(
    r"(?<![\w.-])(?:--?)?[\w.-]*(?:device|accelerator)[\w.-]*(?:=|\s+)"
    r"(['\"]?)(?P<value>cuda)(?=(?::\d+)?\1(?!\S))"
)
#: The value of an argument alone: what follows `--device`, or `--device=cuda:0` in one.
VALUE = re.compile(r"(?P<before>(?:--?[\w.-]+=)?)cuda(?P<number>(?::\d+)?)\Z")
BACKEND = re.compile(r"(?P<before>(?:--?[\w.-]*backend[\w.-]*=)?)nccl\Z", re.IGNORECASE)
EXAMPLES = (
    ("python 训练.py --device cuda\n", "python 训练.py --device npu\n"),
    ("python t.py --device='cuda:0' --x 1\n", "python t.py --device='npu:0' --x 1\n"),
    ("python t.py train.device=cuda\n", "python t.py train.device=npu\n"),
)
NEAR_MISSES = (
    "python t.py --device cpu  # 主机\n",
    "python t.py --name cuda\n",
    "python t.py --device cuda_fake\n",
    "ls cuda\n",
    "# --device cuda\n",
)


def check(source: Source) -> Iterable[Finding]:
    """The findings of a launch script in this mode alone."""
    for start, line in shell.commands(source):
        yield from check_line(source, start, line)


def check_line(source: Source, start: int, line: str) -> Iterator[Finding]:
    for match in DEVICE.finditer(line):
        at = start + match.start("value")
        edits = (Edit(at, at + len("cuda"), "npu"),)
        yield found_at(source, at, "MIG138.device", REWRITE, edits, name="cuda", new="npu")


def arguments(args: Sequence[str]) -> tuple[str, ...]:
    """A script's own arguments as the rewritten script takes them: devices say npu, backends hccl."""
    new: list[str] = []
    for at, given in enumerate(args):
        option = args[at - 1] if at else ""
        device, backend = VALUE.match(given), BACKEND.match(given)
        if device and (device.group("before") or "device" in option or "accelerator" in option):
            new.append(f"{device.group('before')}npu{device.group('number')}")
        elif backend and (backend.group("before") or "backend" in option) and option not in shell.FIXED_CHOICES:
            new.append(f"{backend.group('before')}hccl")
        else:
            new.append(given)
    return tuple(new)
