"""The small faults that can be planted in a file: each replaces a few characters at a place that `ast` gives.

Left out is what no test should hold: texts, annotations, decorators, error messages, time limits, encodings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: Options of calls that say how something is done, not what comes out.
OPTIONS = frozenset(("maxsize", "encoding", "errors", "timeout", "indent", "prefix", "buffering", "stacklevel"))
#: Functions that speak to a developer alone.
SPEAKING = frozenset(("print", "warn", "debug", "info", "warning", "exception", "cast", "TypeVar"))
UNTESTED_METHODS = frozenset(("__repr__", "__str__"))
#: Names of constants that limit a time.
LIMITS = re.compile(r"TIMEOUT|LIMIT|_S$|^__")

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Lines = tuple[int, int]
#: The lines of a fault that every test of the file may see: one outside of functions.
ANY_LINE: Lines = (0, 0)


@dataclass(frozen=True, order=True)
class Mutant:
    """One fault: the bytes from `start` to `end` of a file become `text`; `lines` are those of its statement."""

    path: str
    start: int
    end: int
    text: str
    operator: str
    lines: Lines

    def apply_fault(self, source: bytes) -> bytes:
        """Return the file with the fault in it."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def is_sound(self, source: bytes) -> bool:
        """Return whether the file with the fault is still Python, and another program."""
        try:
            return ast.dump(ast.parse(self.apply_fault(source))) != ast.dump(ast.parse(source))
        except SyntaxError:
            return False

    def line_of_fault(self, source: bytes) -> int:
        """Return the number of the line where the fault begins."""
        return source[: self.start].count(b"\n") + 1

    def lines_changed(self, source: bytes) -> tuple[str, str]:
        """Return the line before and after, without the blanks around it."""
        at = self.line_of_fault(source) - 1
        before, after = (text.decode().splitlines()[at].strip() for text in (source, self.apply_fault(source)))
        return before, after


def list_mutants(path: str, source: bytes) -> list[Mutant]:
    """List every fault that can be planted in a file, in the order of its lines."""
    return sorted(set(_Finder(path, source).find_faults(ast.parse(source), ANY_LINE)))


class _Finder:
    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def find_faults(self, node: ast.AST, lines: Lines) -> Iterator[Mutant]:
        """Yield the faults of a node and of all below it."""
        if _says_nothing(node):
            return
        if isinstance(node, ast.stmt) and lines != ANY_LINE:
            lines = (node.lineno, _last_line_of_head(node))
        for start, end, text, operator in self.edits_of(node):
            yield Mutant(self.path, start, end, text, operator, lines)
        if isinstance(node, Function):
            body = (node.body[0].lineno, node.body[-1].end_lineno or node.lineno)
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                yield from self.find_faults(default, body)
            for statement in node.body:
                yield from self.find_faults(statement, body)
            return
        for child in _children_of(node):
            yield from self.find_faults(child, lines)

    def edits_of(self, node: ast.AST) -> Iterator[tuple[int, int, str, str]]:
        """Yield (start, end, text, operator) of each fault of one node."""
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, right, comparison in zip(operands, operands[1:], node.ops):
                yield from self.swap_operator(left, right, *COMPARISONS[type(comparison)], "comparison")
        elif isinstance(node, ast.BoolOp):
            pair = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:]):
                yield from self.swap_operator(left, right, *pair, "and/or")
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_text(node):
            yield from self.swap_operator(node.left, node.right, *ARITHMETIC[type(node.op)], "arithmetic")
        elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
            pair = ARITHMETIC[type(node.op)]
            yield from self.swap_operator(node.target, node.value, f"{pair[0]}=", f"{pair[1]}=", "arithmetic")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield self.start_of(node), self.start_of(node) + 3, "", "not"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield self.start_of(node), self.start_of(node) + 1, "", "sign"
        elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            yield self.start_of(node), self.end_of(node), _other_constant(node.value), "constant"
        elif isinstance(node, ast.Return) and not (node.value is None or isinstance(node.value, ast.Constant)):
            yield self.start_of(node.value), self.end_of(node.value), "None", "return"
        elif isinstance(node, ast.If):
            yield self.start_of(node.test), self.end_of(node.test), "False", "dropped if"
        elif isinstance(node, ast.IfExp):
            condition = self.source[self.start_of(node.test) : self.end_of(node.test)].decode()
            yield self.start_of(node.test), self.end_of(node.test), f"not ({condition})", "turned if"
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                yield self.start_of(test), self.end_of(test), "True", "dropped filter"
        elif isinstance(node, ast.Continue):
            yield self.start_of(node), self.end_of(node), "break", "loop"
        elif isinstance(node, ast.Break):
            yield self.start_of(node), self.end_of(node), "continue", "loop"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            yield self.start_of(node.func), self.end_of(node.func), CALLS[node.func.id], "min/max/any/all"

    def swap_operator(
        self, left: ast.expr, right: ast.expr, old: str, new: str, operator: str
    ) -> Iterator[tuple[int, int, str, str]]:
        """Yield the fault that replaces what stands between two operands."""
        begin, end = self.end_of(left), self.start_of(right)
        pattern = r"\s+".join(rf"\b{word}\b" if word.isalpha() else re.escape(word) for word in old.split())
        match = re.search(pattern.encode(), self.source[begin:end])
        if match:
            yield begin + match.start(), begin + match.end(), new, operator

    def start_of(self, node: Union[ast.expr, ast.stmt]) -> int:
        """Return the byte where a node begins."""
        return self.starts[node.lineno - 1] + node.col_offset

    def end_of(self, node: Union[ast.expr, ast.stmt]) -> int:
        """Return the byte after a node's end."""
        return self.starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)


def _other_constant(value: Union[bool, int, float]) -> str:
    if isinstance(value, (bool, int)):
        return str(not value) if isinstance(value, bool) else str(value + 1)
    return repr(2 * value) if value else "1.0"


def _is_text(node: ast.BinOp) -> bool:
    """Return whether `%` formats a text, or `|` joins types."""
    if isinstance(node.op, ast.BitOr):
        sides = (node.left, node.right)
        return any(isinstance(side, ast.Constant) and side.value is None for side in sides)
    return isinstance(node.op, ast.Mod) and isinstance(node.left, (ast.Constant, ast.JoinedStr))


def _says_nothing(node: ast.AST) -> bool:
    """Return whether a fault in this node is none that a test should see."""
    if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Assert)):
        return True
    if isinstance(node, Function):
        return node.name in UNTESTED_METHODS
    if isinstance(node, ast.If):
        names = {child.id for child in ast.walk(node.test) if isinstance(child, ast.Name)}
        names |= {child.attr for child in ast.walk(node.test) if isinstance(child, ast.Attribute)}
        return bool(names & {"TYPE_CHECKING", "__name__"})
    if isinstance(node, ast.keyword):
        return node.arg in OPTIONS
    if isinstance(node, ast.Call):
        return _name_of(node.func) in SPEAKING
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(LIMITS.search(_name_of(target)) for target in targets)
    return False


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _children_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, without annotations and decorators."""
    if isinstance(node, ast.AnnAssign):
        yield from filter(None, [node.value])
    elif isinstance(node, ast.ClassDef):
        yield from node.body
    else:
        yield from ast.iter_child_nodes(node)


def _last_line_of_head(statement: ast.stmt) -> int:
    """Return the last line of a statement without those of its body."""
    if isinstance(statement, (ast.If, ast.While)):
        return statement.test.end_lineno or statement.lineno
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return statement.iter.end_lineno or statement.lineno
    if isinstance(statement, (ast.With, ast.AsyncWith, ast.Try, *Function, ast.ClassDef)):
        return statement.lineno
    return statement.end_lineno or statement.lineno
