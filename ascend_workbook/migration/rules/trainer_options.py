"""Options of transformers and its Trainer that bring CUDA libraries in: 8-bit loading, flash attention, optimisers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import is_load, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import DOCUMENTED, MANUAL, Findings, Known, finding_at

CODE = "MIG151"
#: Option -> the sentence where it is True.
SWITCHES = {"load_in_8bit": "bitsandbytes", "load_in_4bit": "bitsandbytes", "use_flash_attention_2": "flash"}
#: Option -> value -> the sentence.
CHOICES: dict[str, dict[str, str]] = api_map.list_names("trainer_options")
TOKENS = {*SWITCHES, *(value for values in CHOICES.values() for value in values), "BitsAndBytesConfig"}
PAGE = "https://huggingface.co/docs/transformers/main/en/perf_train_special"
KNOWN = Known(DOCUMENTED, PAGE, "transformers 5.23", {"bitsandbytes": 2.0, "flash": 0.25, "fused": 0.1})


def _find_given_options(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """`f(name=value)` and `options["name"] = value`."""
    yield from ((keyword.arg or "", keyword.value) for keyword in source.nodes_of_type(ast.keyword))
    for assign in source.nodes_of_type(ast.Assign):
        for target in assign.targets:
            if isinstance(target, ast.Subscript):
                yield string_value(target.slice) or "", assign.value


def check(source: Source) -> Findings:
    for name, value in _find_given_options(source):
        if name in SWITCHES and isinstance(value, ast.Constant) and value.value is True:
            yield finding_at(source, value, f"MIG151.{SWITCHES[name]}", MANUAL, name=name)
        outcome = CHOICES.get(name, {}).get(string_value(value) or "")
        if outcome:
            yield finding_at(source, value, f"MIG151.{outcome}", MANUAL, name=f"{name}={string_value(value)}")
    for node, name in source.names.named_nodes:
        if name == "transformers.BitsAndBytesConfig" and is_load(node):
            yield finding_at(source, node, "MIG151.bitsandbytes", MANUAL, name=name)
