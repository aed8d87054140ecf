"""Values that come from outside the source: of a configuration file, or of the environment.

`device: cuda` in a YAML file stays, so what is compared with it must stay too until a person changes both.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.calls import method_name, string_value
from ascend_workbook.migration.reading.imports import list_imported_names
from ascend_workbook.migration.reading.source import Source

#: Libraries whose settings are read as attributes: `cfg.device`.
SETTINGS = {"hydra", "omegaconf", "yacs", "yaml", "ml_collections", "munch", "addict", "easydict"}
SETTINGS_NAMES = re.compile(r"(?:^|_)(?:cfg|config|conf|configs)$", re.IGNORECASE)
ENVIRONMENT = {"os.getenv", "os.environ.get"}


def is_outside(source: Source, node: ast.expr) -> bool:
    """The value was looked up by a word under which this file puts no device itself."""
    if isinstance(node, ast.Name):
        return any(
            isinstance(value, ast.expr) and _is_looked_up(source, value) for value in source.names.bound_values(node)
        )
    return _is_looked_up(source, node)


def _is_looked_up(source: Source, node: ast.expr) -> bool:
    key: str | None = None
    if isinstance(node, ast.Subscript):
        key = string_value(node.slice)
    elif isinstance(node, ast.Call) and (method_name(node) == "get" or source.names.resolve_call(node) in ENVIRONMENT):
        key = string_value(node.args[0]) if node.args else None
    elif isinstance(node, ast.Attribute) and _is_setting(source, node.value):
        key = node.attr
    return key is not None and not _is_set(source, key)


def _is_setting(source: Source, node: ast.expr) -> bool:
    words = [getattr(inner, "attr", "") or getattr(inner, "id", "") for inner in ast.walk(node)]
    used = {name.split(".")[0] for name in list_imported_names(source.tree)}
    return any(SETTINGS_NAMES.search(word) for word in words) and bool(used & SETTINGS)


def _is_set(source: Source, key: str) -> bool:
    """A dict, an assignment, a class or an option of this file gives the value under this word."""
    if key in source.names.assigned_attributes:
        return True
    if any(string_value(name) == key for literal in source.nodes_of_type(ast.Dict) for name in literal.keys):
        return True
    stored = (node for node in source.nodes_of_type(ast.Subscript) if isinstance(node.ctx, ast.Store))
    if any(string_value(node.slice) == key for node in stored):
        return True
    fields = (node.target for node in source.nodes_of_type(ast.AnnAssign))
    options = (
        call.args[0] for call in source.nodes_of_type(ast.Call) if method_name(call) == "add_argument" and call.args
    )
    return any(getattr(field, "id", "") == key for field in fields) or any(
        (string_value(option) or "").lstrip("-").replace("-", "_") == key for option in options
    )
