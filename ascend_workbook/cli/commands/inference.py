"""The command lines of the inference stage: export, the offline model, eight bits, memory of serving."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.inference.compare_om import compare_om
from ascend_workbook.inference.export import export
from ascend_workbook.inference.quantise import quantise
from ascend_workbook.inference.serving import WIDTHS, serving

VERBS = {
    "export": Verb(export, {"factory": "FILE:FUNCTION", "out": "FILE", "opset": "N", "limit": "N"}),
    "compare-om": Verb(compare_om, {"onnx": "FILE", "om": "FILE", "inputs": "FILE", "seed": "N", "allowed": "X"}),
    "quantise": Verb(quantise, {"onnx": "FILE", "data": "FILE", "out": "DIR", "target": "POINTS", "calibration": "N"}),
    "serving": Verb(
        serving,
        {
            "chip": "NAME",
            "memory": "SIZE",
            "tp": "CARDS",
            "length": "TOKENS",
            "batch": "N",
            "weights": Row(choices=tuple(WIDTHS)),
            "kv": Row(choices=tuple(WIDTHS)),
        },
    ),
}
