"""nvidia-smi called from Python. On an Ascend machine the tool is npu-smi, with other options and output."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import ANY, DOCUMENTED, NPU_SMI, Known
from helpers.migration.reading.calls import string
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, found

CODE = "MIG123"
WORDS = ("nvidia-smi",)
KNOWN = Known(DOCUMENTED, NPU_SMI, versions=ANY)
RUNNERS = re.compile(r"(subprocess\.|os\.(system|popen)|shutil\.which)")
EXAMPLES = (
    ("import subprocess\nsubprocess.run(['nvidia-smi'])  # 显存\n", "manual", None),
    ("import os\nos.system('nvidia-smi -L')\n", "manual", None),
)
NEAR_MISSES = ("print('请运行 nvidia-smi')\n", "import subprocess\nsubprocess.run(['ls'])\n")


def check(source: Source) -> Iterable[Finding]:
    for node in source.nodes(ast.Constant):
        text = string(node)
        if text and "nvidia-smi" in text and _is_run(source, node):
            yield found(source, node, "MIG123.tool", MANUAL)


def _is_run(source: Source, node: ast.AST) -> bool:
    calls = (up for up in source.names.above(node) if isinstance(up, ast.Call))
    return any(RUNNERS.match(source.names.call(call)) for call in calls)
