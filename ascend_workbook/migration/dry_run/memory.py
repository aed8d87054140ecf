"""How much memory both sides of a dry run held, whether it grew, and what to do where the model is too large."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.migration import api_map
from ascend_workbook.migration.closure import walk_imports
from ascend_workbook.migration.dry_run.sides import Plan
from ascend_workbook.migration.reading.source import read_source
from ascend_workbook.migration.reading.undecoded import Unreadable

BATCH, ACCUMULATE, LAYERS, WIDTH, HEADS, LENGTH = "batch", "accumulate", "layers", "width", "heads", "length"
#: By role, what names it; the first that fits counts.
NAMES: list[tuple[str, str]] = api_map.list_names("option_roles")
#: What a role is brought down to. A batch of one breaks batch norm.
SMALL = {BATCH: 2, ACCUMULATE: 1, LAYERS: 2, WIDTH: 64, LENGTH: 64}
HEAD_WIDTH = 16


@dataclass(frozen=True)
class Option:
    """One of the script's own options. `now` is what the command or the default says; None: not to be told."""

    names: tuple[str, ...]
    role: str
    now: int | None
    place: Place
    choices: tuple[int, ...] = ()
    joined: bool = False  # only `--name=value` is understood


@dataclass(frozen=True)
class Change:
    option: Option
    to: int


def reduce_training(script: Path, args: Sequence[str], nproc: int = 1) -> tuple[list[Change], list[str]]:
    """Find what can be made smaller, and the arguments that do it; nothing and the same where no option is found."""
    found_options = [_apply_arguments(option, args) for option in find_options(script)]
    heads = next((option.now for option in found_options if option.role == HEADS and option.now), None)
    changes = []
    for option in found_options:
        if option.role in SMALL and (small := _choose_small_value(option, heads, nproc)) is not None:
            changes.append(Change(option, small))
    words = list(args)
    for change in changes:
        words = _replace_argument(words, change)
    return changes, words


def find_options(script: Path) -> list[Option]:
    """Find the options with a role, of the script and the modules of its folder, each once."""
    options_by_name: dict[str, Option] = {}
    for file in walk_imports(script):
        try:
            tree = read_source(file).tree
        except Unreadable:
            continue  # its options stay unknown
        name = file.relative_to(script.parent).as_posix()
        for option in [
            *_read_parser_calls(tree, name),
            *(_read_global_options(tree, name) if file == script else ()),
            *_read_dataclass_fields(tree, name),
        ]:
            options_by_name.setdefault(option.names[0], option)
    return list(options_by_name.values())


def _role_of_option(name: str) -> str:
    plain = name.lstrip("-").replace("-", "_").lower()
    return next((role for role, pattern in NAMES if re.search(pattern, plain)), "")


def _read_parser_calls(tree: ast.AST, file: str) -> Iterator[Option]:
    """add_argument("-b", "--batch-size", default=32), @click.option("--batch-size", default=32)."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        names = tuple(a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        if node.func.attr not in ("add_argument", "option") or not any(name.startswith("-") for name in names):
            continue
        role = next(filter(None, map(_role_of_option, reversed(names))), "")
        kind = named.get("type")
        if role and "action" not in named and not (isinstance(kind, ast.Name) and kind.id in ("str", "bool", "float")):
            choices = tuple(filter(None, map(_read_integer, getattr(named.get("choices"), "elts", ()))))
            longest = tuple(sorted(names, key=len, reverse=True))
            yield Option(longest, role, _read_integer(named.get("default")), Place(file, node.lineno), choices)


def _read_global_options(tree: ast.Module, file: str) -> Iterator[Option]:
    """batch_size = 12 in a script that reads configurator.py: --batch_size=2."""
    if not any(isinstance(n, ast.Constant) and n.value == "configurator.py" for n in ast.walk(tree)):
        return
    for node in tree.body:
        name = getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else ""
        if isinstance(node, ast.Assign) and (role := _role_of_option(name)):
            yield Option((f"--{name}",), role, _read_integer(node.value), Place(file, node.lineno), (), True)


def _read_dataclass_fields(tree: ast.Module, file: str) -> Iterator[Option]:
    """Fields of dataclasses, where HfArgumentParser makes options of them; those of TrainingArguments by heart."""
    text = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if "HfArgumentParser" not in text:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _role_of_option(node.target.id):
            value: ast.AST | None = node.value
            if isinstance(value, ast.Call):
                value = next((keyword.value for keyword in value.keywords if keyword.arg == "default"), None)
            now = _read_integer(value)
            yield Option((f"--{node.target.id}",), _role_of_option(node.target.id), now, Place(file, node.lineno))
    if text & {"TrainingArguments", "Seq2SeqTrainingArguments"}:
        for name, role in (("per_device_train_batch_size", BATCH), ("gradient_accumulation_steps", ACCUMULATE)):
            yield Option((f"--{name}",), role, 8 if role == BATCH else 1, Place(file))


def _read_integer(node: ast.AST | None) -> int | None:
    """A number as source has it: 12, 5 * 8."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _read_integer(node.left), _read_integer(node.right)
        return left * right if left is not None and right is not None else None
    return None


def _apply_arguments(option: Option, args: Sequence[str]) -> Option:
    """As the command line has it, where it does."""
    at = _index_of_option(option, args)
    if at is None:
        return option
    text = args[at].partition("=")[2] if "=" in args[at] else (args[at + 1] if at + 1 < len(args) else "")
    return replace(option, now=int(text)) if text.isdigit() else option


def _index_of_option(option: Option, args: Sequence[str]) -> int | None:
    return next((at for at, word in enumerate(args) if word.partition("=")[0] in option.names), None)


def _choose_small_value(option: Option, heads: int | None, nproc: int) -> int | None:
    """None where it is small already."""
    small = SMALL[option.role] * (nproc if option.role == BATCH else 1)
    if option.role == WIDTH and heads:
        small = heads * HEAD_WIDTH
    if option.choices:
        small = min(option.choices)
    return small if option.now is None or option.now > small else None


def _replace_argument(words: list[str], change: Change) -> list[str]:
    at, name = _index_of_option(change.option, words), change.option.names[0]
    argument_words = [f"{name}={change.to}"] if change.option.joined else [name, str(change.to)]
    if at is None:
        return [*words, *argument_words]
    if "=" in words[at]:
        return [*words[:at], f"{words[at].partition('=')[0]}={change.to}", *words[at + 1 :]]
    return [*words[: at + 1], str(change.to), *words[at + 2 :]]


#: Of what the machine has left, the share that a run may take before it is ended.
SHARE = 0.9
MIB = 2**20
#: Growth that is none: allocators round, and loaders fill their queues.
QUIET_MIB, QUIET_SHARE, LEAST_STEPS = {"device": 1, "host": 4}, 0.02, 4
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
#: Messages of allocators: PyTorch's on the host and on devices, numpy's, CANN's.
NO_MEMORY = re.compile(
    r"MemoryError|can't allocate memory|out of memory|OutOfMemoryError|Unable to allocate .*iB|Cannot allocate memory"
)


def available_mib(meminfo: Path = Path("/proc/meminfo"), cgroups: Iterable[tuple[str, str]] = CGROUPS) -> int | None:
    """Return what a new process may take, of the machine and of its container. None: not to be told."""
    try:
        match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text(encoding="ascii"))
    except OSError:
        return None
    left = [int(match[1]) // 1024] if match else []
    for limit, used in cgroups:
        try:
            most, now = Path(limit).read_text(encoding="ascii").strip(), Path(used).read_text(encoding="ascii")
        except OSError:
            continue
        if most.isdigit():
            left.append((int(most) - int(now)) // MIB)
    return max(min(left), 0) if left else None


def limit_mib(nproc: int) -> int | None:
    """Return the memory limit for each process of a run."""
    left = available_mib()
    return None if left is None else max(int(left * SHARE) // nproc, 1)


def read_memory_logs(result: LaunchResult) -> list[dict[str, Any]]:
    """Read what training_watch.py wrote, rank by rank."""
    return [dict(log.meta["memory"]) for log in result.logs if log.meta.get("memory")]


def collect_peaks(result: LaunchResult | None) -> dict[str, Any]:
    """Collect the peaks of all ranks together: `host_mib`, and `device_mib` where the device has memory of its own."""
    ranks = read_memory_logs(result) if result is not None else []
    device = [rank["device_peak_mib"] for rank in ranks if rank["device_peak_mib"] is not None]
    return {
        "host_mib": sum(rank["host_peak_mib"] for rank in ranks) if ranks else None,
        "device_mib": sum(device) if device else None,
    }


def report_memory(before: LaunchResult, after: LaunchResult | None) -> list[Finding]:
    """Report the peaks of both sides, and growth from step to step."""
    args: dict[str, Scalar] = {}
    growth: list[Finding] = []
    for side, result in (("baseline", before), ("target", after)):
        sizes = {name.removesuffix("_mib"): size for name, size in collect_peaks(result).items()}
        args.update({f"{side}_{name}": None if size is None else f"{size} MiB" for name, size in sizes.items()})
        growth += _find_growth(side, result) if result is not None else []
    return [Finding("MIG144", Status.GOOD, "MIG144.peaks", args), *growth]


def _find_growth(side: str, result: LaunchResult) -> list[Finding]:
    """What grows at every step after the first; the first fills caches and the optimiser's state."""
    for memory in read_memory_logs(result):
        for at, where in ((1, "device"), (0, "host")):
            held = [step[at] for step in memory["steps"][1:] if step[at] is not None]
            more = [after - before for before, after in zip(held, held[1:])]
            if len(more) < LEAST_STEPS - 1 or min(more) <= 0:
                continue
            total = held[-1] - held[0]
            if total > max(QUIET_MIB[where] * len(more), QUIET_SHARE * held[0]):
                growth_args: dict[str, Scalar] = {
                    "side": Sentence(f"migration.side.{side}"),
                    "where": Sentence(f"migration.memory.{where}"),
                    "each": round(total / len(more), 1),
                    "first": held[0],
                    "last": held[-1],
                }
                return [Finding("MIG144", Status.LOOK, "MIG144.grows", growth_args)]
    return []


def too_large(plan: Plan, side: str, result: LaunchResult) -> Finding | None:
    """Where a side died for want of memory: what shows it, and a smaller configuration to try."""
    why = _find_evidence(result)
    if why is None:
        return None
    args, nproc = plan.original.args, plan.original.nproc
    changes, words = reduce_training(plan.script, args, nproc)
    script = [plan.script.name, *words]
    smaller = ["ascend-workbook", "dry-run", *(["--nproc", str(nproc)] if nproc > 1 else []), *script]
    meta = ["ascend-workbook", "dry-run", "--meta", plan.script.name, *args]
    changed: list[Scalar] = [
        f"{change.option.names[0]} {'?' if change.option.now is None else change.option.now} -> {change.to}"
        for change in changes
    ]
    peak = collect_peaks(result)["host_mib"]
    facts: dict[str, Scalar] = {"side": Sentence(f"migration.side.{side}"), "why": why, "peak": peak}
    facts |= {"changes": changed, "meta": shlex.join(meta)}
    if changes:
        facts |= {"command": shlex.join(smaller), "places": [str(change.option.place) for change in changes]}
    key = "MIG145.too_large" if changes else "MIG145.no_option"
    return Finding("MIG145", Status.FIX, key, facts, weight=1500.0)


def _find_evidence(result: LaunchResult) -> Sentence | None:
    """Our own limit, the kernel's kill, or an allocator's message."""
    ended = [memory for memory in read_memory_logs(result) if memory["ended"]]
    if ended:
        return Sentence("MIG145.limit", limit=ended[0]["limit_mib"], held=ended[0]["host_peak_mib"])
    text = "" if result.error is None else f"{result.error.type} {result.error.message}"
    if result.error is not None and NO_MEMORY.search(text):
        return Sentence("MIG145.refused", error=text.strip().splitlines()[0][:300])
    tail = "" if result.error is None else "\n".join(result.error.traceback)
    killed = result.outcome == "killed" and result.exit_code == -9
    return Sentence("MIG145.killed") if killed or re.search(r"exitcode\s*: -9|Signal 9 \(SIGKILL\)", tail) else None
