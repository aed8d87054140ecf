"""Device strings: "cuda", "cuda:0", f"cuda:{rank}".

transfer_to_npu replaces them where they are used: in 47 torch functions, Tensor.to and new_*, Module.to and
more. Functions outside its lists raise with a CUDA device; there the string must say npu.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.calls import is_docstring, method, string, within_string
from helpers.migration.reading.source import Source
from helpers.migration.reading.written import only_names
from helpers.migration.repair import ADVICE, AUTO, REWRITE, found
from helpers.migration.rules import amp

CODE = "MIG102"
WORDS = ("cuda",)
KNOWN = Known(MEASURED, TRANSFER)
DEVICE = re.compile(r"cuda(:(\d*|\{.*\}|%[ds]))?\Z")
#: Not in transfer_to_npu's lists; each raised when run under it (torch_npu 2.13.0).
NOT_REPLACED = {
    "torch.asarray",
    "torch.empty_permuted",
    "torch.nested.nested_tensor",
    "torch.nested.as_nested_tensor",
    "torch.Tensor",
    "torch.library.custom_op",
    "torch.library.register_kernel",
    "torch.distributed.get_default_backend_for_device",
    "torch.distributed.distributed_c10d.get_default_backend_for_device",
}
#: Messages, and calls that other rules speak of.
ELSEWHERE = ("startswith", "info", "debug", "warning", "error", "cuda", "type")
#: What else may be called cuda.
OTHER = {"impl", "implementation", "kernel", "kernel_type", "kernel_impl", "op_backend"}
#: Options of a call that name something: `add_option(name="cuda")`.
NAMING = {
    "dest", "name", "extra", "tag", "tags", "lang", "help", "metavar", "prefix", "suffix", "fmt", "label", "title",
}  # fmt: skip
#: Calls that take the word for a pattern, a path or the name of an attribute.
PLAIN = ("re.", "os.path.", "logging.", "importlib.", "hasattr", "getattr", "setattr")
#: Work on the text itself.
TEXT = ("replace", "split", "strip", "lstrip", "removeprefix", "endswith", "find", "count")
EXAMPLES = (
    ("import torch\nx = torch.zeros(2, device='cuda')  # 建在显卡上\n", "auto", None),
    ("def f(rank):\n    return f'cuda:{rank}'\n", "auto", None),
    ("device = 'cuda:' + str(0)\n", "auto", None),
    ("device = 'cuda:{}'.format(卡)\n", "auto", None),
    ("device = 'cuda:%d' % rank\n", "auto", None),
    ("p.add_argument('--dev', dest='dev', choices=('cpu', 'cuda'))  # 设备\n", "auto", None),
    (
        "import torch\n名 = torch.asarray([1], device='cuda:0')\n",
        "rewrite",
        "import torch\n名 = torch.asarray([1], device='npu:0')\n",
    ),
    (
        "import torch\nx = torch.asarray([1], device=f'cuda:{0}')\n",
        "rewrite",
        "import torch\nx = torch.asarray([1], device=f'npu:{0}')\n",
    ),
    (
        "import torch\n@torch.library.custom_op('核', mutates_args=(), device_types=['cuda'])\ndef f(x):\n    pass\n",
        "rewrite",
        "import torch\n@torch.library.custom_op('核', mutates_args=(), device_types=['npu'])\ndef f(x):\n    pass\n",
    ),
    ("from torch.utils.data import DataLoader\nl = DataLoader([1], pin_memory_device='cuda')\n", "advice", None),
)
NEAR_MISSES = (
    "print('cuda 不可用')\n",
    "'cuda'\n",
    "name = 'cuda_kernels'\n",
    "def f():\n    'cuda'\n",
    "help = 'use cuda:0 or cpu'\n",
    "d = {'barracuda': 1}\n",
    "print(f'{1} cuda:')\n",
    "名 = d.replace('cuda:', '')\n",
    "s = 状态['cuda']\n",
    "import torch\nif x.device != torch.device('cuda'):\n    pass\n",
    "def filter(x, impl='cuda'):\n    return x\n",
    "y = upfirdn(x, impl='cuda')\n",
    "ok = hasattr(torch, 'cuda')\n状态 = {'cuda': 1}\n",
    "p.add_argument('--impl', default='cuda', choices=['cuda', 'ref'])\n",
    "p.add_argument('--cuda', dest='cuda', action='store_true')  # 用显卡\n",
    "print('cuda')\n",
    "exclusive_group(group=g, name='cuda', default=True, help='显卡')\n",
    "def supported():\n    return ['cuda', 'npu']  # 已支持\n",
    "from typing import Literal\ndef f(device: Literal['cpu', 'cuda'] = 'cpu'):\n    pass\n",
)


def check(source: Source) -> Iterable[Finding]:
    texts = [node for node, text in source.strings if DEVICE.match(text)]
    for node in (*texts, *filter(_names_device, source.nodes(ast.JoinedStr))):
        if not is_docstring(source, node) and not _compared(source, node):
            yield from _judge(source, node)


def _judge(source: Source, node: ast.expr) -> Iterable[Finding]:
    above = source.names.parent(node)
    if isinstance(above, (ast.JoinedStr, ast.Subscript)) or is_other(source, node) or only_names(source, node):
        return
    if isinstance(above, (ast.List, ast.Tuple, ast.Set)) and "npu" in map(string, above.elts):
        return  # `states["cuda"]`: a key of the script's own
    call = next((up for up in source.names.above(node) if isinstance(up, ast.Call)), None)
    if call and amp.owns(source, call):
        return
    if isinstance(above, ast.keyword) and above.arg == "pin_memory_device":
        yield found(source, node, "MIG102.pin_memory_device", ADVICE)
    elif call and source.names.call(call) in NOT_REPLACED:
        yield found(source, node, "MIG102.not_replaced", REWRITE, _edits(source, node), name=source.names.call(call))
    elif not (call and (method(call) in (*ELSEWHERE, *TEXT) or getattr(call.func, "id", "") == "print")):
        yield found(source, node, "MIG102.replaced", AUTO)


def is_other(source: Source, node: ast.expr) -> bool:
    """Not a device: a key, a pattern, an attribute's name, or an implementation's (`impl="cuda"`)."""
    above = source.names.parent(node)
    if isinstance(above, ast.Dict):
        return string(node) == "cuda" and node in above.keys
    if isinstance(above, ast.Call) and (source.names.call(above) or getattr(above.func, "id", "")).startswith(PLAIN):
        return node in above.args[:2]
    if isinstance(above, (ast.List, ast.Tuple)):
        above = source.names.parent(above)
    if isinstance(above, ast.keyword):
        call = source.names.parent(above)
        option = string(call.args[0]) if isinstance(call, ast.Call) and call.args else None
        return above.arg in OTHER | NAMING or (option or "").lstrip("-") in OTHER
    if isinstance(above, ast.arguments):
        named = [*above.posonlyargs, *above.args][-len(above.defaults) :] if above.defaults else []
        pairs = [*zip(named, above.defaults), *zip(above.kwonlyargs, above.kw_defaults)]
        return any(value is node and argument.arg in OTHER for argument, value in pairs)
    return False


def _names_device(node: ast.JoinedStr) -> bool:
    return bool(node.values) and string(node.values[0]) in ("cuda", "cuda:")


def _compared(source: Source, node: ast.AST) -> bool:
    """Comparisons belong to device_test.py."""
    above = source.names.parent(node)
    made = isinstance(above, ast.Call) and source.names.call(above) == "torch.device"
    if made or isinstance(above, (ast.Tuple, ast.List, ast.Set)):
        above = source.names.parent(above) if above else None
    return isinstance(above, (ast.Compare, getattr(ast, "MatchValue", ast.Compare)))


def _edits(source: Source, node: ast.expr) -> tuple[Edit, ...]:
    if isinstance(node, ast.Constant):
        return within_string(source, node, "cuda", "npu")
    start, end = source.span(node)
    text = source.text[start:end]
    at = text.find("cuda")
    return (Edit(start + at, start + at + 4, "npu"),) if text[:1] in "fFrR" and at in (2, 3) else ()
