"""Questions whose answer changes: `x.device.type == "cuda"`, `device == torch.device("cuda")`.

torch.device is not patched: one made by hand keeps the type "cuda", a tensor's own says "npu". A branch
taken on CUDA is then silently left out on an NPU (pytorch/examples imagenet trains without DDP that way).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.calls import argument, method, string, within_string
from helpers.migration.kinds import ACCELERATOR, DEVICE, TENSOR_DEVICE, about_devices, kinds
from helpers.migration.repair import AUTO, MANUAL, REWRITE, found
from helpers.migration.source import Source

CODE = "MIG104"
EXAMPLES = (
    (
        "if x.device.type == 'cuda':  # 在显卡上\n    pass\n",
        "rewrite",
        "if x.device.type in ('cuda', 'npu'):  # 在显卡上\n    pass\n",
    ),
    ("ok = '中文' and t.device.type != 'cuda'\n", "rewrite", "ok = '中文' and t.device.type not in ('cuda', 'npu')\n"),
    (
        "def f(device):\n    return 'cuda' == device.type\n",
        "rewrite",
        "def f(device):\n    return device.type in ('cuda', 'npu')\n",
    ),
    (
        "if x.device.type in ('cuda', 'xpu'):\n    pass\n",
        "rewrite",
        "if x.device.type in ('cuda', 'xpu', 'npu'):\n    pass\n",
    ),
    ("ok = str(x.device).startswith('cuda')\n", "rewrite", "ok = str(x.device).startswith(('cuda', 'npu'))\n"),
    (
        "import torch\nok = x.device == torch.device('cuda:0')\n",
        "rewrite",
        "import torch\nok = x.device == torch.device('npu:0')\n",
    ),
    ("device_type = 'cuda'\nif device_type == 'cuda':\n    pass\n", "auto", None),
    ("import torch\nd = torch.device('cuda')\nif d.type == 'cuda':\n    pass\n", "auto", None),
    ("gpu = x.device.type != 'cpu'\n", "auto", None),
    ("if 'cuda' in str(x.device):\n    pass\n", "manual", None),
)
NEAR_MISSES = (
    "if x.device.type in ('cuda', 'npu'):  # 已支持\n    pass\n",
    "ok = x.device.type == 'mps'\n",
    "if args.type == 'video':\n    pass\n",
    "ok = name.startswith('cuda_')\n",
    "ok = str(x.device).startswith(('cuda', 'npu'))\n",
    "ok = x.device == y.device\n",
)
PATCHED_AWAY = {TENSOR_DEVICE, ACCELERATOR}


def check(source: Source) -> Iterable[Finding]:
    for compare in source.nodes(ast.Compare):
        if len(compare.ops) == 1:
            yield from _comparison(source, compare)
    for call in source.nodes(ast.Call):
        if method(call) == "startswith":
            yield from _startswith(source, call)


def _comparison(source: Source, compare: ast.Compare) -> Iterable[Finding]:
    left, right, operator = compare.left, compare.comparators[0], compare.ops[0]
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        if string(left) is not None:
            left, right = right, left
        yield from _equality(source, compare, left, right)
    elif isinstance(operator, (ast.In, ast.NotIn)):
        yield from _membership(source, compare, left, right)


def _equality(source: Source, compare: ast.Compare, asked: ast.expr, value: ast.expr) -> Iterable[Finding]:
    word = string(value)
    if word in ("cuda", "cpu") and _is_type(asked):
        assert isinstance(asked, ast.Attribute)
        held = kinds(source, asked.value)
        if word == "cpu" or held <= {DEVICE}:
            yield found(source, compare, f"{CODE}.holds", AUTO)
        else:
            yield found(source, compare, f"{CODE}.type", REWRITE, _in_both(source, compare, asked, value, "npu"))
    elif word is not None and word.startswith("cuda"):
        held = kinds(source, asked)
        wrong = bool(held & PATCHED_AWAY) or _is_str_of_device(source, asked)
        yield found(source, compare, f"{CODE}.{'text' if wrong else 'holds'}", MANUAL if wrong else AUTO)
    else:
        yield from _against_device(source, compare, asked, value)


def _against_device(source: Source, compare: ast.Compare, one: ast.expr, other: ast.expr) -> Iterable[Finding]:
    """`x.device == torch.device("cuda:0")`: False on an NPU; torch.device("npu:0") is what x has there."""
    for made, asked in ((one, other), (other, one)):
        if isinstance(made, ast.Call) and source.names.call(made) == "torch.device":
            name = argument(made, 0, "device")
            text = string(name)
            if text and text.startswith("cuda") and kinds(source, asked) & PATCHED_AWAY:
                assert isinstance(name, ast.Constant)
                yield found(source, compare, f"{CODE}.device", REWRITE, within_string(source, name, "cuda", "npu"))


def _membership(source: Source, compare: ast.Compare, asked: ast.expr, among: ast.expr) -> Iterable[Finding]:
    if string(asked) == "cuda":  # 'cuda' in str(x.device)
        wrong = _is_str_of_device(source, among) or bool(kinds(source, among) & PATCHED_AWAY)
        yield found(source, compare, f"{CODE}.{'text' if wrong else 'holds'}", MANUAL if wrong else AUTO)
    elif _is_type(asked) and isinstance(among, (ast.Tuple, ast.List, ast.Set)):
        assert isinstance(asked, ast.Attribute)
        words = [string(element) for element in among.elts]
        if "cuda" in words and "npu" not in words and not kinds(source, asked.value) <= {DEVICE}:
            quoted = source.segment(among.elts[words.index("cuda")])
            _, end = source.span(among.elts[-1])
            edits = (Edit(end, end, f", {quoted.replace('cuda', 'npu')}"),)
            yield found(source, compare, f"{CODE}.type", REWRITE, edits)


def _startswith(source: Source, call: ast.Call) -> Iterable[Finding]:
    word = argument(call, 0)
    assert isinstance(call.func, ast.Attribute)
    if string(word) != "cuda" or word is None:
        return
    if _is_str_of_device(source, call.func.value) or kinds(source, call.func.value) & PATCHED_AWAY:
        quoted = source.segment(word)
        start, end = source.span(word)
        edits = (Edit(start, end, f"({quoted}, {quoted.replace('cuda', 'npu')})"),)
        yield found(source, call, f"{CODE}.type", REWRITE, edits)
    else:
        yield found(source, call, f"{CODE}.holds", AUTO)


def _in_both(source: Source, compare: ast.Compare, asked: ast.expr, value: ast.expr, other: str) -> tuple[Edit, ...]:
    """`a == 'x'` as `a in ('x', 'other')`, whichever side the string stands on."""
    quoted = source.segment(value)
    if quoted[:1] not in ("'", '"'):
        return ()
    word = "in" if isinstance(compare.ops[0], ast.Eq) else "not in"
    start, end = source.span(compare)
    both = f"({quoted}, {quoted[0]}{other}{quoted[0]})"
    return (Edit(start, end, f"{source.segment(asked)} {word} {both}"),)


def _is_type(node: ast.expr) -> bool:
    """`….device.type`, `device.type`, `torch.device(...).type`, not any `.type`."""
    if not (isinstance(node, ast.Attribute) and node.attr == "type"):
        return False
    return about_devices(node.value) or (isinstance(node.value, ast.Call) and "device" in ast.dump(node.value.func))


def _is_str_of_device(source: Source, node: ast.expr) -> bool:
    """`str(x.device)`; a string made from a device by hand keeps its word."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        return not kinds(source, node.args[0]) <= {DEVICE, "string"}
    return False
