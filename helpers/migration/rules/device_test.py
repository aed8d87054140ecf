"""Questions whose answer changes: `x.device.type == "cuda"`, `device == torch.device("cuda")`.

torch.device is not patched: one made by hand keeps the type "cuda", a tensor's own says "npu". A branch
taken on CUDA is then silently left out on an NPU (pytorch/examples imagenet trains without DDP that way).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading import choices
from helpers.migration.reading.branches import branch, has_data_parallel, has_kernel
from helpers.migration.reading.by_hand import says_cuda
from helpers.migration.reading.calls import argument, method, string, within_string
from helpers.migration.reading.closed import later_tests
from helpers.migration.reading.compared import behind_last, in_both
from helpers.migration.reading.flags import flags, is_type
from helpers.migration.reading.kinds import DEVICE, DEVICE_TEXT, OWN, UNKNOWN, kinds
from helpers.migration.reading.source import Source
from helpers.migration.repair import AUTO, MANUAL, REWRITE, found

CODE = "MIG104"
WORDS = ("cuda", "cpu")
CUTTERS = ("strip", "lstrip", "replace", "removeprefix")
PATTERN = r"cuda|\. type\b"  # with "cpu" alone only `.type` is asked for
KNOWN = Known(MEASURED, TRANSFER, inferred=("assumed",))
DEVICE_NAME = re.compile(r"cuda(:\d*)?\Z")
EXAMPLES: tuple[tuple[str, str, str | None], ...] = (
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
    (
        "ok = str(x.clone() or y.device) == 'cuda:0' and (x or y).device.type!='cuda'\n",
        "rewrite",
        "ok = str(x.clone() or y.device) == 'cuda:0' and (x or y).device.type not in ('cuda', 'npu')\n",
    ),
    ("ok = x.device.type in ('cpu', ('cuda'))\n", "rewrite", "ok = x.device.type in ('cpu', ('cuda'), 'npu')\n"),
    ("device_type = 'cuda'\nif device_type == 'cuda':\n    pass\n", "auto", None),
    ("import torch\nd = torch.device('cuda')\nif d.type == 'cuda':\n    pass\n", "auto", None),
    ("gpu = x.device.type != 'cpu'\n", "auto", None),
    (
        "t = x.device.type\nif t == 'cuda':\n    pass\n",
        "rewrite",
        "t = x.device.type\nif t in ('cuda', 'npu'):\n    pass\n",
    ),
    ("def f(device_type):\n    return device_type == 'cuda'  # 未知\n", "auto", None),
    ("d = x.device\nok = d.type != 'cuda'\n", "rewrite", "d = x.device\nok = d.type not in ('cuda', 'npu')\n"),
    ("if 'cuda' in str(x.device):\n    pass\n", "manual", None),
    ("def f(device):\n    cuda = device.type != 'cpu'\n    if cuda and 多卡:\n        pass\n", "auto", None),
    ("import torch\ngpu = not 慢 and torch.cuda.is_available()\nif gpu:\n    pass\n", "auto", None),
    ("import torch\n卡 = True if torch.cuda.is_available() else False\nif 卡:\n    pass\n", "auto", None),
    ("import torch\nif device == torch.device('cuda'):  # 手工创建\n    pass\n", "auto", None),
    ("if device.startswith('cuda:'):\n    pass\n", "auto", None),
    ("n = int(str(self.device).strip('cuda:'))  # 第几张\n", "manual", None),
    (
        "import torch\nclass T:\n    def __init__(self):\n        self.device = torch.device('cuda')\n"
        "    def f(self, x):\n        if x.device != self.device:\n            raise ValueError('不符')\n",
        "manual",
        None,
    ),
    ("import torch\nd = torch.device('cuda:0')\nassert x.device == d\n", "manual", None),
    ("import torch\nd = torch.device(f'cuda:{卡}')\nok = y.device.type == d.type\n", "manual", None),
    ("import torch\nd = torch.device(args.cuda)\nok = d == y.device\n", "manual", None),
    ("import torch\nd = torch.device(args.device or 'cuda:0')\nok = str(d) != str(y.device)\n", "manual", None),
    ("kind = 'cuda' if gpu else 'cpu'\nok = kind == x.device.type\n", "manual", None),
    ("表 = {'cuda': f, 'cpu': g}\n表[x.device.type](x)\n", "manual", None),
    ("T = {'cuda': f}\ny = T.get(device.type, g)\n", "manual", None),
    ("KINDS = ('cuda', 'xpu')\nok = x.device.type in KINDS\n", "manual", None),
    ("class A:\n    T = dict(cuda=f)\n    def f(self, x):\n        return self.T[x.device.type]\n", "manual", None),
    ("from config import PEAK\nx = x.cuda()\npeak = PEAK[x.device.type]\n", "manual", None),
    ("if x.device.type == 'cuda':\n    pass\nelif x.device.type == 'npu':\n    pass\n", "auto", None),
    (
        "if x.device.type == 'cuda':\n    a()\nelif 卡 == 'mps':\n    b()\nelif x.device.type == 'npu':\n    c()\n",
        "auto",
        None,
    ),
    ("if x.device.type == 'cuda':\n    y = scan_cuda(x)\nelse:\n    y = scan(x)\n", "auto", None),
    (
        "from torch import nn\nif x.device.type == 'cuda':\n    m = nn.DataParallel(m)\nelse:\n    m.to(x.device)\n",
        "manual",
        None,
    ),
)
NEAR_MISSES: tuple[str, ...] = (
    "if x.device.type in ('cuda', 'npu'):  # 已支持\n    pass\n",
    "ok = x.device.type == 'mps'\n",
    "if args.type == 'video':\n    pass\n",
    "ok = name.startswith('cuda_')\n",
    "ok = str(x.device).startswith(('cuda', 'npu'))\n",
    "ok = x.device == y.device\n",
    "cuda = 1\nif cuda:\n    pass\n",
    "import torch\n名 = 'a' if torch.cuda.is_available() else ''\nif 名:\n    pass\n",
    "ok = args.backend == 'cuda_amp'\n",
    "def f(cuda):\n    if cuda:  # 参数\n        pass\n",
    "import torch\nd = torch.device('cpu')\nok = x.device == d or x.device.type == d.type\n",
    "import torch\nself.device = torch.device('cuda')\nif x.device != self.device:\n    x = x.to(self.device)\n",
    "d = str(device).strip().replace('cuda:', '')  # 用户写的\n",
    "T = {'cuda': f, 'npu': g}\nT[x.device.type](x)\n",
    "T = {'cuda': f}\nT['npu'] = f\nT[x.device.type](x)\n",
    "n = collections.Counter()\nn[x.device.type] += 1\ny = 表.get(x.device.type)\n",
    "import torch\nd = torch.device(args.device)\nok = d == y.device\n",
    "def f(x, table):\n    return table[x.device.type]\n",
)
if sys.version_info >= (3, 10):
    EXAMPLES += (
        (
            "match x.device.type:\n    case 'cuda':  # 显卡\n        a()\n    case _:\n        b()\n",
            "rewrite",
            "match x.device.type:\n    case 'cuda' | 'npu':  # 显卡\n        a()\n    case _:\n        b()\n",
        ),
        (
            "match str(x.device):\n    case ('xpu' | 'cuda:0') as 名:\n        a()\n",
            "rewrite",
            "match str(x.device):\n    case ('xpu' | 'cuda:0' | 'npu:0') as 名:\n        a()\n",
        ),
        ("match (x.device.type, y):\n    case ('cuda', 1):\n        a()\n", "manual", None),
        ("match x.device.type:\n    case 'cuda':\n        a()\n    case 'npu':\n        b()\n", "auto", None),
        ("match args.device:\n    case 'cuda':\n        a()\n", "auto", None),
        ("match x.device.type:\n    case 'cuda':\n        y = scan_cuda(x)\n", "auto", None),
    )
    NEAR_MISSES += ("match x.device.type:\n    case 'cpu':  # 主机\n        a()\n",)


def check(source: Source) -> Iterable[Finding]:
    for compare in source.nodes(ast.Compare):
        if len(compare.ops) == 1:
            yield from _comparison(source, compare)
    for name in ("startswith", *CUTTERS):
        for call in source.names.methods.get(name, ()):
            yield from (_startswith if name == "startswith" else _cut)(source, call)
    for flag in flags(source):
        yield found(source, flag, "MIG104.holds", AUTO)
    yield from choices.check(source)


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
    if word in ("cuda", "cpu") and is_type(asked):
        assert isinstance(asked, ast.Attribute)
        held = kinds(source, asked.value)
        if word == "cpu" or held <= {DEVICE}:
            yield found(source, compare, "MIG104.holds", AUTO)
        elif _asks_for_npu(source, compare):
            yield found(source, compare, "MIG104.own_branch", AUTO)
        elif has_kernel(source, branch(source, compare)):
            yield found(source, compare, "MIG104.kernels", AUTO)
        elif has_data_parallel(source, branch(source, compare)):
            yield found(source, compare, "MIG104.data_parallel", MANUAL)
        else:
            yield found(source, compare, "MIG104.type", REWRITE, _in_both(source, compare, value, "npu"))
    elif word is not None and DEVICE_NAME.match(word):
        if DEVICE_TEXT in kinds(source, asked):
            edits = _in_both(source, compare, value, word.replace("cuda", "npu"))
            yield found(source, compare, "MIG104.text", REWRITE, edits)
        else:
            yield found(source, compare, f"MIG104.{_certainty(source, asked)}", AUTO)
    else:
        yield from _against_device(source, compare, asked, value)


def _against_device(source: Source, compare: ast.Compare, one: ast.expr, other: ast.expr) -> Iterable[Finding]:
    """`x.device == torch.device("cuda:0")`: False on an NPU; torch.device("npu:0") is what x has there."""
    for made, asked in ((one, other), (other, one)):
        name = argument(made, 0, "device") if isinstance(made, ast.Call) else None
        text = string(name) if source.names.call(made) == "torch.device" else None
        if text and text.startswith("cuda"):
            if kinds(source, asked) & OWN:
                assert isinstance(name, ast.Constant)
                yield found(source, compare, "MIG104.device", REWRITE, within_string(source, name, "cuda", "npu"))
            else:
                yield found(source, compare, f"MIG104.{_certainty(source, asked)}", AUTO)
        elif kinds(source, asked) & {DEVICE_TEXT, *OWN} and says_cuda(source, made) and not _moves(source, compare):
            yield found(source, compare, "MIG104.by_hand", MANUAL)


def _moves(source: Source, compare: ast.Compare) -> bool:
    """`if x.device != d: x = x.to(d)`: moving what is there already does nothing."""
    above = source.names.parent(compare)
    if not isinstance(above, ast.If) or not isinstance(compare.ops[0], ast.NotEq) or above.orelse:
        return False
    values = [step.value for step in above.body if isinstance(step, (ast.Assign, ast.Expr, ast.Return))]
    return len(values) == len(above.body) and all(
        isinstance(each, ast.Call) and method(each) == "to" for each in values
    )


def _membership(source: Source, compare: ast.Compare, asked: ast.expr, among: ast.expr) -> Iterable[Finding]:
    if string(asked) == "cuda":  # 'cuda' in str(x.device)
        wrong = bool(kinds(source, among) & {DEVICE_TEXT, *OWN})
        yield found(
            source, compare, f"MIG104.{'text' if wrong else _certainty(source, among)}", MANUAL if wrong else AUTO
        )
    elif is_type(asked) and isinstance(among, (ast.Tuple, ast.List, ast.Set)):
        assert isinstance(asked, ast.Attribute)
        words = [string(element) for element in among.elts]
        if "cuda" in words and "npu" not in words and not kinds(source, asked.value) <= {DEVICE}:
            quoted = source.segment(among.elts[words.index("cuda")])
            edits = behind_last(source, among, quoted.replace("cuda", "npu"))
            yield found(source, compare, "MIG104.type", REWRITE, edits)


def _cut(source: Source, call: ast.Call) -> Iterable[Finding]:
    """`int(str(x.device).strip("cuda:"))`: on an NPU the text is "npu:0" and int raises."""
    above = source.names.parent(call)
    number = isinstance(above, ast.Call) and getattr(above.func, "id", "") == "int"
    assert isinstance(call.func, ast.Attribute)
    text = call.func.value
    made = isinstance(text, ast.Call) and getattr(text.func, "id", "") == "str"
    device = argument(text, 0) if made and isinstance(text, ast.Call) else None
    if number and (string(argument(call, 0)) or "").startswith("cuda") and getattr(device, "attr", "") == "device":
        yield found(source, call, "MIG104.cut", MANUAL)


def _startswith(source: Source, call: ast.Call) -> Iterable[Finding]:
    word = argument(call, 0)
    assert isinstance(call.func, ast.Attribute)
    if string(word) not in ("cuda", "cuda:") or word is None:
        return
    if kinds(source, call.func.value) & {DEVICE_TEXT, *OWN}:
        quoted = source.segment(word)
        start, end = source.span(word)
        edits = (Edit(start, end, f"({quoted}, {quoted.replace('cuda', 'npu')})"),)
        yield found(source, call, "MIG104.type", REWRITE, edits)
    else:
        yield found(source, call, f"MIG104.{_certainty(source, call.func.value)}", AUTO)


def _in_both(source: Source, compare: ast.Compare, value: ast.expr, other: str) -> tuple[Edit, ...]:
    """`a == 'x'` as `a in ('x', 'other')`, whichever side the string stands on."""
    quoted = source.segment(value)
    if quoted[:1] not in ("'", '"'):
        return ()
    return in_both(source, compare, value, f"({quoted}, {quoted[0]}{other}{quoted[0]})")


def _asks_for_npu(source: Source, compare: ast.Compare) -> bool:
    """The same `if` goes on with a branch for npu."""
    above = source.names.parent(compare)
    tests = list(later_tests(above)) if isinstance(above, ast.If) else []
    if isinstance(above, ast.IfExp) and isinstance(above.orelse, ast.IfExp):
        tests = [above.orelse.test]
    return any(string(inner) == "npu" for test in tests for inner in ast.walk(test))


def _certainty(source: Source, asked: ast.expr) -> str:
    """The word is the script's own, or nothing here says whose it is."""
    return "assumed" if UNKNOWN in kinds(source, asked) else "holds"
