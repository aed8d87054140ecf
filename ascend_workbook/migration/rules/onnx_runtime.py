"""ONNX Runtime's providers for CUDA and TensorRT. The build for Ascend (onnxruntime-cann) has CANNExecutionProvider."""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.calls import is_docstring, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import DOCUMENTED, MANUAL, Findings, Known, finding_at

CODE = "MIG159"
WORDS = ("ExecutionProvider",)
PAGE = "https://onnxruntime.ai/docs/execution-providers/community-maintained/CANN-ExecutionProvider.html"
KNOWN = Known(DOCUMENTED, PAGE, versions="onnxruntime-cann")
PROVIDERS = {"CUDAExecutionProvider", "TensorrtExecutionProvider"}


def check(source: Source) -> Findings:
    lines = set()
    for node in source.nodes_of_type(ast.Constant):
        name = string_value(node)
        if name in PROVIDERS and not is_docstring(source, node) and node.lineno not in lines:
            lines.add(node.lineno)
            yield finding_at(source, node, "MIG159.provider", MANUAL, name=name)
