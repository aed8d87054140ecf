"""What a page tells of a rule, read from its module and from the catalogue."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.rules import checks_of, modules_of, row_of
from ascend_workbook.findings.sentence import Scalar, Words, load_catalogue
from tools.docs.bases import find_basis, known_of
from tools.docs.stages import STAGES, Stage
from tools.docs.statuses import statuses_of
from tools.examples import read_examples

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = re.compile(r"https?://[^\s\"')>\]；，。]+")
#: What a code's first part is in the catalogue where the rule's sentences are kept under another name.
ITEM = "accept.item."


@dataclass(frozen=True)
class Rule:
    """`title` is the key of what it looks at; `numbers` are the module's own constants; `basis` is what it rests on
    besides pages (bases.py)."""

    code: str
    file: str
    title: str
    statuses: list[Status]
    outcomes: dict[str, Words]
    sources: list[str]
    basis: Scalar
    numbers: dict[str, Any]
    example: str
    near_miss: str


def rules_in(package: str) -> list[Rule]:
    """Return a folder's rules in the order of their codes."""
    return [_make_rule(module, code) for code, module in modules_of(import_module(package)).items()]


def codes_beside(stage: Stage) -> dict[str, dict[str, Words]]:
    """Return codes that no rule's file has, but a command or an overview gives, with their outcomes."""
    filed = {rule.code for package, _ in stage.rules for rule in rules_in(package)}
    codes = {key.partition(".")[0] for key in load_catalogue() if re.match(r"[A-Z]{3}\d{3}\.", key)}
    return {code: outcomes_of(code) for code in sorted(codes - filed) if code.startswith(stage.codes)}


def outcomes_of(code: str) -> dict[str, Words]:
    """Return each outcome with its sentence and next step; an item of the checklist has one, what it asks."""
    every = {key.partition(".")[2]: words for key, words in load_catalogue().items() if key.startswith(f"{code}.")}
    asked = load_catalogue().get(ITEM + code)
    return {"": asked, **every} if asked else every


def _make_rule(module: ModuleType, code: str) -> Rule:
    cases = read_examples(code)
    example, near_miss = (next((case.shown for case in cases if case.near_miss == near), "") for near in (False, True))
    row, check = row_of(module, code), checks_of(module)[code]
    function = (check.func if isinstance(check, partial) else check).__name__
    text = getattr(row, "about", "") or _describe_rule(module, code, function)
    names = None if hasattr(module, "CODE") else set() if row else _names_used(module, function)
    named = find_sources(module, code, text, names)
    return Rule(
        code,
        str(Path(str(module.__file__)).relative_to(ROOT)),
        f"rule.{code}.title",
        sorted(row.gives) if row else statuses_of(module, function),
        outcomes_of(code),
        named,
        find_basis(module, code, named),
        dict(_list_numbers(module, names)),
        example,
        near_miss,
    )


def _describe_rule(module: ModuleType, code: str, function: str) -> str:
    """Return what a rule says of itself: its module where that holds it alone, a paragraph of the module's docstring
    that begins with the code where it is a row, else the docstring of its function."""
    whole = inspect.getdoc(module) or ""
    if hasattr(module, "CODE"):
        return whole
    rows = (part for part in whole.split("\n\n") if part.startswith(f"{code}: "))
    return next(rows, inspect.getdoc(getattr(module, function)) or "")


def _names_used(module: ModuleType, function: str) -> set[str]:
    """Return the names of the module that a function uses, itself or by what it calls in the same file."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    bodies = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    names, left = set(), [function]
    while left:
        name = left.pop()
        if name not in names:
            names.add(name)
            left += [node.id for node in ast.walk(bodies.get(name, ast.Pass())) if isinstance(node, ast.Name)]
    return names


def find_sources(module: ModuleType, code: str, text: str, names: set[str] | None) -> list[str]:
    """Return the addresses of a rule: constants (all, or `names`), what it knows, its text, its next steps."""
    constants = {name: value for name, value in vars(module).items() if names is None or name in names}
    texts = [value for name, value in constants.items() if name.isupper() and isinstance(value, str)]
    known = known_of(module, code)
    if known is not None:
        texts += [str(known.link), *map(str, known.links.values())]
    texts.append(text)
    texts += [words.hint_en for words in outcomes_of(code).values()]
    addresses = (address.rstrip(".,;:") for text in texts for address in ADDRESS.findall(text))
    return list(dict.fromkeys(addresses))


def _list_numbers(module: ModuleType, names: set[str] | None) -> Iterator[tuple[str, Any]]:
    """Yield the module's own constants that are numbers, all or those of `names`: what the rule's verdict hangs on."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    for name, value in vars(module).items():
        number = name.isupper() and isinstance(value, (int, float)) and not isinstance(value, bool)
        asked = names is None or name in names
        if number and asked and re.search(rf"^[A-Z_0-9, ]*\b{name}\b.* =", text, re.MULTILINE):
            yield name, value


def places_of(code: str) -> list[str]:
    """Return files of ascend_workbook that give the code, the words left out."""
    return _find_places().get(code, [])


@cache
def _find_places() -> dict[str, list[str]]:
    files: dict[str, list[str]] = {}
    for file in sorted((ROOT / "ascend_workbook").rglob("*.py")):
        if "words" not in file.parts:
            text = file.read_text(encoding="utf-8")
            for code in sorted(set(re.findall(r"[\"']([A-Z]{3}\d{3})[.\"']", text))):
                files.setdefault(code, []).append(str(file.relative_to(ROOT)))
    return files


def all_rules() -> Iterator[Rule]:
    for stage in STAGES:
        for package, _ in stage.rules:
            yield from rules_in(package)
