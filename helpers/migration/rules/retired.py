"""Names from older Ascend tutorials that no longer exist, with what they are today; from data/retired.json."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from helpers.finding import Finding
from helpers.migration import api_map
from helpers.migration.knowledge import DOCUMENTED, TODAY, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, found

CODE = "MIG129"
RETIRED = api_map.load("retired")["names"]
TOKENS = {name.rpartition(".")[2] for name in RETIRED} | {name.split(".")[0] for name in RETIRED if "." not in name}
PATTERN = rf"\b(?:{'|'.join(sorted({name.split('.')[0] for name in RETIRED}))})\b"
KNOWN = Known(DOCUMENTED, "https://pypi.org/project/mindstudio-probe/", versions=TODAY,
              hours={"gone": 0.25})  # fmt: skip
EXAMPLES = (
    ("from torch_npu.contrib.transfer_to_npu import get_npu_device  # 旧教程\n", "manual", None),
    ("import torch_npu\np = torch_npu.profiler.Profiler()\n", "manual", None),
    ("import torch_npu.profiler as tp\nc = tp.ExperimentalConfig()\n", "manual", None),
    ("from ptdbg_ascend import PrecisionDebugger\n", "manual", None),
    ("import ascend_op\n", "manual", None),
    ("from msprobe.pytorch import ApiProfiler\n", "manual", None),
    ("import os\nos.environ['MSPROBE_PATH'] = '/opt'\n", "manual", None),
    ("import torch_npu\nfrom torch_npu.hooks import set_dump_path\n", "manual", None),
)
NEAR_MISSES = (
    "from torch_npu.contrib import transfer_to_npu  # 今天的写法\n",
    "import torch_npu\np = torch_npu.profiler.profile()\n",
    "import torch_npu\nc = torch_npu.profiler._ExperimentalConfig()\n",
    "from msprobe.pytorch import PrecisionDebugger\n",
    "class Profiler:\n    pass\np = Profiler()\n",
    "from mine import ascend_op\n",
    "print('MSPROBE_PATH')\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        for name in dict.fromkeys(filter(None, map(_retired, _imported(node)))):
            yield _gone(source, node, name)
    for reference, name in source.names.named:
        if isinstance(reference, ast.Attribute) and name in RETIRED:
            yield _gone(source, reference, name)
    for key, text in source.strings:
        if text in RETIRED and RETIRED[text].get("kind") == "variable" and _is_key(source, key):
            yield _gone(source, key, text)


def _gone(source: Source, node: ast.AST, name: str) -> Finding:
    return found(source, node, "MIG129.gone", MANUAL, name=name, use={"say": f"migration.use.{RETIRED[name]['use']}"})


def _imported(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield from (f"{node.module}.{name.name}" for name in node.names)


def _retired(name: str) -> str:
    """The name itself or the retired module that it is in."""
    parts = name.split(".")
    leading = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((part for part in leading if RETIRED.get(part, {}).get("kind") in ("name", "module")), "")


def _is_key(source: Source, node: ast.Constant) -> bool:
    """`os.environ["X"]`, `os.getenv("X")`."""
    above = source.names.parent(node)
    if isinstance(above, ast.Subscript):
        return source.names.resolve(above.value) == "os.environ"
    return source.names.call(above).startswith("os.") if isinstance(above, ast.Call) else False
