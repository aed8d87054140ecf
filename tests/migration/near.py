"""How near an example comes to firing: what runs of its rule's file, and which of the file's refusals it is put before.

A refusal is a condition right over a finding that, answered with no, leaves the place without one, or one that ends
the search when answered with yes.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from tests.migration.subjects import Subject

#: What a rule makes a finding with.
MAKERS = frozenset({"finding_at", "found_at", "found_method", "Finding"})
#: A line and the next that ran in the same function; 0 where it ended.
Step = tuple[int, int]
Block = Sequence[ast.stmt]


@dataclass(frozen=True)
class Refusal:
    """A condition by its first and last line, the line that follows where it says yes, and whether that refuses."""

    first: int
    last: int
    yes: int
    by_yes: bool

    def refuses(self, steps: set[Step]) -> bool:
        """Return whether the condition refused at least once."""
        inside = range(self.first, self.last + 1)
        left = {after for line, after in steps if line in inside and after not in inside}
        return self.yes in left if self.by_yes else bool(left - {self.yes})


def steps_of(subject: Subject, code: str) -> set[Step]:
    """Return the steps that the rule's own file takes for a text."""
    source = subject.read(code)
    with _trace_steps(subject.written_in) as steps:
        list(subject.check(source))
    return steps


@cache
def refusals(file: str) -> tuple[Refusal, ...]:
    """Return the conditions of a rule's file that can refuse a place a finding."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    makers = _find_makers(functions)
    return tuple(refusal for function in functions for refusal in _refusals(function.body, makers, ()))


def _find_makers(functions: Sequence[ast.FunctionDef]) -> frozenset[str]:
    """Return the names of the functions that make a finding, at once or through another."""
    names = {
        function.name: {getattr(node.func, "id", "") for node in ast.walk(function) if isinstance(node, ast.Call)}
        for function in functions
    }
    makers = MAKERS
    while any(called & makers and name not in makers for name, called in names.items()):
        makers |= {name for name, called in names.items() if called & makers}
    return makers


def _refusals(block: Block, makers: frozenset[str], later: Block) -> Iterator[Refusal]:
    """`later`: what runs behind the block."""
    for number, statement in enumerate(block):
        after = [*block[number + 1 :], *later]
        if isinstance(statement, ast.If):
            ends = isinstance(statement.body[0], ast.Continue) or ast.dump(statement.body[0]) == "Return()"
            gives = any(_makes(inner, makers) for inner in statement.body)
            if ends or (gives and not _fires([*statement.orelse, *after])):
                test = statement.test
                yield Refusal(test.lineno, test.end_lineno or test.lineno, statement.body[0].lineno, ends)
            yield from _refusals(statement.body, makers, after)
            yield from _refusals(statement.orelse, makers, after)
        elif isinstance(statement, ast.For):
            yield from _refusals(statement.body, makers, ())


def _makes(statement: ast.stmt, makers: frozenset[str]) -> bool:
    """Return whether a statement gives what a function of `makers` makes, at once or for each of many."""
    if isinstance(statement, ast.For):
        return any(_makes(inner, makers) for inner in statement.body)
    value = statement.value if isinstance(statement, ast.Expr) else None
    made = value.value if isinstance(value, (ast.Yield, ast.YieldFrom)) else None
    return isinstance(made, ast.Call) and getattr(made.func, "id", "") in makers


def _fires(block: Block) -> bool:
    """Return whether a block gives a finding whatever its conditions say."""
    return any(
        (_makes(statement, MAKERS) and isinstance(statement, ast.Expr))
        or (isinstance(statement, ast.If) and _fires(statement.body) and _fires(statement.orelse))
        for statement in block
    )


@contextmanager
def _trace_steps(file: str) -> Iterator[set[Step]]:
    steps: set[Step] = set()
    last: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            steps.add((last.get(frame, 0), frame.f_lineno))
            last[frame] = frame.f_lineno
        elif event == "return" and last.get(frame) == frame.f_lineno:
            steps.add((frame.f_lineno, 0))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield steps
    finally:
        sys.settrace(before)
