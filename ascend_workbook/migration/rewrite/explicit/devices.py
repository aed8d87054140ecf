"""Device strings: "cuda" as "npu" wherever it names a device, so that what is compared still agrees.

Words in messages and names of options are no devices and stay, keys unless keys.py is certain of them, and what
is compared with a value from outside the source (is_outside). Where the code already knows "npu" beside it,
nothing changes.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.branches import find_branch, has_data_parallel, has_kernel
from ascend_workbook.migration.reading.calls import (
    find_argument,
    is_docstring,
    method_name,
    string_value,
)
from ascend_workbook.migration.reading.kinds import DEVICE_TEXT, OWN, about_devices, find_kinds, is_options
from ascend_workbook.migration.reading.names import list_imported_names
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import MANUAL, Findings, finding_at
from ascend_workbook.migration.rewrite.explicit.known import (
    Spans,
    edited_finding,
    no_form,
    stands_beside,
    touches_spans,
)
from ascend_workbook.migration.rules.device_string import NAMING, TEXT, is_other, make_device_edits

# Values that come from outside the source: of a configuration file, or of the environment.

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
    elif isinstance(node, ast.Attribute):
        words = [getattr(inner, "attr", "") or getattr(inner, "id", "") for inner in ast.walk(node.value)]
        used = {name.split(".")[0] for name in list_imported_names(source.tree)}
        key = node.attr if any(map(SETTINGS_NAMES.search, words)) and used & SETTINGS else None
    return key is not None and not _is_set(source, key)


def _is_set(source: Source, key: str) -> bool:
    """A dict, an assignment, a class or an option of this file gives the value under this word."""
    if key in source.names.assigned_attributes:
        return True
    if any(string_value(name) == key for literal in source.nodes_of_type(ast.Dict) for name in literal.keys):
        return True
    stored = (node for node in source.nodes_of_type(ast.Subscript) if isinstance(node.ctx, ast.Store))
    if any(string_value(node.slice) == key for node in stored):
        return True
    if any(getattr(node.target, "id", "") == key for node in source.nodes_of_type(ast.AnnAssign)):
        return True
    options = [call.args[0] for call in source.names.calls_by_method.get("add_argument", ()) if call.args]
    return key in ((string_value(option) or "").lstrip("-").replace("-", "_") for option in options)


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
    return (
        any(
            isinstance(statement, (ast.For, ast.While, ast.With))
            or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call))
            or (isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test))
            for statement in home.body
        )
        if isinstance(home, ast.Module)
        else not isinstance(home, ast.ClassDef)
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


MESSAGES = {"print", "info", "debug", "warning", "warn", "error", "exception", "critical", "log", "write"}
#: Calls that look up an attribute or key by its name.
ATTRIBUTES = {"getattr", "hasattr", "setattr", "delattr"}


def check(source: Source, spans: Spans) -> Findings:
    nodes: tuple[ast.expr, ...] = (*source.nodes_of_type(ast.Constant), *source.nodes_of_type(ast.JoinedStr))
    named = [(node, text) for node in nodes if (text := _named_device(node)) is not None]
    keys = find_certain_keys(source) if named else set()
    for node, text in named:
        if is_docstring(source, node) or (node not in keys and _is_name(source, node)):
            continue
        if isinstance(source.names.parent_of(node), (ast.JoinedStr, ast.FormattedValue)):
            continue
        if stands_beside(source, node, "npu") or _guards_cuda_branch(source, node):
            continue
        if node not in keys and (why := _explain_elsewhere(source, node)):
            yield finding_at(source, node, f"MIG138.{why}", MANUAL, name=text)
            continue
        if _is_other_text(source, node, text):
            yield no_form(source, node, text)
            continue
        edits = make_device_edits(source, node)
        if not touches_spans(edits, spans):
            yield edited_finding(source, node, "device", edits, text, text.replace("cuda", "npu", 1))


def _named_device(node: ast.AST) -> str | None:
    """The device a string names, as far as it is written."""
    if isinstance(node, ast.JoinedStr):
        first = string_value(node.values[0]) if node.values else None
        return first if first == "cuda:" or (first == "cuda" and len(node.values) > 1) else None
    text = string_value(node)
    return text if text is not None and DEVICE.match(text) else None


def _is_name(source: Source, node: ast.expr) -> bool:
    """A key, an attribute, an option, an implementation or a word of a message: no device."""
    above = source.names.parent_of(node)
    looked_up = isinstance(above, ast.Call) and getattr(above.func, "id", "") in ATTRIBUTES
    if not isinstance(above, ast.Dict) and not looked_up and is_other(source, node):
        return True
    if isinstance(above, ast.Subscript):  # `Literal["cuda"]` in an annotation
        return source.names.resolve_name(above.value).rpartition(".")[2] != "Literal"
    if isinstance(above, ast.keyword):
        above_call = source.names.parent_of(above)
        return above.arg in NAMING or (isinstance(above_call, ast.Call) and method_name(above_call) == "extra")
    if isinstance(above, ast.Dict) and node in above.keys:
        up = source.names.parent_of(above)
        return isinstance(up, ast.keyword) and up.arg in ("extras_require", "package_data", "entry_points")
    if isinstance(above, ast.Call) and node in above.args:
        called = method_name(above) or getattr(above.func, "id", "")
        if called in ATTRIBUTES:
            at = above.args.index(node)  # the third is a value: what to take, or to set
            return at == 0 or (at == 1 and source.names.resolve_name(above.args[0]) != "torch")
        if called in LOOKED_UP and isinstance(above.func, ast.Attribute):
            return above.args[0] is node
        return called in MESSAGES or called in ("add_argument", "type", "add_parser", "import_module", "__import__")
    return False


def _explain_elsewhere(source: Source, node: ast.expr) -> str:
    """Why a place cannot be judged alone: a key that other files may look up, or a value that they give."""
    above = source.names.parent_of(node)
    if isinstance(above, ast.Dict) and node in above.keys:
        return "key"
    if isinstance(above, (ast.Tuple, ast.List, ast.Set)):
        above = source.names.parent_of(above)
    if not isinstance(above, ast.Compare):
        return ""
    sides = [above.left, *above.comparators]
    if isinstance(above.ops[0], (ast.In, ast.NotIn)) and node is above.left and holds_keys(source, sides[1]):
        return "key"
    return "outside" if any(is_outside(source, side) for side in sides if side is not node) else ""


def _guards_cuda_branch(source: Source, node: ast.AST) -> bool:
    """The question opens a branch with CUDA kernels or nn.DataParallel: it stays closed to an NPU."""
    above = source.names.parent_of(node)
    if not isinstance(above, ast.Compare):
        return False
    branch_nodes = find_branch(source, above)
    return has_kernel(source, branch_nodes) or has_data_parallel(source, branch_nodes)


def _is_other_text(source: Source, node: ast.AST, text: str) -> bool:
    """Part of work on a text that nothing here says to be a device's."""
    call = source.names.parent_of(node)
    if not isinstance(call, ast.Call) or find_argument(call, 0) is not node or not isinstance(call.func, ast.Attribute):
        return False
    if method_name(call) not in (*TEXT, "startswith") or ":" in text:
        return False
    held = call.func.value
    option = isinstance(held, ast.Attribute) and is_options(held.value) and "device" in held.attr.lower()
    return not (find_kinds(source, held) & {DEVICE_TEXT, *OWN} or about_devices(held) or option)
