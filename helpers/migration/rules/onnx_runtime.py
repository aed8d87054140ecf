"""ONNX Runtime's providers for CUDA and TensorRT. The build for Ascend (onnxruntime-cann) has CANNExecutionProvider."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, Known
from helpers.migration.reading.calls import is_docstring, string
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, found

CODE = "MIG138"
WORDS = ("ExecutionProvider",)
KNOWN = Known(
    DOCUMENTED,
    "https://onnxruntime.ai/docs/execution-providers/community-maintained/CANN-ExecutionProvider.html",
    versions="onnxruntime-cann",
)
PROVIDERS = {"CUDAExecutionProvider", "TensorrtExecutionProvider"}
EXAMPLES = (("s = Session('模型', providers=['CUDAExecutionProvider'])\n", "manual", None),)
NEAR_MISSES = (
    "s = Session('模型', providers=['CPUExecutionProvider'])\n",
    "print('CUDAExecutionProvider is missing')\n",
    "'CUDAExecutionProvider'\n",
)


def check(source: Source) -> Iterable[Finding]:
    lines = set()
    for node in source.nodes(ast.Constant):
        name = string(node)
        if name in PROVIDERS and not is_docstring(source, node) and node.lineno not in lines:
            lines.add(node.lineno)
            yield found(source, node, "MIG138.provider", MANUAL, name=name)
