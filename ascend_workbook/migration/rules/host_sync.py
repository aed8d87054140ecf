"""Frequent host syncs: `.item()` and its like, twice or more in every step of a training loop.

One a step (the loss, for the log) is what most scripts do and can afford. Each waits until the NPU has done
all that was queued, and stops the host from running ahead; an NPU, whose launches cost more than a GPU's,
loses more by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ascend_workbook.migration.reading.calls import method_name
from ascend_workbook.migration.reading.names import Function
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, ANY, INFERRED, Findings, Known, finding_at

CODE = "MIG133"
TOKENS = ("backward",)
NEEDS = ("torch",)
PATTERN = r"\. (?:item|tolist|numpy|cpu) \( \)"
FREQUENT = 2
SYNCS = {"item", "tolist", "numpy", "cpu"}
KNOWN = Known(INFERRED, "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html", versions=ANY)


def check(source: Source) -> Findings:
    bodies = [loop.body for loop in source.nodes_of_type(ast.For)]
    for body in (*bodies, *(loop.body for loop in source.nodes_of_type(ast.While))):
        calls = list(_each_turn(body))
        syncs = [call for call in calls if method_name(call) in SYNCS and not call.args and not call.keywords]
        if len(syncs) >= FREQUENT and any(method_name(call) == "backward" for call in calls):
            for call in syncs:
                yield finding_at(source, call, "MIG133.sync", ADVICE, name=method_name(call))


def _each_turn(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    """Calls that run every turn: not those under an `if`, in a function, or in an inner loop of its own."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.If, ast.IfExp, ast.For, ast.While, ast.ClassDef, *Function)):
            continue
        if isinstance(node, ast.Call):
            yield node
        todo += ast.iter_child_nodes(node)
