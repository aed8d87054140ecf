"""Which candidates fall away and why, what is equal, and what is written to be copied."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from itertools import product

import pytest

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.estimates.ranges import ZERO, Range
from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.planning.card import GIB
from ascend_workbook.planning.strategy.arguments import argument_sources, write_arguments
from ascend_workbook.planning.strategy.candidates import (
    CHECKS,
    INNER,
    OUTER,
    find_candidates,
    find_limit,
    limit_sources,
)
from ascend_workbook.planning.strategy.choice import (
    DEEPSPEED,
    FRAMEWORKS,
    FSDP,
    FULL,
    MEGATRON,
    MINDSPEED,
    SELECTIVE,
    Setting,
    Strategy,
)
from ascend_workbook.planning.strategy.memory import estimate_memory
from ascend_workbook.planning.strategy.ranking import Judged, put_in_order, rank_strategies
from ascend_workbook.planning.strategy.reading import known_models
from ascend_workbook.planning.strategy.timing import Step, compare_steps, estimate_step

MODELS = known_models()
CHIP = find_chip("910B3")
SEVEN = Setting(MODELS["llama-7b"], 16, 2, CHIP, 64 * GIB, 256, 4096)
EXPERTS = replace(SEVEN, model=MODELS["qwen3-30b-a3b"])
BASIS = load_basis()


@pytest.mark.parametrize(
    "limit, setting, broken, whole",
    [
        ("framework", replace(SEVEN, framework=DEEPSPEED), Strategy(tensor=2, data=8, framework=DEEPSPEED), None),
        ("tensor_node", replace(SEVEN, nodes=4), Strategy(tensor=8, data=2), Strategy(tensor=4, data=4)),
        ("tensor_heads", replace(SEVEN, model=MODELS["qwen2-7b"]), Strategy(tensor=8), Strategy(tensor=4)),
        ("tensor_heads", EXPERTS, Strategy(tensor=3), Strategy(tensor=8)),
        ("tensor_width", SEVEN, Strategy(tensor=3), Strategy(tensor=2)),
        ("pipeline_layers", SEVEN, Strategy(pipeline=3), Strategy(pipeline=16)),
        ("pipeline_small", replace(SEVEN, cards=64), Strategy(pipeline=64), Strategy(pipeline=32)),
        ("chunks_layers", SEVEN, Strategy(pipeline=16, chunks=4), Strategy(pipeline=8, chunks=4)),
        ("chunks_layers", SEVEN, Strategy(chunks=2), Strategy(pipeline=2, chunks=2)),
        ("expert_divides", EXPERTS, Strategy(data=4, expert=8), Strategy(data=4, tensor=2, expert=8)),
        ("context_sequence", SEVEN, Strategy(context=4), Strategy(context=2)),
        ("batch_divides", SEVEN, Strategy(data=16, micro=32), Strategy(data=16, micro=8)),
        ("micro_batches", SEVEN, Strategy(pipeline=16, data=1, micro=32), Strategy(pipeline=8, data=1, micro=32)),
        ("zero_replicas", SEVEN, Strategy(tensor=8, zero=1), Strategy(context=2, zero=1)),
    ],
)
def test_each_limit_takes_what_breaks_it(
    limit: str, setting: Setting, broken: Strategy, whole: Strategy | None
) -> None:
    assert CHECKS[limit](setting, broken)
    assert not CHECKS[limit](setting, whole or Strategy(data=16))


def test_limits_are_rows_with_sources_and_words() -> None:
    assert set(limit_sources()) == set(CHECKS) == {*OUTER, *INNER}
    assert all(source.startswith("https://") for source in limit_sources().values())
    assert all(f"strategy.limit.{name}" in load_catalogue() for name in CHECKS)


def test_every_combination_is_counted_once() -> None:
    """35 splits of 16 cards over four degrees, times 3 chunks, 2 stages, 3 ways of recomputing, 4 micro batches."""
    space = find_candidates(SEVEN)
    splits = sum(16 % (a * b * c) == 0 for a, b, c in product((1, 2, 4, 8, 16), repeat=3))
    assert splits == 35 and space.looked_at == splits * 3 * 2 * 3 * 4
    assert all(not find_limit(SEVEN, strategy, CHECKS) for strategy in space.candidates)


@pytest.mark.parametrize("framework", [DEEPSPEED, FSDP])
def test_frameworks_of_data_alone_split_no_experts(framework: str) -> None:
    """Their arguments, as a plan writes them, say nothing of expert parallelism."""
    setting = Setting(MODELS["mixtral-8x7b"], 16, 2, find_chip("910B3"), 64 * GIB, 64, 4096, framework)
    candidates = find_candidates(setting).candidates
    assert candidates and {strategy.expert for strategy in candidates} == {1}


def step(seconds: float, spread: float = 0.2, **more: Range) -> Step:
    parts = dict.fromkeys(("bubble", "inner", "outer", "data", "update", "launches"), ZERO)
    compute = Range(seconds * (1 - spread), seconds, seconds * (1 + spread))
    return Step(compute=compute, **{**parts, **more})


def test_what_errs_in_both_does_not_part_them() -> None:
    """Two steps of the same kernels differ by their bubble, however long kernels take."""
    slow, fast = step(1.2), step(1.0)
    beside = compare_steps(slow, fast)
    assert beside.low == pytest.approx(1.2 / 1.05) and beside.high == pytest.approx(1.2 * 1.05)
    assert compare_steps(fast, fast) == Range(1.0, 1.0, 1.0)


def test_what_may_be_as_fast_is_equal() -> None:
    memory = estimate_memory(SEVEN, Strategy(data=16))
    lean = estimate_memory(SEVEN, Strategy(data=16, recompute=FULL))
    wires = Range(0.0, 0.1, 0.3)
    steps = {"a": step(1.0), "b": step(0.9, outer=wires), "c": step(1.3), "d": step(1.02)}
    judged = [Judged(Strategy(micro=at), memory, item, "fits") for at, item in enumerate(steps.values(), 1)]
    judged[3] = replace(judged[3], memory=lean, verdict="unsure")
    ranked = put_in_order(judged)
    assert [(item.strategy.micro, item.rank) for item in ranked] == [(1, 1), (2, 1), (4, 1), (3, 2)]
    assert ranked[0].beside.high < ranked[1].beside.high


def test_ranks_are_in_order_and_ranges_too() -> None:
    ranking = rank_strategies(SEVEN, BASIS)
    assert [item.rank for item in ranking.fitting] == sorted(item.rank for item in ranking.fitting)
    for item in ranking.fitting:
        for value in (item.memory.total, item.step.total, item.beside, *item.step.parts.values()):
            assert value.low <= value.middle <= value.high
        assert item.rank == 1 or item.beside.low > 1.0 - 1e-9 or item.beside.high > 1.0
    assert len({item.strategy.degrees for item in ranking.first}) == 3
    assert ranking.too_large + len(ranking.fitting) == len(ranking.space.candidates)


def test_recomputing_takes_a_third_more_and_a_bubble_its_share() -> None:
    none, full = (estimate_step(SEVEN, Strategy(data=16, recompute=kind), BASIS) for kind in ("none", FULL))
    assert 1.2 < full.compute.middle / none.compute.middle < 1.4
    four, many = (
        estimate_step(replace(SEVEN, batch=batch), Strategy(pipeline=4, data=4), BASIS) for batch in (16, 256)
    )
    assert four.bubble.middle == pytest.approx(four.compute.middle * 3 / 4)
    assert many.bubble.middle == pytest.approx(many.compute.middle * 3 / 64)
    chunks = estimate_step(SEVEN, Strategy(pipeline=4, data=4, chunks=2), BASIS)
    assert chunks.bubble.middle == pytest.approx(many.bubble.middle / 2)


def test_a_small_model_hangs_on_its_launches() -> None:
    tiny = replace(MODELS["gpt2"], vocabulary=1000, hidden=256, heads=4, kv_heads=4, feed_forward=1024)
    small = replace(SEVEN, model=tiny, sequence=128, batch=16)
    assert estimate_step(small, Strategy(data=16), BASIS).host_bound == "yes"
    assert estimate_step(SEVEN, Strategy(data=16), BASIS).host_bound == "no"


def test_the_models_own_rate_is_near_what_is_published() -> None:
    """Llama-2-7B with a sequence of 4096 on eight 910B1: 4672 tokens a second and card (ModelLink's table)."""
    setting = Setting(MODELS["llama-7b"], 8, 1, find_chip("910B1"), 64 * GIB, 512, 4096)
    first = rank_strategies(setting, BASIS).first[0]
    rates = [setting.tokens / 8 / seconds for seconds in (first.step.total.high, first.step.total.low)]
    assert rates[0] < 4672 < rates[1]


def strategies_of(framework: str) -> list[Strategy]:
    """All combinations that the framework's arguments can say."""
    if framework in (MINDSPEED, MEGATRON):
        whole = Strategy(2, 2, 2, 2, 2, 2, 1, SELECTIVE, 2, framework)
        return [whole, replace(whole, recompute=FULL), Strategy(framework=framework)]
    stages = (0, 1, 2, 3) if framework == DEEPSPEED else (0, 2, 3)
    return [Strategy(data=16, zero=zero, recompute=FULL, framework=framework) for zero in stages]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_argument_names_its_page(framework: str) -> None:
    sources = argument_sources(framework)
    for setting, strategy in product((SEVEN, EXPERTS), strategies_of(framework)):
        text, language = write_arguments(setting, strategy)
        if language == "bash":
            names = re.findall(r"--[a-z0-9-]+", text)
        elif language == "json":
            names = re.findall(r'"(\w+)":', text.replace('"enabled":', ""))
            assert json.loads(text)["train_batch_size"] == 256
        else:
            tree = ast.parse(text)
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
            names = [ast.unparse(call.func).split(".")[-1] for call in calls]
            names += [keyword.arg or "" for call in calls for keyword in call.keywords]
        assert names and not [name for name in names if name not in sources]


def test_a_batch_of_deepspeed_is_its_product() -> None:
    text, _ = write_arguments(SEVEN, Strategy(data=16, micro=4, zero=2, framework=DEEPSPEED))
    record = json.loads(text)
    parts = record["train_micro_batch_size_per_gpu"], record["gradient_accumulation_steps"]
    assert parts == (4, 4) and record["train_batch_size"] == 4 * 4 * 16


def test_each_stage_of_fsdp_says_when_weights_are_let_go() -> None:
    texts = {zero: write_arguments(SEVEN, Strategy(data=16, zero=zero, framework=FSDP))[0] for zero in (0, 2, 3)}
    assert "DistributedDataParallel" in texts[0]
    assert "reshard_after_forward=False" in texts[2] and "reshard_after_forward=True" in texts[3]
