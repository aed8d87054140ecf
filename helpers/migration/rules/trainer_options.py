"""Options of transformers and its Trainer that bring CUDA libraries in: 8-bit loading, flash attention, optimisers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, Known
from helpers.migration.reading.calls import string
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, found

CODE = "MIG151"
#: Option -> the sentence where it is True.
SWITCHES = {"load_in_8bit": "bitsandbytes", "load_in_4bit": "bitsandbytes", "use_flash_attention_2": "flash"}
#: Option -> value -> the sentence.
CHOICES = {
    "attn_implementation": {"flash_attention_2": "flash", "flash_attention_3": "flash"},
    "_attn_implementation": {"flash_attention_2": "flash", "flash_attention_3": "flash"},
    "optim": {"adamw_apex_fused": "fused", "adamw_8bit": "bitsandbytes", "adamw_bnb_8bit": "bitsandbytes",
              "paged_adamw_8bit": "bitsandbytes", "paged_adamw_32bit": "bitsandbytes",
              "paged_adamw": "bitsandbytes"},
}  # fmt: skip
TOKENS = {*SWITCHES, *(value for values in CHOICES.values() for value in values), "BitsAndBytesConfig"}
KNOWN = Known(DOCUMENTED, "https://huggingface.co/docs/transformers/main/en/perf_train_special",
              versions="transformers 5.23", hours={"bitsandbytes": 2.0, "flash": 0.25, "fused": 0.1})  # fmt: skip
EXAMPLES = (
    ("m = AutoModel.from_pretrained('模型', load_in_8bit=True)\n", "manual", None),
    ("m = AutoModel.from_pretrained(p, attn_implementation='flash_attention_2')\n", "manual", None),
    ("options['attn_implementation'] = 'flash_attention_2'  # 注意力\n", "manual", None),
    ("a = TrainingArguments('out', optim='paged_adamw_32bit')\n", "manual", None),
    ("from transformers import BitsAndBytesConfig\nb = BitsAndBytesConfig(load_in_4bit=True)\n", "manual", None),
)
NEAR_MISSES = (
    "m = AutoModel.from_pretrained('模型', load_in_8bit=False)\n",
    "m = AutoModel.from_pretrained(p, load_in_8bit=args.eight)\n",
    "m = AutoModel.from_pretrained(p, attn_implementation='sdpa')\n",
    "a = TrainingArguments('out', optim='adamw_torch')\n",
    "from transformers import BitsAndBytesConfig\n",
)


def _given(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """`f(name=value)` and `options["name"] = value`."""
    yield from ((keyword.arg or "", keyword.value) for keyword in source.nodes(ast.keyword))
    for assign in source.nodes(ast.Assign):
        for target in assign.targets:
            if isinstance(target, ast.Subscript):
                yield string(target.slice) or "", assign.value


def check(source: Source) -> Iterable[Finding]:
    for name, value in _given(source):
        if name in SWITCHES and isinstance(value, ast.Constant) and value.value is True:
            yield found(source, value, f"MIG151.{SWITCHES[name]}", MANUAL, name=name)
        outcome = CHOICES.get(name, {}).get(string(value) or "")
        if outcome:
            yield found(source, value, f"MIG151.{outcome}", MANUAL, name=f"{name}={string(value)}")
    for node, name in source.names.named:
        if name == "transformers.BitsAndBytesConfig" and load(node):
            yield found(source, node, "MIG151.bitsandbytes", MANUAL, name=name)
