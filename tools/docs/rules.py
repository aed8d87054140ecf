"""What a page tells of a rule, read from its module and from the catalogue."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.rules import checks_of, modules_of, row_of
from ascend_workbook.findings.sentence import Scalar, Sentence, Words, load_catalogue, show
from ascend_workbook.migration.repair import CLASSES, STATUS, Known
from tools.docs.stages import STAGES, Stage

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
    numbers: dict[str, object]


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


def _list_numbers(module: ModuleType, names: set[str] | None) -> Iterator[tuple[str, object]]:
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


#: BASIS -> (English, Chinese).
BASES = {
    "defined": (
        "no page as its source: what it asks for is the project's own, such as a device tier, a record, the checklist",
        "没有页面作为来源：所检查的是本项目自己的约定，例如设备层级、记录、验收清单",
    ),
    "facts": (
        "no page as its source: it tells what the files and commands that it reads say, and compares that",
        "没有页面作为来源：如实给出所读文件与命令的内容并加以比较",
    ),
    "measured": (
        "no page as its source: its numbers were measured by this project",
        "没有页面作为来源：其中的数值由本项目测得",
    ),
    "observed": (
        "no page as its source: it is how installed software was seen to behave",
        "没有页面作为来源：依据对已安装软件行为的观察",
    ),
    "reasoned": (
        "no page as its source: the project's own reasoning, its limits included",
        "没有页面作为来源：本项目自己的推理，包括其中的界限",
    ),
    "entries": (
        "its sources: each entry of its table names its own page, or says that none was found",
        "来源：其数据表中的每一项各自给出页面，或说明没有找到",
    ),
    "rules": (
        "its source: the rules that it names, each with its own",
        "来源：它所引用的规则，各有其来源",
    ),
}


class NoBasis(ValueError):
    """A rule that names no page, and does not say what else it rests on."""


def known_of(module: ModuleType, code: str) -> Known | None:
    """Return what a rule of the migration stage knows: its row's `known`, else its module's KNOWN."""
    known = getattr(row_of(module, code), "known", getattr(module, "KNOWN", None))
    return known if isinstance(known, Known) else None


def find_basis(module: ModuleType, code: str, sources: list[str]) -> Scalar:
    """Return the BASIS, or the sentence in the place of KNOWN's link; empty where pages alone are named. Raises
    NoBasis.
    """
    declared = getattr(module, "BASIS", "")
    declared = declared.get(code, "") if isinstance(declared, dict) else declared
    if declared and declared not in BASES:
        raise NoBasis(f"{code}: BASIS = {declared!r} is none of {', '.join(BASES)}")
    link = getattr(known_of(module, code), "link", "")
    basis: Scalar = declared or (link if isinstance(link, Sentence) else "")
    if not basis and not sources:
        raise NoBasis(
            f"{code}: name the page that it rests on in its docstring (https://...), or what else in "
            f"BASIS: {', '.join(BASES)} ({module.__name__})"
        )
    return basis


def describe_basis(basis: Scalar, lang: str) -> str:
    """Return the text of a basis for a page."""
    return BASES[basis][lang == "zh"] if isinstance(basis, str) else show(basis, lang)


ROOT = Path(__file__).resolve().parents[2]
#: How far calls are followed.
DEPTH = 3
#: Turns a class into a status: what is asked of it stands in the rule.
TABLES = ("ascend_workbook.migration.repair",)
Function = ast.FunctionDef


def statuses_of(module: ModuleType, function: str) -> list[Status]:
    """Return the statuses that a rule's function can give, from good to bad."""
    return sorted(set(_reach_statuses(module.__name__, function, frozenset(), DEPTH)))


def _reach_statuses(name: str, function: str, visited: frozenset[tuple[str, str]], depth: int) -> Iterator[Status]:
    if (name, function) in visited or name in TABLES:
        return
    visited |= {(name, function)}
    functions, constants, imported = _parse_module(name)
    if function not in functions and function in imported:  # handed on by a package
        yield from _reach_statuses(*imported[function], visited, depth)
    if function not in functions:
        return
    body = functions[function]
    for node in _walk_results(body):
        if isinstance(node, ast.Name) and node.id in constants:
            yield from (status for part in ast.walk(constants[node.id]) for status in _status_named(part))
        yield from _status_named(node)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "class":
            yield from _in_data(name)
        called = _function_called(node, imported)
        if called is not None and depth:
            where, what = called if called[0] else (name, called[1])
            yield from _reach_statuses(where, what, visited, depth - 1)


def _status_named(node: ast.AST) -> Iterator[Status]:
    """Yield the statuses that a node names: Status.LOOK; CannotCheck; a class of migration's such as MANUAL."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Status":
        yield Status[node.attr]
    if isinstance(node, ast.Name) and node.id == "CannotCheck":
        yield Status.NOT_LOOKED
    if isinstance(node, ast.Name) and node.id.lower() in CLASSES:
        yield STATUS[node.id.lower()]


def _in_data(name: str) -> Iterator[Status]:
    """What the tables of names give that a rule of migration's asks: `entry["class"]`."""
    text = (ROOT / name.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")
    for table in set(re.findall(r'api_map\.find_entry\("(\w+)"', text)):
        names = json.loads((ROOT / "ascend_workbook/migration/data" / f"{table}.json").read_text(encoding="utf-8"))[
            "names"
        ]
        yield from (STATUS[entry["class"]] for entry in names.values())


def _walk_results(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all below a function but what is only compared with, and what is caught."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Compare):
            continue
        if isinstance(child, ast.ExceptHandler):
            for line in child.body:
                yield line
                yield from _walk_results(line)
            continue
        yield child
        yield from _walk_results(child)


def _function_called(node: ast.AST, imported: dict[str, tuple[str, str]]) -> tuple[str, str] | None:
    """Return (module, function) of a name that is a function, called or handed on; an empty module is the same file."""
    if isinstance(node, ast.Name):
        return imported.get(node.id, ("", node.id))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
        package, name = imported[node.value.id]
        return f"{package}.{name}", node.attr
    return None


@cache
def _parse_module(name: str) -> tuple[dict[str, Function], dict[str, ast.expr], dict[str, tuple[str, str]]]:
    """Return a module's functions, its constants, and what it imports of ours by the name it has here."""
    place = ROOT / name.replace(".", "/")
    file = next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
    if file is None:  # a class: its methods give no findings
        return {}, {}, {}
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    imported = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("ascend_workbook")
        for alias in node.names
    }
    return functions, constants, imported
