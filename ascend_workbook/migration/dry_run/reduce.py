"""A smaller configuration of a training, by its own options: what to put on the command line, found in its source.

Options are looked for in argparse and click, in dataclasses that HfArgumentParser reads, and in the globals that
nanoGPT's configurator takes. What an option is about is told from its name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_workbook.findings.finding import Place
from ascend_workbook.migration.closure import list_imported_modules
from ascend_workbook.migration.reading.source import read_source
from ascend_workbook.migration.reading.undecoded import Unreadable

BATCH, ACCUMULATE, LAYERS, WIDTH, HEADS, LENGTH = "batch", "accumulate", "layers", "width", "heads", "length"
#: By role, what names it; the first that fits counts.
NAMES = (
    (ACCUMULATE, r"accum"),
    (BATCH, r"(^|_)(batch|batchsize|bs|bsz|bz)(_|$)"),
    (LAYERS, r"(^|_)(n_?|num_?)?(hidden_|decoder_|encoder_|dec_|enc_)?(layers?|depth|blocks)$"),
    (HEADS, r"(^|_)(n_?|num_?)?(attention_)?heads?$"),
    (
        WIDTH,
        r"(^|_)(hidden(_?(size|dim|units))?|d_?model|n?_?embd|emb(ed)?(ding)?_?(dim|size)?|em_?size|width|model_dim"
        r"|n_?hid|ff(n|_dim)?|dim_feedforward|inner(_dim)?|d_ff|intermediate_size)$",
    ),
    (
        LENGTH,
        r"(^|_)(seq(uence)?_?(len(gth)?)?|context(_len(gth)?)?|block_size|max_?(seq_?)?len(gth)?|bptt"
        r"|max_(source|target)_length)$",
    ),
)
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
    for file in list_imported_modules(script):
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
            known = named.get("choices")
            choices = tuple(filter(None, map(_read_integer, getattr(known, "elts", ()))))
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
