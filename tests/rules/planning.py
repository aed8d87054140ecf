"""A model of 6.7 billion parameters, for which GPT-3's table has 2 million tokens a step and a rate of 1.2e-4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.findings.finding import Place
from ascend_workbook.planning.card import GIB
from ascend_workbook.planning.strategy.advice import Advised
from ascend_workbook.planning.strategy.choice import Setting
from ascend_workbook.planning.strategy.reading import known_models
from ascend_workbook.planning.strategy.stated import Stated, Value
from tests.rules.lines import Example

MODEL = replace(known_models()["llama-7b"], name="m")
SETTING = Setting(MODEL, 8, 1, find_chip("910B3"), 64 * GIB, 512, 4096)


def of(batch: int = 512, *, batch_stated: bool = True, **values: str) -> Callable[[], Advised]:
    """What these values state, with so many sequences of 4096 tokens."""
    stated = Stated({name: Value(text, Place("train.py", 7)) for name, text in values.items()})
    return lambda: Advised(replace(SETTING, batch=batch), stated, batch_stated)


BATCH = "length=4096 sequences={} times=4 tokens={} usual=2"
RATE = "most=0.000299529 parameters=6.73842 rate={} usual=0.000119811 @train.py:7"
NOT_STATED = "CANNOT strategy.not_stated"
EXAMPLES: list[Example] = [
    ("PLN510", of(512), [f"GOOD PLN510.usual {BATCH.format(512, '2.09715')}"]),
    ("PLN510", of(123), [f"GOOD PLN510.usual {BATCH.format(123, '0.503808')}"]),
    ("PLN510", of(122), [f"NOTE PLN510.small {BATCH.format(122, '0.499712')}"]),
    ("PLN510", of(1954), [f"NOTE PLN510.large {BATCH.format(1954, '8.00358')}"]),
    ("PLN510", of(batch_stated=False), [NOT_STATED]),
    ("PLN511", of(learning_rate="2.9e-4"), [f"GOOD PLN511.usual {RATE.format('0.00029')}"]),
    ("PLN511", of(learning_rate="3.1e-4"), [f"LOOK PLN511.high {RATE.format('0.00031')}"]),
    ("PLN511", of(learning_rate="args.lr"), ["CANNOT strategy.no_number value=args.lr"]),
    ("PLN511", of(learning_rate="nan"), ["CANNOT strategy.no_number value=nan"]),
    ("PLN511", of(), [NOT_STATED]),
    ("PLN512", of(warmup_share="0.003"), ["GOOD PLN512.usual high=0.5 low=0.1 percent=0.3 @train.py:7"]),
    ("PLN512", of(warmup_share="0.001"), ["GOOD PLN512.usual high=0.5 low=0.1 percent=0.1 @train.py:7"]),
    ("PLN512", of(warmup_share="0.0009"), ["NOTE PLN512.unusual high=0.5 low=0.1 percent=0.09 @train.py:7"]),
    ("PLN512", of(warmup_share="0.06"), ["NOTE PLN512.unusual high=0.5 low=0.1 percent=6 @train.py:7"]),
    ("PLN512", of(warmup_share="0"), ["LOOK PLN512.none @train.py:7"]),
    ("PLN512", of(warmup_steps="0"), ["LOOK PLN512.none @train.py:7"]),
    (
        "PLN512",
        of(warmup_steps="2000", steps="100000"),
        ["GOOD PLN512.usual high=0.5 low=0.1 percent=2 @train.py:7"],
    ),
    ("PLN512", of(warmup_steps="2000"), [NOT_STATED]),
    ("PLN513", of(decay="cosine"), ["GOOD PLN513.usual name=cosine @train.py:7"]),
    ("PLN513", of(decay="constant"), ["NOTE PLN513.constant name=constant @train.py:7"]),
    (
        "PLN513",
        of(decay="linear", learning_rate="1e-4", least_learning_rate="3e-5"),
        ["NOTE PLN513.high_end percent=30 usual=10 @train.py:7"],
    ),
    (
        "PLN513",
        of(decay="linear", learning_rate="1e-4", least_learning_rate="1e-5"),
        ["GOOD PLN513.usual name=linear @train.py:7"],
    ),
    ("PLN513", of(), [NOT_STATED]),
    ("PLN514", of(clipping="1.0"), ["GOOD PLN514.usual norm=1 @train.py:7"]),
    ("PLN514", of(clipping="5"), ["NOTE PLN514.loose norm=5 usual=1 @train.py:7"]),
    ("PLN514", of(clipping="0"), ["LOOK PLN514.none usual=1 @train.py:7"]),
    ("PLN514", of(), [NOT_STATED]),
    ("PLN515", of(weight_decay="0.1"), ["GOOD PLN515.usual decay=0.1 usual=0.1 @train.py:7"]),
    ("PLN515", of(weight_decay="0"), ["NOTE PLN515.unusual decay=0 usual=0.1 @train.py:7"]),
    ("PLN515", of(weight_decay="0.3"), ["NOTE PLN515.unusual decay=0.3 usual=0.1 @train.py:7"]),
    ("PLN516", of(initialisation="0.02"), ["GOOD PLN516.usual spread=0.02 usual=0.02 @train.py:7"]),
    ("PLN516", of(initialisation="0.05"), ["LOOK PLN516.large spread=0.05 usual=0.02 @train.py:7"]),
]
