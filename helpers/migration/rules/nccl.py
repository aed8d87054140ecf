"""NCCL in every spelling.

transfer_to_npu replaces "nccl" by "hccl" in init_process_group and new_group, in lower case only. The value
itself stays: get_backend() answers "hccl", an argument still says "nccl".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.calls import is_docstring, string, within_string
from helpers.migration.reading.compared import behind_last, in_both
from helpers.migration.reading.source import Source
from helpers.migration.reading.written import only_names
from helpers.migration.repair import AUTO, REWRITE, found

CODE = "MIG106"
WORDS = ("nccl", "NCCL", "Nccl")
KNOWN = Known(MEASURED, TRANSFER)
BACKEND = re.compile(r"(nccl|cpu:gloo,cuda:nccl|cuda:nccl,cpu:gloo|cuda:nccl)\Z")
GROUPS = ("init_process_group", "new_group", "new_subgroups")
EXAMPLES = (
    ("import torch.distributed as dist\ndist.init_process_group('nccl')  # 初始化\n", "auto", None),
    (
        "import torch.distributed as dist\n'组'; dist.init_process_group(backend='NCCL')\n",
        "rewrite",
        "import torch.distributed as dist\n'组'; dist.init_process_group(backend='nccl')\n",
    ),
    (
        "import torch.distributed as dist\nif dist.get_backend() == 'nccl':\n    pass\n",
        "rewrite",
        "import torch.distributed as dist\nif dist.get_backend() in ('nccl', 'hccl'):\n    pass\n",
    ),
    ('if args.backend != "nccl":\n    pass\n', "rewrite", 'if args.backend not in ("nccl", "hccl"):\n    pass\n'),
    (
        "import torch.distributed as dist\nassert dist.get_backend() in ['gloo', 'nccl']\n",
        "rewrite",
        "import torch.distributed as dist\nassert dist.get_backend() in ['gloo', 'nccl', 'hccl']\n",
    ),
    ("p.add_argument('--distributed-backend', default='nccl', choices=['nccl', 'gloo'])\n", "auto", None),
    ("import torch.distributed as dist\nb = dist.Backend.NCCL\n", "auto", None),
    (
        "import torch.distributed as dist\nif dist.get_backend() == dist.Backend.NCCL:  # 显卡\n    pass\n",
        "rewrite",
        'import torch.distributed as dist\nif dist.get_backend() in (dist.Backend.NCCL, "hccl"):  # 显卡\n    pass\n',
    ),
    (
        "import torch.distributed as dist\ndist.init_process_group(backend='NCCL' if gpu else 'GLOO')\n",
        "rewrite",
        "import torch.distributed as dist\ndist.init_process_group(backend='nccl' if gpu else 'GLOO')\n",
    ),
    (
        "if (args.backend or 'gloo') == 'nccl':\n    pass\n",
        "rewrite",
        "if (args.backend or 'gloo') in ('nccl', 'hccl'):\n    pass\n",
    ),
    (
        "import torch.distributed as dist\nif 卡 and (b := dist.get_backend())=='nccl':\n    pass\n",
        "rewrite",
        "import torch.distributed as dist\nif 卡 and (b := dist.get_backend()) in ('nccl', 'hccl'):\n    pass\n",
    ),
    ("ok = not (a or b) != ('nccl')\n", "rewrite", "ok = not (a or b) not in (('nccl', 'hccl'))\n"),
    (
        'import torch.distributed as dist\nok = (dist  # ==\n .get_backend()) == "nccl"\n',
        "rewrite",
        'import torch.distributed as dist\nok = (dist  # ==\n .get_backend()) in ("nccl", "hccl")\n',
    ),
    ("ok = 'nccl' != (a or b)  # 反写\n", "rewrite", "ok = (a or b) not in ('nccl', 'hccl')  # 反写\n"),
    ("ok = b in ('gloo', ('nccl'),)\n", "rewrite", "ok = b in ('gloo', ('nccl'), 'hccl',)\n"),
    ("ok = (b == 'nccl') == 'nccl'\n", "rewrite", "ok = (b in ('nccl', 'hccl')) in ('nccl', 'hccl')\n"),
)
NEAR_MISSES = (
    "print('nccl 不可用')\n",
    "'nccl'\n",
    "if backend in ('nccl', 'hccl'):\n    pass\n",
    "import torch.distributed as dist\ndist.init_process_group('gloo')\n",
    "name = 'nccl_test'\n",
    "from typing import Literal\nclass A:\n    后端: Literal['gloo', 'nccl'] = 'gloo'\n",
    "p.add_argument('--nccl', dest='nccl', action='store_true')\n",
    "if backend == 'gloo':\n    pass\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node in source.nodes(ast.Constant):
        text = string(node)
        if not text or not any(word in text for word in WORDS):
            continue
        if not is_docstring(source, node) and not only_names(source, node):
            yield from _judge(source, node, text)
    for named, name in source.names.named:
        if isinstance(named, ast.Attribute) and name.startswith("torch.distributed.") and "nccl" in named.attr.lower():
            yield from _attribute(source, named)


def _attribute(source: Source, named: ast.Attribute) -> Iterable[Finding]:
    """`Backend.NCCL` is still "nccl"; get_backend() says "hccl"."""
    above = source.names.parent(named)
    if isinstance(above, ast.Compare) and named.attr == "NCCL":
        yield from _compared(source, above, named)
    elif named.attr != "is_nccl_available":  # distributed.py
        yield found(source, named, "MIG106.replaced", AUTO)


def _judge(source: Source, node: ast.Constant, text: str) -> Iterable[Finding]:
    above = source.names.parent(node)
    if isinstance(above, ast.Compare) and text == "nccl":
        yield from _compared(source, above, node)
    elif isinstance(above, (ast.Call, ast.keyword)) or (isinstance(above, ast.IfExp) and text != text.lower()):
        yield from _argument(source, node, text)
    elif BACKEND.match(text) and not _beside_hccl(above):
        compare = source.names.parent(above) if isinstance(above, (ast.Tuple, ast.List, ast.Set)) else None
        if text == "nccl" and isinstance(compare, ast.Compare) and isinstance(above, (ast.Tuple, ast.List, ast.Set)):
            yield found(source, compare, "MIG106.compared", REWRITE, _one_more(source, above, node))
        else:
            yield found(source, node, "MIG106.replaced", AUTO)


def _argument(source: Source, node: ast.Constant, text: str) -> Iterable[Finding]:
    call = next((up for up in source.names.above(node) if isinstance(up, ast.Call)), None)
    if call is None:
        return
    name = source.names.call(call).rsplit(".", 1)[-1] or getattr(call.func, "attr", "")
    if name in GROUPS and text != text.lower() and BACKEND.match(text.lower()):
        wrong = re.search("nccl", text, re.IGNORECASE)
        assert wrong is not None
        edits = within_string(source, node, wrong.group(), "nccl")
        yield found(source, node, "MIG106.upper_case", REWRITE, edits)
    elif BACKEND.match(text):
        yield found(source, node, "MIG106.replaced", AUTO)


def _compared(source: Source, compare: ast.Compare, node: ast.Constant | ast.Attribute) -> Iterable[Finding]:
    asked = compare.comparators[0] if compare.left is node else compare.left
    if string(asked) is not None or source.names.resolve(asked).startswith("torch.distributed.Backend."):
        yield found(source, compare, "MIG106.replaced", AUTO)  # two constants
        return
    quoted = source.segment(node)
    named = isinstance(node, ast.Attribute)
    mark = '"' if named else quoted[:1]
    plain = not any(isinstance(up, ast.JoinedStr) for up in source.names.above(node)) if named else mark in ("'", '"')
    edits = in_both(source, compare, node, f"({quoted}, {mark}hccl{mark})") if plain else ()
    yield found(source, compare, "MIG106.compared", REWRITE, edits)


def _one_more(source: Source, among: ast.Tuple | ast.List | ast.Set, node: ast.Constant) -> tuple[Edit, ...]:
    """`("nccl", "gloo")` with "hccl" behind its last element."""
    mark = source.segment(node)[:1]
    return behind_last(source, among, f"{mark}hccl{mark}") if mark in ("'", '"') else ()


def _beside_hccl(above: ast.AST | None) -> bool:
    """`backend in ("nccl", "hccl")` is already right."""
    return isinstance(above, (ast.Tuple, ast.List, ast.Set)) and "hccl" in [string(element) for element in above.elts]
