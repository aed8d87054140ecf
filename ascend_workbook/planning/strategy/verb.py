"""`plan`: which strategies a training could run with on these cards, what each needs, and what it would cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.estimates.chips import Chip, find_chip
from ascend_workbook.estimates.prices import load_prices, write_template
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.planning.card import parse_memory
from ascend_workbook.planning.replicas import rehearse_strategies
from ascend_workbook.planning.strategy.advice import published_batch
from ascend_workbook.planning.strategy.answer import Answer, report_plan
from ascend_workbook.planning.strategy.choice import FRAMEWORKS, MINDSPEED, Setting, strategy_of_arguments
from ascend_workbook.planning.strategy.memory import estimate_memory
from ascend_workbook.planning.strategy.model import Model
from ascend_workbook.planning.strategy.ranking import Judged, decide_by_rehearsing, rank_strategies
from ascend_workbook.planning.strategy.reading import read_model
from ascend_workbook.planning.strategy.stated import Stated
from ascend_workbook.planning.strategy.timing import estimate_step

#: A sequence where neither user nor script says one, and the model could have a longer
SEQUENCE = 4096
MOST_CARDS = 65536


def plan(
    model: str,
    cards: int = 8,
    *,
    chip: str = "910B3",
    nodes: int | None = None,
    memory: str | None = None,
    batch: int | None = None,
    seq: int | None = None,
    framework: str = MINDSPEED,
    tokens: float | None = None,
    prices: str | Path | None = None,
    prices_template: str | Path | None = None,
    hyper: Mapping[str, str] | None = None,
    rehearse: bool = False,
) -> Report:
    """The strategies for a model on so many cards, by formula: which fit, how long a step would take, what first.

    `model` is a short name, a configuration (config.json or its folder), a script (.py, or .sh with Megatron's
    arguments) or the report of a rehearsal. `batch` counts sequences of `seq` tokens a step over all cards. `tokens`
    are those of the whole training, for hours and cost; `prices` is a file of prices, `prices_template` is where to
    write one to edit. `hyper` are hyper-parameters by name beside those that a script states. `rehearse` decides the
    first three by running one card of each on the simulated NPU, shapes only. Raises WorkbookError for what
    cannot be read or does not divide."""
    if prices_template is not None:
        write_template(prices_template)
    dimensions, stated = read_model(model)
    stated = stated.overlaid(hyper or {})
    setting = make_setting(dimensions, stated, cards, find_chip(chip), nodes, memory, batch, seq, framework)
    basis = load_basis()
    ranking = rank_strategies(setting, basis)
    if rehearse:
        ranking = decide_by_rehearsing(ranking, setting, rehearse_strategies)
    answer = Answer(
        setting=setting,
        ranking=ranking,
        stated=stated,
        own=_judge_own(setting, stated),
        basis=basis,
        prices=load_prices(prices),
        tokens=_check_tokens(tokens),
        batch_stated=batch is not None or stated.number("global_batch") is not None,
    )
    return report_plan(answer)


def make_setting(
    model: Model,
    stated: Stated,
    cards: int,
    chip: Chip,
    nodes: int | None,
    memory: str | None,
    batch: int | None,
    sequence: int | None,
    framework: str,
) -> Setting:
    """Return the setting; what is not given is as the script states, else as is usual. Raises WorkbookError for numbers
    that cannot be."""
    if framework not in FRAMEWORKS:
        raise WorkbookError("strategy.no_framework", name=framework, names=list(FRAMEWORKS))
    if not 1 <= cards <= MOST_CARDS:
        raise WorkbookError("strategy.bad_number", name="--cards", value=cards, most=MOST_CARDS)
    nodes = nodes if nodes is not None else max(1, math.ceil(cards / chip.node_cards))
    if nodes < 1 or cards % nodes:
        raise WorkbookError("strategy.bad_nodes", nodes=nodes, cards=cards)
    length = sequence or _whole(stated, "sequence") or min(SEQUENCE, model.positions or SEQUENCE)
    sequences = batch or _whole(stated, "global_batch") or usual_batch(model, length, cards)
    for name, value in (("--seq", length), ("--batch", sequences)):
        if value < 1:
            raise WorkbookError("strategy.bad_number", name=name, value=value, most=2**31)
    memory_bytes = parse_memory(memory, chip)
    return Setting(model, cards, nodes, chip, memory_bytes, sequences, length, framework)


def usual_batch(model: Model, sequence: int, cards: int) -> int:
    """Return the sequences of a step that published trainings of this size had: cards times a power of two."""
    wanted = published_batch(model.parameters) / sequence / cards
    doublings: int = max(0, round(math.log2(max(wanted, 1.0))))
    return cards << doublings


def _whole(stated: Stated, name: str) -> int:
    number = stated.number(name)
    return int(number) if number and number >= 1 and number == int(number) else 0


def _check_tokens(tokens: float | None) -> float | None:
    if tokens is not None and not (math.isfinite(tokens) and tokens > 0):
        raise WorkbookError("strategy.bad_number", name="--tokens", value=tokens, most=1e18)
    return tokens


def _judge_own(setting: Setting, stated: Stated) -> Judged | None:
    """Judge the strategy that a launch script states, on the cards that it says; None where it states none."""
    own = strategy_of_arguments(stated.arguments, setting.cards)
    if own is None:
        return None
    strategy, cards = own
    nodes = max(1, math.ceil(cards / setting.chip.node_cards))
    theirs = Setting(setting.model, cards, nodes, setting.chip, setting.memory_bytes, setting.batch, setting.sequence)
    memory = estimate_memory(theirs, strategy)
    step = estimate_step(theirs, strategy, load_basis())
    verdict = memory.judge(setting.memory_bytes)
    return Judged(strategy, memory, step, "unsure" if verdict == "not" and strategy.savings.unknown else verdict)
