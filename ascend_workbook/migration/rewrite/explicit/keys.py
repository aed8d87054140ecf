"""Keys that name a device, `{"cuda": 1, "cpu": 0}`: npu only where every place that looks one up is in this file.

A dict of a module may be imported, one that is handed on or saved has readers elsewhere: its keys stay, and a
person decides.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.calls import method_name, string_value
from ascend_workbook.migration.reading.source import Source

DEVICE = re.compile(r"cuda(:\d*)?\Z")
LOOKED_UP = {"get", "pop", "setdefault"}
WHOLE = {"items", "keys", "values"}
#: Where a value comes from that is no part of the source: `yaml.safe_load(...)`, `json.load(...)`, `torch.load(...)`.
READ = re.compile(r"(?:^|_)(?:load|loads|load_all|from_file|parse)(?:_|$)")


def find_certain_keys(source: Source) -> set[ast.AST]:
    """The keys, and the strings that look them up, of dicts that no other file sees."""
    certain_nodes: set[ast.AST] = set()
    for literal in source.nodes_of_type(ast.Dict):
        keys = [key for key in literal.keys if key is not None and DEVICE.match(string_value(key) or "")]
        uses = _find_key_uses(source, literal) if keys else []
        if uses and None not in uses:
            certain_nodes.update((*keys, *(use for use in uses if use is not None and string_value(use) is not None)))
    return certain_nodes


def holds_keys(source: Source, node: ast.expr) -> bool:
    """A dict written in this file, or what was read from a file: `"cuda" in …` asks for its keys."""
    if isinstance(node, ast.Name):
        return any(isinstance(value, ast.expr) and _is_dict(value) for value in source.names.bound_values(node))
    return _is_dict(node)


def _is_dict(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return READ.search(method_name(node) or getattr(node.func, "id", "")) is not None
    return isinstance(node, (ast.Dict, ast.DictComp))


def _find_key_uses(source: Source, literal: ast.Dict) -> list[ast.expr | None]:
    """What each place looks up; None among them where a place hands the dict on or cannot be told."""
    above = source.names.parent_of(literal)
    if not isinstance(above, (ast.Assign, ast.AnnAssign)):
        return [_looked_up_key(source, literal)]
    targets = above.targets if isinstance(above, ast.Assign) else [above.target]
    target = targets[0]
    if len(targets) > 1 or not isinstance(target, ast.Name) or not _is_own(source, target):
        return [None]
    named = [node for node in source.nodes_of_type(ast.Name) if node.id == target.id and node is not target]
    return [_looked_up_key(source, node) for node in named if source.names.bound_values(node) == [literal]]


def _is_own(source: Source, target: ast.Name) -> bool:
    """A name that no other file imports: a function's own, or one of a file made to be run."""
    if len(source.names.bound_values(target)) != 1:
        return False
    homes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    home = next(up for up in source.names.nodes_above(target) if isinstance(up, homes))
    return _is_run(home) if isinstance(home, ast.Module) else not isinstance(home, ast.ClassDef)


def _is_run(tree: ast.Module) -> bool:
    return any(
        isinstance(statement, (ast.For, ast.While, ast.With))
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call))
        or (isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test))
        for statement in tree.body
    )


def _looked_up_key(source: Source, node: ast.expr) -> ast.expr | None:
    """The key that is looked up here; the node itself where the whole dict is gone through."""
    above = source.names.parent_of(node)
    if isinstance(above, ast.Subscript) and above.value is node:
        return above.slice
    if isinstance(above, ast.Compare) and node in above.comparators and isinstance(above.ops[0], (ast.In, ast.NotIn)):
        return above.left
    if isinstance(above, (ast.For, ast.comprehension)) and above.iter is node:
        return node
    if not isinstance(above, ast.Attribute):
        return None
    call = source.names.parent_of(above)
    if not isinstance(call, ast.Call) or call.func is not above:
        return None
    if above.attr in LOOKED_UP:
        return call.args[0] if call.args else None
    return node if above.attr in WHOLE else None
