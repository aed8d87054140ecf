"""The registry of cures: each file of `cures` knows one kind of cause and proposes the edits that mend it."""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import dropwhile
from types import ModuleType
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Edit
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.loop import cures
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.rewrite.change import apply_edits
from ascend_workbook.migration.rewrite.entry import transfer_edit


@dataclass(frozen=True)
class Cure:
    """What one file of the registry says: edits by file name, which must not be empty, and the words for them."""

    name: str
    reason: Sentence
    source: str
    contents: Mapping[str, bytes]
    holds_everywhere: bool = False


@cache
def list_cures() -> tuple[ModuleType, ...]:
    """Return the modules of the registry, in order of their names."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(cures.__path__))
    return tuple(import_module(f"{cures.__name__}.{name}") for name in names)


def check_names(names: Iterable[str]) -> None:
    """Refuse names that are no cure's. Raises WorkbookError with those that are."""
    known = [module.__name__.rpartition(".")[2] for module in list_cures()]
    for name in names:
        if name not in known:
            raise WorkbookError("loop.skip", name=name, known=known)


def find_cure(failure: Failure, tried: Iterable[str] = ()) -> Cure | None:
    """Return the first cure that knows the cause and has something to change; `tried` are names that did not help."""
    for module in list_cures():
        name = module.__name__.rpartition(".")[2]
        everywhere = bool(getattr(module, "HOLDS_EVERYWHERE", False))
        if name in tried or (failure.neutral and not everywhere) or not module.knows(failure):
            continue
        contents = apply_all(failure, module.propose(failure))
        if contents:
            count = len(contents)
            args: dict[str, Scalar] = {"files": count, "first": next(iter(contents))}
            return Cure(name, Sentence(f"cure.{name}", **args), module.SOURCE, contents, everywhere)
    return None


def apply_all(failure: Failure, proposed: Iterable[tuple[Source, Iterable[Edit]]]) -> dict[str, bytes]:
    """Apply the edits of each file; a file whose result would not parse is left as it is."""
    edits: dict[str, list[Edit]] = {}
    for source, some in proposed:
        edits.setdefault(source.path, []).extend(some)
    contents: dict[str, bytes] = {}
    for name, of_file in edits.items():
        read = failure.read(name)
        if read is None or not of_file:
            continue
        text = apply_edits(read, drop_overlapping(of_file))
        try:
            parse_text(text, name)
            data = read.encode_text(text)
        except (Unreadable, UnicodeEncodeError):
            continue
        if data != failure.contents.get(name):
            contents[name] = data
    return contents


def drop_overlapping(edits: Iterable[Edit]) -> list[Edit]:
    """Keep the outer of edits that lie in one another."""
    outer: list[Edit] = []
    for edit in sorted(set(edits), key=lambda edit: (edit.start, -edit.end)):
        if not outer or edit.start >= outer[-1].end:
            outer.append(edit)
    return outer


def replace_node(source: Source, node: ast.AST, text: str) -> Edit:
    """Return the edit that puts a text in a node's place."""
    start, end = source.span_of(node)
    return Edit(start, end, text)


def drop_statement(source: Source, call: ast.AST) -> Edit | None:
    """Return the edit that makes a call that stands alone `pass`; None where its value is used."""
    statement = source.names.parent_of(call)
    return replace_node(source, statement, "pass") if isinstance(statement, ast.Expr) else None


def define_helper(source: Source, text: str) -> Edit:
    """Return the edit that puts a definition behind the imports that a file begins with, in its own line ends.

    An import further down may stand behind what calls the helper."""
    body = source.tree.body
    docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    rest = list(dropwhile(_is_import, body[1:] if docstring else body))
    starts = source.line_starts
    before = body[len(body) - len(rest) - 1] if len(rest) < len(body) else None
    line = (before.end_lineno or before.lineno) if before is not None else _first_line(body[0]) - 1
    if rest:
        line = min(line, _first_line(rest[0]) - 1)
    at = starts[line] if line < len(starts) else len(source.text)
    lines = source.line_end.join(["", "", *text.rstrip("\n").splitlines(), "", ""])
    return Edit(at, at, lines if at and source.text[at - 1] == "\n" else source.line_end + lines)


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min(node.lineno, *(part.lineno for part in decorators)) if decorators else node.lineno


def import_lines(source: Source, *lines: str) -> Edit:
    """Return the edit that imports what an edit needs, before the first import that may bring torch."""
    edit, _ = transfer_edit(source, lines)
    return edit


def walk_calls(failure: Failure, *names: str) -> Iterable[tuple[Source, ast.Call]]:
    """Yield every call of these names in the repository's files, the failing files first."""
    for source in failure.walk_sources(*(name.rpartition(".")[2] for name in names)):
        for call in source.nodes_of_type(ast.Call):
            if source.names.resolve_call(call) in names:
                yield source, call


def keyword_of(call: ast.Call, name: str) -> ast.keyword | None:
    """Return an argument by keyword."""
    return next((pair for pair in call.keywords if pair.arg == name), None)


def is_true(node: Any) -> bool:
    """Return whether a node is the constant True."""
    return isinstance(node, ast.Constant) and node.value is True


def look_at_error(failure: Failure) -> Failure:
    """Return the failure with its innermost line alone: a line further out says what was called, not what failed."""
    return replace(failure, spots=failure.spots[-1:])


def is_handed_on(source: Source, node: ast.expr) -> bool:
    """Return whether a value goes into a call, a name, a table or a default; not a key, a choice or a comparison."""
    above = source.names.parent_of(node)
    if isinstance(above, ast.Dict):
        return any(value is node for value in above.values)
    if isinstance(above, ast.IfExp):
        return node is not above.test
    return isinstance(above, (ast.keyword, ast.Assign, ast.AnnAssign, ast.arguments))


def is_tested(source: Source, node: ast.expr) -> bool:
    """Return whether a value is compared with None or tested for truth, there or under the name that it is given."""
    values = [node]
    above = source.names.parent_of(node)
    if isinstance(above, ast.Return):
        function = getattr(source.names.enclosing_function(above), "name", "")
        values += [call for call in source.nodes_of_type(ast.Call) if last_name(call.func) == function]
    return any(_asks(source, name) for value in values for name in list_names(source, value))


def list_names(source: Source, value: ast.expr) -> Iterator[ast.expr]:
    """Yield the value, and where the names stand that it is assigned to."""
    yield value
    above = source.names.parent_of(value)
    if isinstance(above, ast.NamedExpr):
        yield above
    targets = above.targets if isinstance(above, ast.Assign) else [getattr(above, "target", None)]
    attributes = {target.attr for target in targets if isinstance(target, ast.Attribute)}
    yield from (name for name in source.nodes_of_type(ast.Attribute) if name.attr in attributes)
    for name in source.nodes_of_type(ast.Name):
        if any(bound is value for bound in source.names.bound_values(name)):
            yield name


def _asks(source: Source, node: ast.expr) -> bool:
    above = source.names.parent_of(node)
    if isinstance(above, ast.Compare):
        return any(isinstance(side, ast.Constant) and side.value is None for side in (above.left, *above.comparators))
    if isinstance(above, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return above.test is node
    if isinstance(above, ast.Call):
        return last_name(above.func) == "bool"
    if isinstance(above, ast.UnaryOp):
        return isinstance(above.op, ast.Not)
    return isinstance(above, (ast.BoolOp, ast.Match))


def last_name(node: ast.expr) -> str:
    """Return `c` of `a.b.c`, and an empty string of what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
