"""What an expression is likely to hold, as far as this file tells: a device, a string, a number, or unknown.

Matters because transfer_to_npu does not patch torch.device: `torch.device("cuda").type` stays "cuda", while
the device of a tensor on an NPU has the type "npu".
"""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.calls import find_argument, string_value
from ascend_workbook.migration.reading.names import Bound
from ascend_workbook.migration.reading.source import Source

DEVICE, ACCELERATOR, TENSOR_DEVICE = "device", "accelerator", "tensor_device"
STRING, NUMBER, UNKNOWN = "string", "number", "unknown"
#: The text of a device that says npu on an NPU: `x.device.type`, `str(x.device)`.
DEVICE_TEXT = "device_text"
#: Devices that are the machine's own, not made by hand.
OWN = {ACCELERATOR, TENSOR_DEVICE}
#: Calls that give a torch.device of the machine's own accelerator.
ACCELERATORS = {"torch.accelerator.current_accelerator", "torch.get_default_device"}
NUMBERS = {"int", "torch.cuda.current_device", "torch.cuda.device_count", "torch.distributed.get_rank", "len"}
STRINGS = {"os.environ.get", "os.getenv", "format"}
#: What a parameter holds that is said to be one.
ANNOTATED = {"int": NUMBER, "str": STRING, "torch.device": DEVICE}
DEPTH = 6
#: Names of settings: their `.device` is what the user asked for, not a tensor's.
OPTIONS = ("self", "cls", "args", "opt", "opts", "options", "cfg", "config", "conf", "flags", "hparams", "params")


def find_kinds(source: Source, node: ast.expr, depth: int = DEPTH) -> set[str]:
    """Find all kinds the expression may be of; `unknown` among them where one cannot be told."""
    if depth == 0:
        return {UNKNOWN}
    if isinstance(node, ast.Constant):
        return {STRING if isinstance(node.value, str) else NUMBER if isinstance(node.value, int) else UNKNOWN}
    if isinstance(node, ast.JoinedStr):
        return {STRING}
    if isinstance(node, ast.IfExp):
        return find_kinds(source, node.body, depth - 1) | find_kinds(source, node.orelse, depth - 1)
    if isinstance(node, ast.BinOp):
        return find_kinds(source, node.left, depth - 1) if isinstance(node.op, (ast.Add, ast.Mod)) else {NUMBER}
    if isinstance(node, ast.Call):
        return {_kind_of_call(source, node, depth)}
    if isinstance(node, ast.Attribute) and node.attr == "type":
        return {_kind_of_text(find_kinds(source, node.value, depth - 1))}
    if isinstance(node, ast.Attribute) and node.attr == "device" and not is_options(node.value):
        return {TENSOR_DEVICE}
    values: list[Bound] = source.names.bound_values(node) if isinstance(node, ast.Name) else []
    if isinstance(node, ast.Name) and not any(isinstance(value, ast.expr) for value in values):
        return {_kind_of_parameter(source, node)}
    if isinstance(node, ast.Attribute):
        values = [*find_assigned_values(source, node)]
        depth = min(depth, 3)  # `self.a = self.a or b` asks for itself
    each = (find_kinds(source, value, depth - 1) if isinstance(value, ast.expr) else {UNKNOWN} for value in values)
    return set().union(*each) or {UNKNOWN}


def _kind_of_parameter(source: Source, node: ast.Name) -> str:
    """What the parameter of that name of the function around is said to be: `def f(device: int)`."""
    function = source.names.enclosing_function(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return UNKNOWN
    parameters = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    annotation = next((each.annotation for each in parameters if each.arg == node.id), None)
    if annotation is None:
        return UNKNOWN
    return ANNOTATED.get(source.names.resolve_name(annotation) or getattr(annotation, "id", ""), UNKNOWN)


def _kind_of_text(held: set[str]) -> str:
    """What the text of a device is: the machine's own says npu, one made by hand what the script wrote."""
    if held & OWN:
        return DEVICE_TEXT
    return STRING if held <= {DEVICE, STRING} else UNKNOWN


def _kind_of_call(source: Source, node: ast.Call, depth: int) -> str:
    name = source.names.resolve_name(node.func) or (node.func.id if isinstance(node.func, ast.Name) else "")
    if name == "torch.device":
        return DEVICE
    if name in ACCELERATORS:
        return ACCELERATOR
    if name in NUMBERS:
        return NUMBER
    if name == "str" and len(node.args) == 1:
        return _kind_of_text(find_kinds(source, node.args[0], depth - 1))
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return STRING if name in STRINGS or method in ("format", "lower", "strip") else UNKNOWN


def is_options(node: ast.expr) -> bool:
    """Return whether it is `args.device`, `self.device`, `cfg.train.device`: settings, not a tensor's device."""
    last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return last.lower() in OPTIONS


def about_devices(node: ast.expr) -> bool:
    """A name that says device: `device`, `self.device`, `dev`."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return "device" in name.lower() or name.lower() in ("dev", "cuda")


# Whether an expression may be a CUDA device, or the text of one, that the script wrote itself.


def says_cuda(source: Source, node: ast.AST | str | None, depth: int = DEPTH) -> bool:
    """Return whether a value says cuda, `"cuda" if gpu else "cpu"`, or is a name that this file gives such a value."""
    if depth == 0 or not isinstance(node, ast.expr):
        return False
    parts = _split_alternatives(source, node)
    return any(says_cuda(source, part, depth - 1) for part in parts) or _is_cuda(source, node)


def _is_cuda(source: Source, node: ast.expr) -> bool:
    if source.names.resolve_call(node) == "torch.device":
        assert isinstance(node, ast.Call)
        name = find_argument(node, 0, "device")
        if name is None or isinstance(name, ast.Constant) or "cuda" not in source.text:
            return False
        return find_kinds(source, name) == {UNKNOWN}  # `args.device`
    return (string_value(node) or "").startswith("cuda")


def _split_alternatives(source: Source, node: ast.expr) -> list[ast.expr]:
    """The expressions that decide which device this one is."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.BinOp):
        return [node.left]
    if isinstance(node, ast.JoinedStr):
        return node.values[:1]
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            return [node.func.value]
        makes_device = source.names.resolve_call(node) == "torch.device" or getattr(node.func, "id", "") == "str"
        name = find_argument(node, 0, "device") if makes_device else None
        return [name] if name is not None else []
    if isinstance(node, ast.Attribute):
        return [node.value] if node.attr == "type" else find_assigned_values(source, node)
    values = source.names.bound_values(node) if isinstance(node, ast.Name) else []
    return [value for value in values if isinstance(value, ast.expr)]


def find_assigned_values(source: Source, node: ast.Attribute) -> list[ast.expr]:
    """Return what this file assigns to `self.device`."""
    assigned_pairs = source.names.assigned_attributes.get(node.attr, [])
    base = ast.dump(node.value) if assigned_pairs else ""
    return [value for owner, value in assigned_pairs if owner == base]
