"""nvidia-smi called from Python. On an Ascend machine the tool is npu-smi, with other options and output."""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.calls import string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ANY, DOCUMENTED, MANUAL, NPU_SMI, Findings, Known, finding_at

CODE = "MIG123"
WORDS = ("nvidia-smi",)
KNOWN = Known(DOCUMENTED, NPU_SMI, versions=ANY)
RUNNERS = re.compile(r"(subprocess\.|os\.(system|popen)|shutil\.which)")


def check(source: Source) -> Findings:
    for node in source.nodes_of_type(ast.Constant):
        calls = map(source.names.resolve_call, source.names.nodes_above(node))
        if "nvidia-smi" in (string_value(node) or "") and any(map(RUNNERS.match, calls)):
            yield finding_at(source, node, "MIG123.tool", MANUAL)
