"""What a launch script hands to the script it starts: `--device cuda`, `device=cuda:0`, `--backend nccl`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import REWRITE, Findings, found_at
from ascend_workbook.migration.texts import shell

#: An option whose name says device or accelerator, with its value.
DEVICE = re.compile(
    r"(?<![\w.-])(?:--?)?[\w.-]*(?:device|accelerator)[\w.-]*(?:=|\s+)"
    r"(['\"]?)(?P<value>cuda)(?=(?::\d+)?\1(?!\S))"
)
#: An argument alone: `--device=cuda:0` or `device=cuda` in one, or the value that follows `--device`.
VALUE = re.compile(r"(?:(?P<option>(?:--?)?[\w.-]+)=)?(?P<value>cuda|nccl|NCCL)(?P<number>(?::\d+)?)\Z")


def check(source: Source) -> Findings:
    """The findings of a launch script in this mode alone."""
    for start, line in shell.split_commands(source):
        for match in DEVICE.finditer(line):
            at = start + match.start("value")
            edits = (Edit(at, at + len("cuda"), "npu"),)
            yield found_at(source, at, "MIG138.device", REWRITE, edits, name="cuda", new="npu")
        for match in shell.BACKEND.finditer(line):
            if not shell.is_fixed(match.group("option")):
                at = start + match.start("value")
                edits = (Edit(at, at + len("nccl"), "hccl"),)
                yield found_at(source, at, "MIG138.backend", REWRITE, edits, name=match.group("value"), new="hccl")


def rewrite_arguments(args: Sequence[str]) -> tuple[str, ...]:
    """A script's own arguments as the rewritten script takes them: devices say npu, backends hccl."""
    return tuple(_rewrite_argument(argument, args[at - 1] if at else "") for at, argument in enumerate(args))


def _rewrite_argument(argument: str, before: str) -> str:
    """One argument; the option that it is the value of stands in it, or is the whole argument `before` it."""
    match = VALUE.match(argument)
    if match is None:
        return argument
    option = match.group("option") or (before if before.startswith("-") and "=" not in before else "")
    if match.group("value") == "cuda":
        new = "npu" if "device" in option or "accelerator" in option else ""
    else:
        new = "hccl" if "backend" in option and not shell.is_fixed(option) and not match.group("number") else ""
    return f"{argument[: match.start('value')]}{new}{match.group('number')}" if new else argument
