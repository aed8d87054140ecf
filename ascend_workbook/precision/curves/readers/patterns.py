"""Where a log line says its step and its numbers: nanoGPT's, mmengine's, Lightning's, and what examples print.

Every pattern is linear in the line's length: a line is text of somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_workbook.precision.curves.names import normalise_name

NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:[nN]a[nN]|NAN|[iI]nf(?:inity)?|INF)\b"
#: `step 10`, `iter 10:`, `Iter(train) [ 10/100]`, `global_step=10`, `step: 10/100`
STEP = re.compile(
    r"\b(?:global[_ ]?step|iteration|steps?|iter|update)"
    r"(?:\((\w+)\))?['\"]?[\s:=#]{0,3}\[?\s{0,8}(\d{1,15})(?![\d.])",
    re.I,
)
#: `Epoch: [0][ 10/500]`, `Epoch(train) [1][10/500]`, `Epoch 0:  50%|███  | 32/64`, `Train Epoch: 1 [640/60000 (1%)]`
EPOCH = re.compile(r"\bepoch(?:\((\w+)\))?[\s:=#]{0,3}\[?\s{0,6}(\d{1,12})(?!\d)(?:\s?/\s?\d{1,9})?\]?", re.I)
WITHIN = re.compile(r"(?<![\d.])(\d{1,12})\s?/\s?(\d{1,12})(?!\d)")
#: A progress bar: `10%|█   | 10/100 [00:01<00:09`, and `10it [00:01` where its end is not known
BAR = re.compile(r"(?:\|\s{0,8}(?=\d{1,12}/\d{1,12} \[)|(?<![\w./])(?=\d{1,12}it \[))(\d{1,12})")
PAIR = re.compile(r"([A-Za-z_][\w./@-]{0,60})['\"]?\s{0,3}([:=]?)\s{0,8}['\"]?(" + NUMBER + r")(?![\w/%]|\.\d)")
#: A name that may stand before its number without `:` or `=`.
BARE = re.compile(r"loss|^lr$|acc|norm|scale|ppl|perplexity|top\d|iou|^map|f1|bleu|learning_rate", re.I)
PHASES = {
    "train": "",
    "training": "",
    "val": "val_",
    "valid": "val_",
    "validation": "val_",
    "eval": "eval_",
    "test": "test_",
}


def step_of(text: str) -> tuple[int | None, str]:
    """(step, phase in brackets) that a line names. Epochs with a place within them become steps over all epochs."""
    if "poch" in text or "POCH" in text:
        epoch = EPOCH.search(text)
        if epoch and PHASES.get((epoch[1] or "").lower()):  # a validation belongs to its epoch
            return int(epoch[2]), epoch[1].lower()
        if epoch:
            within = WITHIN.search(text, epoch.end(), epoch.end() + 120)
            if within:
                return int(epoch[2]) * int(within[2]) + int(within[1]), (epoch[1] or "").lower()
    step = STEP.search(text)
    if step:
        return int(step[2]), (step[1] or "").lower()
    bar = BAR.search(text)
    if bar:
        return int(bar[1]), ""
    epoch = EPOCH.search(text) if "poch" in text else None
    return (int(epoch[2]), (epoch[1] or "").lower()) if epoch else (None, "")


def find_pairs(text: str, phase: str = "") -> Iterator[tuple[str, str]]:
    """(name, printed number) of every number that a line names. `val loss 3.1` is val_loss; `train loss` beside it is
    train_loss."""
    for match in PAIR.finditer(text):
        name = normalise_name(match[1])
        if not name or not (match[2] or BARE.search(name)):
            continue
        before = text[max(0, match.start() - 16) : match.start()].rstrip(" ").rpartition(" ")[2].lower()
        if before.strip("(,;|[") in PHASES and "_" not in name:
            name = f"{before.strip('(,;|[')}_{name}"
        yield PHASES.get(phase, "") + name, match[3]
