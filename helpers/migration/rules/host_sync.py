"""Frequent host syncs: `.item()` and its like, twice or more in every step of a training loop.

One a step (the loss, for the log) is what most scripts do and can afford. Each waits until the NPU has done
all that was queued, and stops the host from running ahead; an NPU, whose launches cost more than a GPU's,
loses more by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from helpers.finding import Finding
from helpers.migration.knowledge import ANY, INFERRED, Known
from helpers.migration.reading.calls import method
from helpers.migration.reading.names import Function
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, found

CODE = "MIG133"
TOKENS = ("backward",)
NEEDS = ("torch",)
PATTERN = r"\. (?:item|tolist|numpy|cpu) \( \)"
FREQUENT = 2
SYNCS = {"item", "tolist", "numpy", "cpu"}
KNOWN = Known(INFERRED, "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html", versions=ANY)
STEP = "import torch\nfor b in data:\n    l = f(b)\n    l.backward()\n"
EXAMPLES = (
    (STEP + "    总和 += l.item()\n    n.append(m.tolist())\n", "advice", None),
    (STEP + "    log.append((l.detach().cpu(), g.item()))\n", "advice", None),
)
NEAR_MISSES = (
    STEP + "    if i % 100 == 0:  # 偶尔\n        print(l.item())\n",
    "for b in data:\n    total += f(b).item()\n",
    STEP + "print(l.item())\n",
    STEP + "    d.item(3)\n",
    STEP + "    total += l.item()\n",
)


def check(source: Source) -> Iterable[Finding]:
    bodies = [*(loop.body for loop in source.nodes(ast.For)), *(loop.body for loop in source.nodes(ast.While))]
    for body in bodies:
        calls = list(_each_turn(body))
        syncs = [call for call in calls if method(call) in SYNCS and not call.args and not call.keywords]
        if len(syncs) >= FREQUENT and any(method(call) == "backward" for call in calls):
            for call in syncs:
                yield found(source, call, "MIG133.sync", ADVICE, name=method(call))


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
