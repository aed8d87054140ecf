"""Batch, learning rate, warm-up, decay, clipping, weight decay and initialisation, beside published trainings.

They are customs of pre-training: a fine-tuning may well have smaller batches and rates.
"""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.planning.strategy.advice import Advised, published_batch, published_rate

#: How many times the published batch is still like it, up and down
BATCH_LIKE = 4.0
#: How many times GPT-3's rate others went: LLaMA's 3e-4 for 7 B is 2.5 times
RATE_MOST = 2.5
#: Shares of the steps for the warm-up: what is published, and from where on it is far
WARMUP_LEAST = 0.001
WARMUP_MOST = 0.005
WARMUP_FAR = 0.05
#: Where the rate ends, as a share of its peak, and how many times that is still like it
DECAY_END = 0.1
DECAY_LIKE = 2.0
CLIPPING = 1.0
WEIGHT_DECAY = 0.1
INITIAL = 0.02


def check_batch(advised: Advised) -> Iterator[Finding]:
    """PLN510: how many tokens has a step? GPT-3 took 0.5 to 3.2 million by size (table 2.1,
    https://arxiv.org/abs/2005.14165), and grew to it from a small one; a small batch makes gradients noisy, one beyond
    the critical size wastes tokens (https://arxiv.org/abs/1812.06162)."""
    setting = advised.setting
    if not advised.batch_stated:
        advised.read("global_batch")
    usual = published_batch(setting.model.parameters)
    numbers = {"tokens": setting.tokens / 1e6, "sequences": setting.batch, "length": setting.sequence}
    args = {**numbers, "usual": usual / 1e6, "times": BATCH_LIKE}
    key = "PLN510.usual"
    if setting.tokens * BATCH_LIKE < usual:
        key = "PLN510.small"
    elif setting.tokens > usual * BATCH_LIKE:
        key = "PLN510.large"
    yield Finding("PLN510", Status.GOOD if key == "PLN510.usual" else Status.NOTE, key, {**args})


def check_rate(advised: Advised) -> Iterator[Finding]:
    """PLN511: is the peak of the learning rate one that trainings of this size survive? GPT-3 had 6e-4 at 125 million
    and 0.6e-4 at 175 billion parameters (table 2.1, https://arxiv.org/abs/2005.14165), LLaMA 3e-4 at 7 billion
    (https://arxiv.org/abs/2302.13971)."""
    rate, place = advised.read("learning_rate")
    parameters = advised.setting.model.parameters
    usual = published_rate(parameters)
    args = {"rate": rate, "usual": usual, "most": RATE_MOST * usual, "parameters": parameters / 1e9}
    if rate > RATE_MOST * usual:
        yield Finding("PLN511", Status.LOOK, "PLN511.high", {**args}, place)
    else:
        yield Finding("PLN511", Status.GOOD, "PLN511.usual", {**args}, place)


def check_warmup(advised: Advised) -> Iterator[Finding]:
    """PLN512: does the rate rise slowly? GPT-3 rose over 375 million of 300 billion tokens, 0.125 % (appendix B,
    https://arxiv.org/abs/2005.14165), LLaMA over 2000 steps (https://arxiv.org/abs/2302.13971); without it Adam's first
    steps rest on few gradients (https://arxiv.org/abs/1908.03265)."""
    share, place = _read_warmup(advised)
    args = {"percent": 100 * share, "low": 100 * WARMUP_LEAST, "high": 100 * WARMUP_MOST}
    if share <= 0:
        yield Finding("PLN512", Status.LOOK, "PLN512.none", {}, place)
    elif WARMUP_LEAST <= share <= WARMUP_FAR:
        yield Finding("PLN512", Status.GOOD, "PLN512.usual", {**args}, place)
    else:
        yield Finding("PLN512", Status.NOTE, "PLN512.unusual", {**args}, place)


def _read_warmup(advised: Advised) -> tuple[float, Place | None]:
    """Return the share of the steps, and where it is stated."""
    if advised.value("warmup_share") is not None:
        return advised.read("warmup_share")
    steps, place = advised.read("warmup_steps")
    if steps <= 0:
        return 0.0, place
    every, _ = advised.read("steps")
    return steps / max(every, 1.0), place


def check_decay(advised: Advised) -> Iterator[Finding]:
    """PLN513: does the rate fall, and to what? GPT-3 and LLaMA fell along a cosine to a tenth of the peak (appendix B,
    https://arxiv.org/abs/2005.14165; https://arxiv.org/abs/2302.13971)."""
    value = advised.find_value("decay")
    if not any(kind in value.text.lower() for kind in ("cosine", "linear", "inverse", "poly", "wsd")):
        yield Finding("PLN513", Status.NOTE, "PLN513.constant", {"name": value.text}, value.place)
        return
    peak, least = advised.stated.number("learning_rate"), advised.stated.number("least_learning_rate")
    if peak and least is not None and least > DECAY_END * DECAY_LIKE * peak:
        percents = {"percent": 100 * least / peak, "usual": 100 * DECAY_END}
        yield Finding("PLN513", Status.NOTE, "PLN513.high_end", {**percents}, value.place)
        return
    yield Finding("PLN513", Status.GOOD, "PLN513.usual", {"name": value.text}, value.place)


def check_clipping(advised: Advised) -> Iterator[Finding]:
    """PLN514: is the gradient's norm clipped? GPT-3, LLaMA and most others clip at 1.0 (appendix B,
    https://arxiv.org/abs/2005.14165; https://arxiv.org/abs/2302.13971)."""
    norm, place = advised.read("clipping")
    if norm <= 0:
        yield Finding("PLN514", Status.LOOK, "PLN514.none", {"usual": CLIPPING}, place)
    elif norm > CLIPPING:
        yield Finding("PLN514", Status.NOTE, "PLN514.loose", {"norm": norm, "usual": CLIPPING}, place)
    else:
        yield Finding("PLN514", Status.GOOD, "PLN514.usual", {"norm": norm}, place)


def check_weight_decay(advised: Advised) -> Iterator[Finding]:
    """PLN515: how strong is the weight decay? GPT-3 and LLaMA took 0.1 (appendix B, https://arxiv.org/abs/2005.14165;
    https://arxiv.org/abs/2302.13971)."""
    decay, place = advised.read("weight_decay")
    if 0 < decay <= WEIGHT_DECAY:
        yield Finding("PLN515", Status.GOOD, "PLN515.usual", {"decay": decay, "usual": WEIGHT_DECAY}, place)
    else:
        yield Finding("PLN515", Status.NOTE, "PLN515.unusual", {"decay": decay, "usual": WEIGHT_DECAY}, place)


def check_initialisation(advised: Advised) -> Iterator[Finding]:
    """PLN516: do weights begin small? A Gaussian of 0.02 is GPT-2's (initializer_range,
    https://huggingface.co/docs/transformers/model_doc/gpt2), sqrt(2 / 5 h) that of GPT-NeoX-20B
    (https://arxiv.org/abs/2204.06745); larger ones make the first updates unstable
    (T-Fixup, https://proceedings.mlr.press/v119/huang20f.html)."""
    spread, place = advised.read("initialisation")
    usual = max(INITIAL, (2 / (5 * advised.setting.model.hidden)) ** 0.5)
    if spread > usual:
        yield Finding("PLN516", Status.LOOK, "PLN516.large", {"spread": spread, "usual": usual}, place)
    else:
        yield Finding("PLN516", Status.GOOD, "PLN516.usual", {"spread": spread, "usual": usual}, place)


RULES = {
    "PLN510": check_batch,
    "PLN511": check_rate,
    "PLN512": check_warmup,
    "PLN513": check_decay,
    "PLN514": check_clipping,
    "PLN515": check_weight_decay,
    "PLN516": check_initialisation,
}
