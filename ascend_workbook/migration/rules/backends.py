"""Switches of cuDNN and cuBLAS: accepted and without effect on an NPU. HF32 takes TF32's place.

cuDNN's own operators have no NPU kernel: the plain ones (conv2d, batch_norm) do.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.calls import method_name, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import (
    ADVICE,
    DOCUMENTED,
    MANUAL,
    NATIVE,
    UNSUPPORTED,
    Findings,
    Known,
    finding_at,
)

CODE = "MIG119"
TOKENS = ("backends",)
WORDS = ("cuda", "cudnn")
NEEDS = ("torch",)
PATTERN = r"(?:\.|\bimport|[,(]) (?:backends|version)\b(?! =)|cudnn_"
KNOWN = Known(DOCUMENTED, NATIVE, hours={"cudnn_operator": 4.0})
#: cuDNN's operators by name: `torch.ops.aten.cudnn_convolution`, "aten::cudnn_convolution".
OPERATORS = re.compile(r"(torch\.(ops\.aten\.)?_?|aten::_?)cudnn_(?!is_acceptable|init_dropout_state)\w+")
FAMILIES = ("torch.backends.cudnn.", "torch.backends.cuda.")
#: Calls that raise, or answer something else, for None.
PARSERS = {"parse", "Version", "LooseVersion", "StrictVersion", "parse_version", "float", "int", "bool"}


def check(source: Source) -> Findings:
    for node, name in source.names.named_nodes:
        if name == "torch.version.cuda" and isinstance(node, ast.Attribute):
            outcome, repair = ("version_asked", MANUAL) if _decides_answer(source, node) else ("version", ADVICE)
            yield finding_at(source, node, f"MIG119.{outcome}", repair)
        if not isinstance(node, ast.Attribute) or isinstance(source.names.parent_of(node), ast.Attribute):
            continue
        if name.startswith(FAMILIES):
            if "cufft_plan_cache" in name:
                yield finding_at(source, node, "MIG119.cufft", MANUAL, name=name)
                continue
            outcome = "tf32" if "tf32" in name or "precision" in name else "no_effect"
            yield finding_at(source, node, f"MIG119.{outcome}", ADVICE, name=name)
        elif OPERATORS.match(name) and isinstance(source.names.parent_of(node), ast.Call):
            yield finding_at(source, node, "MIG119.cudnn_operator", UNSUPPORTED, name=name)
    for call in source.nodes_of_type(ast.Call):
        if method_name(call) == "_jit_get_operation":
            inside = [string_value(inner) or "" for inner in ast.walk(call)]
            name = next((text for text in inside if OPERATORS.match(text)), "")
            if name:
                yield finding_at(source, call, "MIG119.cudnn_operator", UNSUPPORTED, name=name)


def _decides_answer(source: Source, node: ast.AST) -> bool:
    """Compared, parsed or asked for its truth; not where it is printed, kept, or asked whether it is None."""
    child = node
    for above in source.names.nodes_above(node):
        if isinstance(above, ast.Compare):
            return not any(isinstance(value, ast.Constant) and value.value is None for value in above.comparators)
        if isinstance(above, (ast.Attribute, ast.BoolOp)):
            return True
        if isinstance(above, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            return above.test is child
        if isinstance(above, ast.Call):
            name = source.names.resolve_call(above) or getattr(above.func, "id", "") or getattr(above.func, "attr", "")
            return name.rpartition(".")[2] in PARSERS
        if isinstance(above, (ast.stmt, ast.JoinedStr, ast.Dict)):
            return False
        child = above
    return False
