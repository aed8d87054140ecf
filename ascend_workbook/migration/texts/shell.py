"""Launch scripts: device variables, nccl, torchrun, and NVIDIA's tools.

CUDA_VISIBLE_DEVICES is not read by an NPU: a job given two cards would take all of them. `--backend nccl` stays,
since the script's own choices may know no other and transfer_to_npu replaces it where the group is made.
CUDA_DEVICE_MAX_CONNECTIONS=1 is asked for by Megatron and MindSpeed alike and stays too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import (
    ADVICE,
    AUTO,
    DOCUMENTED,
    IMAGES,
    INSTALLING,
    MANUAL,
    NPU_SMI,
    PROFILER,
    REWRITE,
    TRANSFER,
    VARIABLES,
    Findings,
    Known,
    found_at,
)
from ascend_workbook.migration.rules.environment import OF_A_BUILD, RENAMED, TAKES, WITHOUT_EFFECT, of_nccl, takes_value
from ascend_workbook.migration.texts.requirements import check_install_command

CODE = "MIG127"
RUN = "https://docs.pytorch.org/docs/stable/elastic/run.html"
KNOWN = Known(
    DOCUMENTED,
    VARIABLES + "env_variable_list.md",
    links={
        "smi": NPU_SMI,
        "slurm": "https://slurm.schedmd.com/gres.html",
        "nvidia_profiler": PROFILER,
        "toolkit": INSTALLING,
        "wheel": INSTALLING,
        "docker": IMAGES,
        "analyse": "https://pypi.org/project/msprof-analyze/",
        "launch": RUN,
        **dict.fromkeys(("backend", "upper_case", "fixed_choices"), TRANSFER),
    },
)
SUFFIXES = (".sh", ".bash", ".zsh", ".slurm", ".sbatch")
#: An escaped letter, a quoted string, or a comment.
COMMENT = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|(?P<comment>(?:^|(?<=[\s;]))#.*$)")
VARIABLE = re.compile(r"(?<![\w-])(?:" + "|".join(sorted((*RENAMED, *WITHOUT_EFFECT))) + r")(?!\w)")
SET_TO = re.compile(r"=('[^']*'|\"[^\"]*\"|[^\s;&|)]*)")
NCCL_VARIABLE = re.compile(r"(?<!\w)(?:TORCH_)?NCCL_[A-Z0-9_]+(?==)")
BACKEND = re.compile(
    r"(?P<option>--?[\w-]*backend[\w-]*|(?<![\w-])\w*(?:backend|BACKEND)\w*(?==))(?:=|\s+)"
    r"(?P<quote>['\"]?)(?P<value>nccl|NCCL)(?P=quote)(?![\w-])"
)
#: Options whose script takes nothing but its own choices.
FIXED_CHOICES = {"--distributed-backend"}
#: What a job asks of SLURM.
ASKED = r"--gres[= ]gpu[^\s#]*|--gpus(?:-per-\w+)?[= ][^\s#]+|-G\s*\d+"
COMMANDS = [(re.compile(pattern), *row) for pattern, *row in api_map.list_names("commands")]
#: What it asks for itself stands in a comment.
SBATCH = re.compile(rf"^#SBATCH\s+(?:.*\s)?(?P<asked>{ASKED})")
DOCKER = re.compile(r"(?<!\w)docker\s+run")


def is_shell(name: str) -> bool:
    return name.endswith(SUFFIXES)


def check(source: Source) -> Findings:
    for start, line in split_commands(source):
        yield from judge_line(source, start, line)
    for number, start in enumerate(source.line_starts, 1):
        job = SBATCH.match(source.read_line(number))
        if job:
            yield found_at(source, start + job.start("asked"), "MIG127.slurm", MANUAL, command=job.group("asked"))


def split_commands(source: Source) -> Iterator[tuple[int, str]]:
    """Offset and characters of each command without its comment; lines that a backslash joins are one, as long."""
    begun, joined = 0, ""
    for number, start in enumerate(source.line_starts, 1):
        line = without_comment(source.read_line(number))
        after = source.line_starts[number] if number < len(source.line_starts) else len(source.text)
        begun = begun if joined else start
        if line.endswith("\\"):
            joined += line[:-1].ljust(after - start)
            continue
        yield begun, joined + line
        joined = ""
    if joined:
        yield begun, joined


def without_comment(line: str) -> str:
    """The line up to a `#` that begins a comment; one in quotes does not."""
    comment = next((match for match in COMMENT.finditer(line) if match.group("comment") is not None), None)
    return line[: comment.start("comment")] if comment else line


def judge_line(source: Source, start: int, line: str) -> Iterator[Finding]:
    """The findings of one command line that begins at an offset of the text."""
    for match in VARIABLE.finditer(line):
        yield judge_variable(source, start + match.start(), match.group(), set_to(line, match.end()))
    for match in NCCL_VARIABLE.finditer(line):
        built = OF_A_BUILD.fullmatch(match.group())
        outcome, repair = ("no_effect", ADVICE) if built else ("nccl_variable", of_nccl(match.group()))
        yield found_at(source, start + match.start(), f"MIG127.{outcome}", repair, name=match.group())
    for match in BACKEND.finditer(line):
        option = match.group("option")
        outcome, repair = ("backend", AUTO) if match.group("value") == "nccl" else ("upper_case", MANUAL)
        if is_fixed(option):
            outcome, repair = "fixed_choices", AUTO
        yield found_at(source, start + match.start("value"), f"MIG127.{outcome}", repair, option=option)
    for pattern, outcome, repair in COMMANDS:
        command = pattern.search(line)
        if command and (outcome != "docker" or DOCKER.search(line)):
            yield found_at(source, start + command.start(), f"MIG127.{outcome}", repair, command=command.group())
    yield from check_install_command(source, start, line)


def judge_variable(source: Source, at: int, name: str, value: str | None) -> Finding:
    """A variable that has another name on an NPU, or none; `value` is what it is set to, as far as that is told."""
    if name not in RENAMED:
        return found_at(source, at, "MIG127.no_effect", ADVICE, name=name)
    new = RENAMED[name]
    if not takes_value(name, value):
        return found_at(source, at, "MIG127.value", MANUAL, name=name, new=new, value=value, form=TAKES[name][1])
    return found_at(source, at, "MIG127.renamed", REWRITE, (Edit(at, at + len(name), new),), name=name, new=new)


def set_to(line: str, end: int) -> str | None:
    """Return what a line sets the variable that ends here to; None where it sets nothing or a shell's expression."""
    match = SET_TO.match(line, end)
    value = match.group(1).strip("'\"") if match else None
    return None if value is None or "$" in value or "`" in value else value


def is_fixed(option: str) -> bool:
    """The option of a script that takes its own choices alone, or the variable that is named for it."""
    return "--" + option.lstrip("-").lower().replace("_", "-") in FIXED_CHOICES
