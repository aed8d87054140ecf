"""Settings that a script reads, and files that start it: YAML, JSON, `.env`.

Only what is plain: a key and a value that together mean one thing wherever they stand (`backend: nccl`). Values are
rewritten where the new one is certain; a device or a backend stays under transfer_to_npu, which replaces it where torch
takes it, and is rewritten in the mode that writes npu into the source (`make_settings_explicit`). Commands in them are
judged as a launch script's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.finding import Edit, Finding, Place, Status
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import (
    DOCUMENTED,
    IMAGES,
    MANUAL,
    REWRITE,
    TRANSFER,
    VARIABLES,
    Findings,
    Known,
    found_at,
)
from ascend_workbook.migration.rules.environment import RENAMED, WITHOUT_EFFECT, of_nccl
from ascend_workbook.migration.texts import shell

# The lines of a file of settings, YAML or JSON, as commands or as keys with values.

#: `key: value` of YAML, `"key": "value"` of JSON, alone on a line or in braces.
ENTRY = re.compile(
    r"(?:^\s*(?:-\s+)*|[{,]\s*)(?P<k>['\"]?)(?P<key>[A-Za-z_][\w./-]*)(?P=k)\s*:\s*"
    r"(?P<q>['\"])?(?P<value>(?(q)[^'\"\\]*|[^\s,{}\[\]'\"#]+))(?(q)(?P=q))(?=\s*(?:[,}\]]|$))"
)
#: A string in quotes where YAML begins one; `close` is empty where the line does not end it.
STRING = re.compile(
    r"(?:^\s*(?:-\s+)*|[{\[,]\s*|:\s+|(?<=['\"]):\s*)(?:[!&]\S+\s+)*"
    r"(?P<s>'(?:[^']|'')*|\"(?:\\.|[^\"\\])*)(?P<close>['\"])?"
)
ENDS = {"'": re.compile(r"(?:[^']|'')*'"), '"': re.compile(r"(?:\\.|[^\"\\])*\"", re.DOTALL)}
#: A plain value behind a key or a dash: deeper lines below go on with it.
PLAIN = re.compile(r"^(?P<in>\s*(?:-\s+)*)(?:['\"]?[\w./-]+['\"]?\s*:\s+|(?<=-\s))(?P<value>[^\s'\"{\[|>&*!#].*)$")
DASHES = re.compile(r"^\s*(?:-\s+)*")
COMMAND_KEYS = {"command", "cmd", "run", "script", "entrypoint", "args", "setup", "before_script", "test"}
COMMAND = re.compile(rf"^\s*(?:-\s+)*(?P<k>['\"]?)(?:{'|'.join(sorted(COMMAND_KEYS))})(?P=k)\s*:\s*(?=[^\s|>])")
ITEM = re.compile(r"^\s*-\s+['\"]?(?=[A-Za-z_][A-Za-z0-9_]*=)")


def read_setting_lines(source: Source) -> Iterator[tuple[int, str, bool]]:
    """Offset, characters without comment, and whether they are a command's; other text of several lines is left out."""
    inside, is_command, quoted_to = -1, False, 0
    for number, start in enumerate(source.line_starts, 1):
        line = source.read_line(number)
        if source.path.endswith(".json"):
            yield start, line, False
            continue
        indent = len(line) - len(line.lstrip())
        if start < quoted_to or (inside >= 0 and (not line.strip() or indent > inside)):
            if is_command and start >= quoted_to:
                yield start, shell.without_comment(line), True
            continue
        line = shell.without_comment(line)
        dashes, block, plain = DASHES.match(line), _key_of_block(line), PLAIN.match(line)
        above = dashes.group() if dashes else ""
        command_match = None if block is not None else COMMAND.match(line) or ITEM.match(line)
        is_command = command_match is not None or block in COMMAND_KEYS
        goes_on = block is not None or plain is not None
        inside = len(above) if goes_on and (block or ":" in line) else len(above.rstrip()) - 1 if goes_on else -1
        quoted_to = _quoted_to(source, start, line)
        if command_match:
            yield start + command_match.end(), line[command_match.end() :], True
        elif block is None:
            yield start, line, False


def _key_of_block(line: str) -> str | None:
    """The key whose block of text begins here (`run: |`), empty for an item's (`- >-`); None where none begins."""
    words = line.split()
    if not words or not re.fullmatch(r"[|>][-+\d]{0,2}", words.pop()):
        return None
    while words and words[-1][0] in "!&":
        words.pop()
    while words and words[0] in ("-", "?", "---"):
        words.pop(0)
    if words and not words[-1].endswith(":"):
        return None
    return " ".join(words)[:-1].strip("'\" ")


def _quoted_to(source: Source, start: int, line: str) -> int:
    """Where the string ends that a line begins and does not end; 0 where it begins none."""
    for string in STRING.finditer(line):
        at = string.start("s")
        if not string.group("close") and "," not in line[:at]:
            end = ENDS[line[at]].match(source.text, start + at + 1)
            return end.end() if end else 0
    return 0


def find_entries(line: str, *, is_json: bool) -> Iterator[re.Match[str]]:
    """The keys with their values on a line, as matches of ENTRY; what stands inside a string is none."""
    spans = [(match.start("s"), match.end()) for match in STRING.finditer(line)]
    at = 0
    while match := ENTRY.search(line, at):
        key = match.span("key")
        behind = bisect_right(spans, (key[0], 0)) - 1
        around = spans[behind] if behind >= 0 and key[0] < spans[behind][1] else None
        if around == (key[0] - 1, key[1] + 1) or (around is None and not is_json):
            yield match
            at = match.end()
        else:
            at = around[1] if around else match.end()


CODE = "MIG152"
ACCELERATE = "https://github.com/huggingface/accelerate/blob/main/src/accelerate/utils/dataclasses.py"
TRAINER = "https://huggingface.co/docs/transformers/main/en/perf_train_special"
KNOWN = Known(
    DOCUMENTED,
    VARIABLES + "env_variable_list.md",
    inferred=("device", "backend", "cards"),
    hours={"cards": 0.1, "bitsandbytes": 2.0, "flash": 0.25, "layout": 0.25, "upper_case": 0.25, "variable": 0.25},
    links={
        **dict.fromkeys(("device", "backend", "upper_case", "inductor"), TRANSFER),
        **dict.fromkeys(("runtime", "image"), IMAGES),
        **dict.fromkeys(("bitsandbytes", "flash"), TRAINER),
        "distributed_type": ACCELERATE,
        "one_bit": "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/comm/hccl.py",
        "accelerator": "https://lightning.ai/docs/pytorch/stable/extensions/accelerator.html",
        "fp8": "https://gitcode.com/Ascend/TransformerEngineNPU/blob/main/README.md",
        "gres": "https://slurm.schedmd.com/gres.html",
        "resource": Sentence("migration.without.cluster"),
        "cards": Sentence("migration.without.key"),
    },
)
#: What a file of settings must say for us to look at its keys.
SPEAKS = re.compile(
    rb"cuda|nccl|nvidia|gpu|fp8|transformer-engine|float64|double|precision|flash_attention|[48]bit|channels_last|tf32"
    rb"|inductor|torch_compile",
    re.IGNORECASE,
)
SUFFIXES = (".yaml", ".yml", ".json")
LARGEST_BYTES = 1 << 20


@dataclass(frozen=True)
class Choice:
    """A key and a value that mean something, and what. `new` is the value that takes its place for certain."""

    key: str
    value: str
    outcome: str
    repair: str
    new: str = ""


CHOICES = [Choice(*row) for row in api_map.list_names("settings")]
#: Values of a container's image that bring CUDA.
IMAGE = re.compile(
    r"(?:docker\.io/)?nvidia/cuda\b[\w.:@/-]*|nvcr\.io/nvidia/[\w.:@/-]+|pytorch/pytorch:[\w.-]*cuda[\w.-]*"
    r"|(?<![\w./-])[\w./-]+:[\w.-]*\bcu(?:da)?1[0-9][\w.-]*"
)
CONTAINER_VARIABLE = re.compile(r"(?<!\w)NVIDIA_(?:VISIBLE_DEVICES|DRIVER_CAPABILITIES|REQUIRE_CUDA)(?!\w)")
#: CUDA, by a name that no NPU's script needs.
MENTIONS = re.compile(r"(?<!ASCEND_)(?:cuda(?!_DEVICE_MAX_CONNECTIONS)|nccl|nvidia)", re.IGNORECASE)
#: In the explicit mode: outcome -> what is written instead.
EXPLICIT = {"device": ("cuda", "npu"), "backend": ("nccl", "hccl")}
FIXED_KEYS = {"distributed_backend"}


def is_settings(name: str) -> bool:
    return name.endswith(SUFFIXES) or is_env(name)


def is_env(name: str) -> bool:
    return name == ".env" or name.startswith(".env.") or name.endswith(".env")


def may_say_cuda(file: Path) -> bool:
    """A file of settings of ordinary size that may say something; one that cannot be opened may."""
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_BYTES + 1)
    except OSError:
        return True
    return len(data) <= LARGEST_BYTES and SPEAKS.search(data) is not None


def check(source: Source) -> Findings:
    commands = ((start, line, True) for start, line in shell.split_commands(source))
    for start, line, is_command in commands if is_env(Path(source.path).name) else read_setting_lines(source):
        yield from (_check_command if is_command else _check_entries)(source, start, line)


def report_unjudged_file(source: Source, line_findings: Findings) -> Iterator[Finding]:
    """A file with lines that say CUDA and are not judged: not looked at is not clean."""
    judged = {finding.place.line for finding in line_findings if finding.place}
    for start, line, _ in read_setting_lines(source):
        number = bisect_right(source.line_starts, start)
        if number not in judged and MENTIONS.search(line):
            place = Place(source.path, number)
            yield Finding(CODE, Status.NOT_LOOKED, "MIG152.untold", {"count": 1, "first": str(place)}, place)
            return


def fold_unjudged(findings: list[Finding]) -> list[Finding]:
    """The files with such lines as one finding; all others as they are."""
    other_findings = [finding for finding in findings if finding.key != "MIG152.untold"]
    count = len(findings) - len(other_findings)
    if not count:
        return findings
    first = next(finding for finding in findings if finding.key == "MIG152.untold").args["first"]
    return [*other_findings, Finding(CODE, Status.NOT_LOOKED, "MIG152.untold", {"count": count, "first": first})]


def make_settings_explicit(source: Source) -> Iterator[Finding]:
    """Yield the devices and backends that the mode `explicit` writes: scripts that say npu take no cuda from a file."""
    for start, line, is_command in [] if is_env(Path(source.path).name) else read_setting_lines(source):
        for match in () if is_command else find_entries(line, is_json=source.path.endswith(".json")):
            choice = _find_choice(match)
            old, new = EXPLICIT.get(choice.outcome if choice else "", ("", ""))
            if old and match.group("key") not in FIXED_KEYS:
                at = start + match.start("value")
                edits = (Edit(at, at + len(old), new),)
                yield found_at(source, at, f"MIG138.{choice.outcome}", REWRITE, edits, name=old, new=new)  # type: ignore[union-attr]


def _check_command(source: Source, start: int, line: str) -> Iterator[Finding]:
    yield from shell.judge_line(source, start, line)
    for match in CONTAINER_VARIABLE.finditer(line):
        yield found_at(source, start + match.start(), "MIG152.variable", MANUAL, name=match.group())


def _check_entries(source: Source, start: int, line: str) -> Iterator[Finding]:
    for match in find_entries(line, is_json=source.path.endswith(".json")):
        key, value, at = match.group("key"), match.group("value"), start + match.start("value")
        choice = _find_choice(match)
        image = IMAGE.fullmatch(value) if key in ("image", "base_image", "container", "docker_image") else None
        if choice:
            edits = (Edit(at, at + len(value), choice.new),) if choice.new else ()
            choice_args = {"name": key, "value": value, "new": choice.new}
            yield found_at(source, at, f"MIG152.{choice.outcome}", choice.repair, edits, **choice_args)
        elif image:
            yield found_at(source, at, "MIG152.image", MANUAL, name=key, value=value)
        elif key.isupper():
            yield from _check_variable(source, start + match.start("key"), key, value)
        elif key == "name" and value.isupper():
            yield from _check_variable(source, at, value, _value_of_pair(source, start, match))


def _value_of_pair(source: Source, start: int, name: re.Match[str]) -> str | None:
    """The value of a pair as Kubernetes has it, `- name: A` and `value: "0"` behind it or on the next line."""
    number = bisect_right(source.line_starts, start)
    below = source.read_line(number + 1) if number < len(source.line_starts) else ""
    is_json = source.path.endswith(".json")
    for line, after in ((source.read_line(number), name.end()), (below, 0)):
        for match in find_entries(line, is_json=is_json):
            if match.start() >= after and match.group("key") == "value":
                return match.group("value")
    return None


def _find_choice(match: re.Match[str]) -> Choice | None:
    key, value = match.group("key"), match.group("value")
    return next(
        (choice for choice in CHOICES if re.fullmatch(choice.key, key) and re.fullmatch(choice.value, value)), None
    )


def _check_variable(source: Source, at: int, name: str, value: str | None) -> Iterator[Finding]:
    """A variable of the environment as a key; None where its value comes from elsewhere."""
    if name in RENAMED or name in WITHOUT_EFFECT:
        yield shell.judge_variable(source, at, name, None if value is not None and "$" in value else value)
    elif name.startswith(("NCCL_", "TORCH_NCCL_")):
        yield found_at(source, at, "MIG127.nccl_variable", of_nccl(name), name=name)
    elif CONTAINER_VARIABLE.fullmatch(name):
        yield found_at(source, at, "MIG152.variable", MANUAL, name=name)
