"""An operator that an NPU has no kernel of, or none for float64, complex or small integers: it runs on the CPU.

torch_npu itself runs on the CPU what it has no kernel of at all; a data type that a kernel refuses is an error of CANN
(161002), which names the operator. The call of that operator on the user's line is made with copies on the CPU, and
its result goes back; gradients go the same way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import define_helper, last_name, look_at_error, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND

SOURCE = ASCEND + "docs/zh/api/native_api/"
#: How the operator is named: by torch_npu before the error of CANN, by the dispatcher, by an operator's own check.
NAMED = (
    re.compile(r"^(?:\w+: )?(\w+?)(?:\.\w+)?: NPU function error: call aclnn\w+ failed, error code is 161002", re.M),
    re.compile(r"operator '(?:aten|npu)::(\w+?)(?:\.\w+)?' is not currently supported on the NPU backend"),
    re.compile(r"Could not run '(?:aten|npu)::(\w+?)(?:\.\w+)?' with arguments from the"),
    re.compile(r"^(?:\w+: )?(\w+?)_npu only supported \w+, but get\w+", re.M),
)
#: What the user's line calls it.
CALLED = {
    "bmm": ("matmul", "einsum", "baddbmm"),
    "addmm": ("mm", "matmul", "linear"),
    "matmul": ("einsum", "linear", "dot"),
    "linalg_vector_norm": ("norm", "vector_norm"),
    "_unique2": ("unique",),
    "im2col": ("unfold",),
    "upsample_bilinear2d": ("interpolate", "upsample"),
    "nll_loss2d_forward": ("cross_entropy", "nll_loss"),
}
#: Functions of torch that a tensor has no method of the same name and meaning for.
NO_METHODS = (
    *("linear", "bilinear", "embedding", "einsum", "interpolate", "upsample", "unfold", "cross_entropy", "nll_loss"),
    *("conv1d", "conv2d", "conv3d", "convolution", "batch_norm", "layer_norm", "group_norm", "instance_norm"),
    *("dropout", "vector_norm", "pad", "gelu", "silu", "lstm", "gru"),
)
HELPER = '''
def _run_on_cpu(function, *values, **options):
    """Run what an NPU has no kernel for on the CPU, and bring the result back."""
    import torch
    from torch.utils._pytree import tree_flatten, tree_map

    def move(value, device):
        return value.to(device) if torch.is_tensor(value) else value

    tensors = [value for value in tree_flatten((values, options))[0] if torch.is_tensor(value)]
    device = next((tensor.device for tensor in tensors if tensor.device.type != "cpu"), "cpu")
    values, options = tree_map(lambda value: move(value, "cpu"), (values, options))
    return tree_map(lambda value: move(value, device), function(*values, **options))
'''


def knows(failure: Failure) -> bool:
    return bool(_name_operator(failure)) and "backward()" not in failure.code


def _name_operator(failure: Failure) -> str:
    text = f"{failure.kind}: {failure.message}"
    return next((match.group(1) for pattern in NAMED if (match := pattern.search(text))), "")


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    operator = _name_operator(failure)
    names = {operator, operator.strip("_"), *CALLED.get(operator, ()), operator.removeprefix("linalg_")}
    for source, node in look_at_error(failure).find_nodes(ast.Call, ast.BinOp):
        if _is_of_module(failure, source, node):
            continue
        text = _move_call(source, node, names)
        if text:
            edits = [replace_node(source, node, text)]
            if "def _run_on_cpu(" not in source.text:
                edits.append(define_helper(source, HELPER.strip("\n")))
            yield source, edits
            return


def _is_of_module(failure: Failure, source: Source, node: ast.AST) -> bool:
    """Whether what is called may be a layer, whose weights would stay where they are, or no function of torch."""
    if not isinstance(node, ast.Call):
        return False
    called, resolved = node.func, source.names.resolve_call(node)
    if resolved or not isinstance(called, ast.Attribute):
        return not resolved.startswith("torch.")
    of = called.value
    own = last_name(of.func if isinstance(of, ast.Call) else of) in ("self", "cls", "super")
    return own or called.attr in NO_METHODS or _is_attribute(failure, called.attr)


def _is_attribute(failure: Failure, name: str) -> bool:
    """Whether a class of the repository keeps something of that name, such as `self.norm`."""
    return any(name in source.names.assigned_attributes for source in failure.walk_sources(f".{name}"))


def _move_call(source: Source, node: ast.AST, names: set[str]) -> str:
    """The call, or `a @ b`, with its function handed to the helper; empty for another, and for what works in place."""
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.MatMult) or not names & {"matmul", "bmm", "mm"}:
            return ""
        left, right = source.text_of(node.left), source.text_of(node.right)
        return f"_run_on_cpu(lambda left, right: left @ right, {left}, {right})"
    if not isinstance(node, ast.Call):
        return ""
    called = node.func
    last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    if last not in names or last.endswith("_") or any(pair.arg == "out" for pair in node.keywords):
        return ""
    start, _ = source.span_of(node)
    begin, end = source.span_of(called)
    if begin != start:
        return ""
    values = source.text[end : source.span_of(node)[1]].lstrip()[1:-1].strip()
    resolved = source.names.resolve_call(node) or ""
    if resolved or not isinstance(called, ast.Attribute):
        return f"_run_on_cpu({', '.join(filter(None, [source.text_of(called), values]))})"
    of = source.text_of(called.value)
    more = ", *values, **options" if values else ""
    inner = f"lambda tensor{more}: tensor.{last}({more.lstrip(', ')})"
    return f"_run_on_cpu({', '.join(filter(None, [inner, of, values]))})"
