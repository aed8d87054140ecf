"""Options of transformers and its Trainer that bring CUDA libraries in: 8-bit loading, flash attention, optimisers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.knowledge import DOCUMENTED, Known
from ascend_workbook.migration.reading.calls import string_value
from ascend_workbook.migration.reading.names import is_load
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import MANUAL, finding_at

CODE = "MIG151"
#: Option -> the sentence where it is True.
SWITCHES = {"load_in_8bit": "bitsandbytes", "load_in_4bit": "bitsandbytes", "use_flash_attention_2": "flash"}
#: Option -> value -> the sentence.
CHOICES = {
    "attn_implementation": {"flash_attention_2": "flash", "flash_attention_3": "flash"},
    "_attn_implementation": {"flash_attention_2": "flash", "flash_attention_3": "flash"},
    "optim": {
        "adamw_apex_fused": "fused",
        "adamw_8bit": "bitsandbytes",
        "adamw_bnb_8bit": "bitsandbytes",
        "paged_adamw_8bit": "bitsandbytes",
        "paged_adamw_32bit": "bitsandbytes",
        "paged_adamw": "bitsandbytes",
    },
}
TOKENS = {*SWITCHES, *(value for values in CHOICES.values() for value in values), "BitsAndBytesConfig"}
KNOWN = Known(
    DOCUMENTED,
    "https://huggingface.co/docs/transformers/main/en/perf_train_special",
    versions="transformers 5.23",
    hours={"bitsandbytes": 2.0, "flash": 0.25, "fused": 0.1},
)


def _find_given_options(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """`f(name=value)` and `options["name"] = value`."""
    yield from ((keyword.arg or "", keyword.value) for keyword in source.nodes_of_type(ast.keyword))
    for assign in source.nodes_of_type(ast.Assign):
        for target in assign.targets:
            if isinstance(target, ast.Subscript):
                yield string_value(target.slice) or "", assign.value


def check(source: Source) -> Iterable[Finding]:
    for name, value in _find_given_options(source):
        if name in SWITCHES and isinstance(value, ast.Constant) and value.value is True:
            yield finding_at(source, value, f"MIG151.{SWITCHES[name]}", MANUAL, name=name)
        outcome = CHOICES.get(name, {}).get(string_value(value) or "")
        if outcome:
            yield finding_at(source, value, f"MIG151.{outcome}", MANUAL, name=f"{name}={string_value(value)}")
    for node, name in source.names.named_nodes:
        if name == "transformers.BitsAndBytesConfig" and is_load(node):
            yield finding_at(source, node, "MIG151.bitsandbytes", MANUAL, name=name)
