"""Environment variables of CUDA, cuBLAS, cuDNN and NCCL, and what an NPU reads instead.

ASCEND_RT_VISIBLE_DEVICES takes the place of CUDA_VISIBLE_DEVICES, which an NPU does not read: a job given
two cards would take all of them.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import find_argument, method_name, string_value, within_string
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, DOCUMENTED, MANUAL, REWRITE, VARIABLES, Findings, Known, finding_at

CODE = "MIG107"
WORDS = ("CUDA", "NCCL", "CUBLAS", "CUDNN", "NVIDIA_")
KNOWN = Known(DOCUMENTED, VARIABLES + "env_variable_list.md")
PATTERN = "CUDA_|CUDNN_|CUBLAS_|NCCL_|NVIDIA_"
#: Same meaning, other name.
RENAMED: dict[str, str] = api_map.list_names("renamed_variables")
#: Read by nothing on an NPU; CUDA_DEVICE_MAX_CONNECTIONS is asked for by Megatron and MindSpeed and must stay.
WITHOUT_EFFECT = set(api_map.list_names("without_effect"))
#: Where a build finds NCCL: nothing that a run reads.
OF_A_BUILD = re.compile(r"NCCL_(INCLUDE_DIRS?|LIB_DIRS?|LIBRARY|LIBRARIES|ROOT(_DIR)?|HOME|VERSION)")
#: By what hosts find one another: HCCL reads its own, and a job of several hosts may not start without.
MEETING = {"NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"}
#: What the new variable takes, where a value is written out, and how a message says it.
TAKES: dict[str, tuple[str, str]] = api_map.list_names("values_of_variables")
#: A variable that a command sets: `X=1 python`, `export X="1"`; it may follow an escape: `"cd a\nX=1 python"`.
COMMAND = re.compile(
    r"(?:(?<![\w-])|(?<=\\[nt]))(?P<name>[A-Z][A-Z0-9_]+)=(?P<quote>\\?['\"])?"
    r"(?P<value>(?(quote)[^'\"]*|[^\s;&|'\"\\]*))"
)
#: A shell's or a format's expression.
UNTOLD = re.compile(r"[$`{%]")
RUNNERS = re.compile(r"subprocess\.|os\.(system|popen)\Z")
READERS = {"os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop", "os.putenv", "os.unsetenv"}


def check(source: Source) -> Findings:
    for node, text in source.strings:
        if text.isupper() and (_is_variable(source, node) or _is_entry(source, node)):
            edits = within_string(source, node, text, RENAMED.get(text, text))
            yield from _judge_variable(source, node, text, edits, _set_to(source, node))
        elif "=" in text:
            yield from _check_command(source, node)
    for name in source.nodes_of_type(ast.Name) if _keeps_names(source) else ():
        for value in source.names.bound_values(name) if _is_variable(source, name) else ():
            # `key = "CUDA_VISIBLE_DEVICES"; os.environ[key]`: who else reads the name is not told here
            value_text = string_value(value) if isinstance(value, ast.Constant) else None
            if value_text and value_text.isupper():
                yield from _judge_variable(source, name, value_text, ())
    for keyword in source.nodes_of_type(ast.keyword):
        if keyword.arg and keyword.arg.isupper() and _adds_environment(source, source.names.parent_of(keyword)):
            start, _ = source.span_of(keyword)
            edit = Edit(start, start + len(keyword.arg), RENAMED.get(keyword.arg, keyword.arg))
            yield from _judge_variable(source, keyword, keyword.arg, (edit,), _set_to(source, keyword))


def takes_value(name: str, value: str | None) -> bool:
    """Whether what a variable is set to means the same under its new name; None where the text does not tell."""
    return value is None or name not in TAKES or re.fullmatch(TAKES[name][0], value) is not None


def of_nccl(name: str) -> str:
    """The class of a variable of NCCL's own: read by nothing on an NPU, unless hosts meet by it."""
    return MANUAL if name in MEETING else ADVICE


def _judge_variable(
    source: Source, node: ast.AST, name: str, edits: tuple[Edit, ...], value: str | None = None
) -> Findings:
    if name in RENAMED and not takes_value(name, value):
        form = TAKES[name][1]
        yield finding_at(source, node, "MIG107.value", MANUAL, name=name, new=RENAMED[name], value=value, form=form)
    elif name in RENAMED:
        yield finding_at(source, node, "MIG107.renamed", REWRITE, edits, name=name, new=RENAMED[name])
    elif name in WITHOUT_EFFECT or OF_A_BUILD.fullmatch(name):
        yield finding_at(source, node, "MIG107.no_effect", ADVICE, name=name)
    elif name.startswith(("NCCL_", "TORCH_NCCL_")):
        yield finding_at(source, node, "MIG107.nccl", of_nccl(name), name=name)


def _check_command(source: Source, node: ast.Constant) -> Findings:
    """`os.system("CUDA_LAUNCH_BLOCKING=1 CUDA_VISIBLE_DEVICES=0 python train.py")`."""
    if not any(RUNNERS.match(source.names.resolve_call(up)) for up in source.names.nodes_above(node)):
        return
    start, end = source.span_of(node)
    end -= source.text[end - 1] in "'\""
    part = isinstance(source.names.parent_of(node), ast.JoinedStr)
    for match in COMMAND.finditer(source.text, start, end):
        name, value = match.group("name", "value")
        if f"{name}=" in str(node.value):
            edits = (Edit(match.start("name"), match.end("name"), RENAMED.get(name, name)),)
            goes_on = match.end() == end and (part or not value)
            yield from _judge_variable(source, node, name, edits, None if goes_on or UNTOLD.search(value) else value)


def _set_to(source: Source, node: ast.AST) -> str | None:
    """The text that a variable's name is given: assigned, as an entry of a dict, or as the next argument."""
    above = source.names.parent_of(node)
    value: ast.AST | None = None
    if isinstance(node, ast.keyword):
        value = node.value
    elif isinstance(above, ast.Dict):
        value = above.values[above.keys.index(node)]  # type: ignore[arg-type]
    elif isinstance(above, ast.Subscript):
        assign = source.names.parent_of(above)
        value = assign.value if isinstance(assign, ast.Assign) and above in assign.targets else None
    elif isinstance(above, ast.Call) and method_name(above) in ("setdefault", "putenv"):
        value = find_argument(above, 1)
    return string_value(value)


def _keeps_names(source: Source) -> bool:
    """Some name of the file is given a text in capitals."""
    bound = (value for scope in source.names.opened for values in scope.bound.values() for value in values)
    return any(isinstance(value, ast.Constant) and (string_value(value) or "").isupper() for value in bound)


def _is_entry(source: Source, node: ast.Constant) -> bool:
    """A key of `{**os.environ, "X": "1"}`, of what is joined to os.environ, or of a process's `env`."""
    above = source.names.parent_of(node)
    if not isinstance(above, ast.Dict) or node not in above.keys:
        return False
    outer_node = source.names.parent_of(above)
    copied = any(key is None and _is_environment(source, value) for key, value in zip(above.keys, above.values))
    if isinstance(outer_node, ast.AugAssign) and isinstance(outer_node.op, ast.BitOr):
        return _is_environment(source, outer_node.target)
    if isinstance(outer_node, ast.BinOp) and isinstance(outer_node.op, ast.BitOr):
        return _is_environment(source, outer_node.left) or _is_environment(source, outer_node.right)
    is_env = isinstance(outer_node, ast.keyword) and outer_node.arg == "env"
    return copied or is_env or _adds_environment(source, outer_node)


def _adds_environment(source: Source, node: ast.AST | None) -> bool:
    """`os.environ.update(...)` or `dict(os.environ, ...)`."""
    if not isinstance(node, ast.Call):
        return False
    copied = getattr(node.func, "id", "") == "dict" and node.args and _is_environment(source, node.args[0])
    return bool(copied) or source.names.resolve_call(node) == "os.environ.update"


def _is_variable(source: Source, node: ast.expr) -> bool:
    """A key of os.environ or an argument of getenv; a copy (`env = os.environ.copy()`) counts too."""
    above = source.names.parent_of(node)
    if isinstance(above, ast.Subscript) and above.slice is node:
        return _is_environment(source, above.value)
    if isinstance(above, ast.Compare) and above.left is node:
        return _is_environment(source, above.comparators[0])
    if isinstance(above, ast.Call) and above.args[:1] == [node]:
        name = source.names.resolve_call(above)
        base = above.func.value if isinstance(above.func, ast.Attribute) else None
        return name in READERS or (
            method_name(above) in ("get", "setdefault", "pop") and base is not None and _is_environment(source, base)
        )
    return False


def _is_environment(source: Source, node: ast.expr) -> bool:
    if source.names.resolve_name(node) == "os.environ":
        return True
    if isinstance(node, ast.Name):
        return any(
            isinstance(value, ast.Call)
            and source.names.resolve_call(value) in ("os.environ.copy", "dict", "copy.copy")
            and "environ" in ast.dump(value)
            for value in source.names.bound_values(node)
        )
    return False
