"""The memory formula: a small model by hand, real traces, published formulas, and what must hold of every model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.planning.card import GIB
from ascend_workbook.planning.strategy import memory
from ascend_workbook.planning.strategy.candidates import find_candidates
from ascend_workbook.planning.strategy.choice import (
    DEEPSPEED,
    FSDP,
    FULL,
    MEGATRON,
    NONE,
    SELECTIVE,
    Savings,
    Setting,
    Strategy,
)
from ascend_workbook.planning.strategy.memory import count_held, estimate_memory, estimate_stage
from ascend_workbook.planning.strategy.model import Latent, Model
from ascend_workbook.planning.strategy.reading import known_models

#: 2 layers of width 8: attention 8 x (8 + 2 x 4) + 8 x 8 = 192, network 3 x 8 x 16 = 384, norms 16; embedding 80 x 2
SMALL = Model("small", 8, 2, 2, 1, 4, 16, 10)
EXPERTS = replace(SMALL, experts=4, chosen_experts=2, expert_width=6, shared_width=5)
CHIP = find_chip("910B3")


def setting(model: Model = SMALL, cards: int = 1, batch: int = 4, sequence: int = 100, **more: str) -> Setting:
    return Setting(model, cards, 1, CHIP, 64 * GIB, batch, sequence, **more)


def test_parameters_are_those_counted_by_hand() -> None:
    assert (SMALL.attention_parameters, SMALL.dense_parameters, SMALL.norm_parameters) == (192, 384, 16)
    assert SMALL.parameters == 2 * (192 + 384 + 16) + 8 + 2 * 80
    assert replace(SMALL, tied=True).parameters == SMALL.parameters - 80
    assert replace(SMALL, gated=False).parameters == SMALL.parameters - 2 * 128
    # four experts of 3 x 8 x 6, a shared network of 3 x 8 x 5, a router of 8 x 4
    assert EXPERTS.parameters == 2 * (192 + 16 + 4 * 144 + 120 + 32) + 8 + 160
    assert EXPERTS.active_parameters == 2 * (192 + 16 + 2 * 144 + 120 + 32) + 8 + 80


@pytest.mark.parametrize(
    "name, billions",
    [
        ("llama-7b", 6.738415616),
        ("llama3-8b", 8.030261248),
        ("qwen2-7b", 7.615616512),
        ("qwen3-0.6b", 0.596049920),
        ("qwen3-30b-a3b", 30.532122624),
        ("mixtral-8x7b", 46.702792704),
        ("gpt2", 0.124439808),
    ],
)
def test_parameters_are_those_that_checkpoints_have(name: str, billions: float) -> None:
    """Sums of safetensors' shapes as Hugging Face shows them; position embeddings (gpt2) and biases are not counted."""
    assert known_models()[name].parameters / 1e9 == pytest.approx(billions, rel=0.01)


def test_one_card_without_any_saving_by_hand() -> None:
    """100 tokens: a layer keeps 4 x 16 bytes of norms, q k v 2 x (8 + 4 + 4), what is turned of them 24,
    output 16 and 2 x 64 of statistics,
    gate 64 and activated 32, so 360 bytes a token; logits are 6 x 10."""
    parts = estimate_memory(setting(), Strategy()).parts
    held = 2 * (192 + 384 + 16) + 160
    assert (parts["weights"], parts["gradients"], parts["optimizer"]) == (2 * held, 4 * held, 12 * held)
    assert parts["activations"] == 2 * 100 * (64 + 32 + 24 + 16 + 128 + 64 + 32)
    assert parts["logits"] == 6 * 100 * 10 and parts["gathered"] == 0
    # the widest gradient of a layer (2 x 32 or 4 x 16) and two rows of 16 bytes
    assert parts["working"] == 100 * (64 + 32) + memory.WORKSPACE


def test_each_saving_by_hand() -> None:
    base = dict(estimate_memory(setting(), Strategy()).parts)
    assert estimate_memory(setting(), Strategy(recompute=FULL)).parts["activations"] == 100 * (2 * 16 + 360)
    dropped = {"mindspeed": 32 + 32, MEGATRON: 32 + 64 + 32}
    for framework, less in dropped.items():
        selective = Strategy(recompute=SELECTIVE, framework=framework)
        assert estimate_memory(setting(), selective).parts["activations"] == base["activations"] - 200 * less
    sharded = Strategy(data=4, zero=1)
    assert estimate_memory(setting(cards=4), sharded).parts["optimizer"] == base["optimizer"] / 4
    spared = Strategy(savings=Savings(gradient_bytes=2.0, optimizer_bytes=6.0))
    parts = estimate_memory(setting(), spared).parts
    assert (parts["gradients"], parts["optimizer"]) == (base["gradients"] / 2, base["optimizer"] / 2)
    half = Strategy(recompute=FULL, savings=Savings(layers=1))
    assert estimate_memory(setting(), half).parts["activations"] == 100 * (16 + 360 + 360)


def test_a_pipeline_holds_its_micro_batches() -> None:
    """Stage 0 of two holds two micro batches of one layer and no logits; with two chunks 2 x 2 + 2 - 1 = 5 halves."""
    model = replace(SMALL, layers=4)
    whole = 100 * 360
    two = Strategy(pipeline=2)
    first, last = (estimate_stage(setting(model, cards=2), two, stage) for stage in (0, 1))
    assert first.parts["activations"] == 2 * 2 * whole and last.parts["activations"] == 2 * whole
    assert first.parts["logits"] == 0 and last.parts["logits"] == 6000
    assert memory.count_alive(replace(two, chunks=2), 0, 4) == 2.5
    assert memory.count_alive(two, 0, 1) == 1


def test_experts_are_held_by_their_cards() -> None:
    held = count_held(EXPERTS, Strategy(data=4, expert=4), 0)
    assert held.expert == 2 * 4 * 144 / 4
    assert held.dense == 2 * (192 + 16 + 32 + 120) + 160
    parts = estimate_memory(setting(EXPERTS, cards=4), Strategy(data=4, expert=4, zero=1)).parts
    assert parts["optimizer"] == 12 * (held.dense / 4 + held.expert)


def test_real_traces_of_a_pipeline() -> None:
    """Qwen3-0.6B, two stages on two replicas, of a 910B4: the peaks of PyTorch's allocator in the profile."""
    model = known_models()["qwen3-0.6b"]
    traced = Setting(model, 4, 1, find_chip("910B4"), 32 * GIB, 4, 4096)
    strategy = Strategy(pipeline=2, data=2, zero=1)
    for stage, mib in ((0, 10282.7), (1, 10818.1)):
        said = estimate_stage(traced, strategy, stage)
        assert said.inside / 2**20 == pytest.approx(mib, rel=0.03)
        assert said.outside.low <= (11925.0 - 10372.0) * 2**20 <= said.outside.high
    assert estimate_memory(traced, strategy).stage == 1


def test_megatrons_formula_of_weights_and_optimizer() -> None:
    """18 bytes a parameter, or 6 + 12 / replicas: megatron/training/theoretical_memory_usage.py."""
    model = known_models()["llama-7b"]
    for zero, each in ((0, 18.0), (1, 6 + 12 / 8)):
        parts = estimate_memory(setting(model, 8), Strategy(data=8, zero=zero)).parts
        states = parts["weights"] + parts["gradients"] + parts["optimizer"]
        assert states == pytest.approx(each * (model.parameters - model.hidden), rel=1e-9)


def test_megatrons_formula_of_activations() -> None:
    """34 s b h without the scores, https://arxiv.org/abs/2205.05198, of which two are dropout masks that modern models
    do not have."""
    model = Model("gpt", 1024, 24, 16, 16, 64, 4096, 50000, gated=False, rotary=False)
    terms = memory.layer_bytes(model, Strategy(), experts=False, recompute=NONE) - memory.STATISTICS * 16
    assert terms == (34 - 2) * 1024


@pytest.mark.parametrize("zero, each", [(0, 24.0), (1, 2 + 20 / 8), (2, 2 + 20 / 8), (3, 22 / 8)])
def test_deepspeeds_update(zero: int, each: float) -> None:
    """DeepSpeed 0.19.8 with torch's AdamW, run on eight imagined cards, shapes only: 24.3, 4.50 and 4.50 bytes a
    parameter in the step; its own estimate_zero2_model_states_mem_needs says 2 + 18 / 8 and counts no list of foreach.
    Of stage 3 the same with the weights sharded too."""
    model = known_models()["llama-7b"]
    strategy = Strategy(data=8, zero=zero, framework=DEEPSPEED)
    update = memory._count_update(model, strategy, 0, memory._count_states(model, strategy, 0))
    assert sum(update.values()) == pytest.approx(each * (model.parameters - model.hidden), rel=1e-9)


def test_deepspeed_copies_the_weights_at_its_beginning() -> None:
    """4 bytes a parameter and the shard's float32 weights: 4.03 P were seen at deepspeed.initialize."""
    model = known_models()["llama-7b"]
    strategy = Strategy(data=16, zero=2, framework=DEEPSPEED, recompute=FULL)
    begun = estimate_memory(setting(model, cards=16, batch=16, sequence=128, framework=DEEPSPEED), strategy)
    assert begun.inside == pytest.approx((4 + 4 / 16) * (model.parameters - model.hidden), rel=1e-9)


def test_tensor_parallelism_by_hand() -> None:
    """Two cards share every matrix; rows of norms are shared where the sequence is, and are gathered twice then."""
    shared = estimate_memory(setting(cards=2), Strategy(tensor=2)).parts
    whole = estimate_memory(setting(cards=2), Strategy(tensor=2, sequence_parallel=False)).parts
    assert shared["weights"] == 2 * (2 * (192 / 2 + 384 / 2 + 16) + 160 / 2)
    assert shared["activations"] == 2 * 100 * 360 / 2 and shared["gathered"] == 2 * 100 * 16
    assert whole["activations"] == 2 * 100 * (64 + (360 - 64) / 2) and whole["gathered"] == 0
    assert shared["logits"] == 6000 / 2


def test_context_parallelism_shortens_the_sequence() -> None:
    parts = estimate_memory(setting(cards=2), Strategy(context=2)).parts
    assert parts["activations"] == 2 * 50 * 360 and parts["logits"] == 3000


def test_full_sharding_gathers_two_layers_and_the_root() -> None:
    """bfloat16 weights and gradients of two layers; of embedding and head, which FSDP's root unit holds, the weights,
    and once more in the memory of the stream that gathers. The head's gradient stands beside the logits."""
    strategy = Strategy(data=4, zero=3, framework=FSDP)
    parts = estimate_memory(setting(cards=4, framework=FSDP), strategy).parts
    held = 2 * (192 + 384 + 16) + 160
    layer = 192 + 384
    assert parts["gathered"] == 2 * 2 * layer + 2 * 160 + 2 * layer
    assert (parts["weights"], parts["gradients"], parts["optimizer"]) == (held, held, 2 * held)
    assert parts["logits"] == 14 * 1000 + 2 * 80


def test_weights_are_whole_between_the_passes_without_resharding() -> None:
    """float32 in shards and bfloat16 whole, where full sharding keeps the shards alone."""
    strategy = Strategy(data=4, zero=2, framework=FSDP)
    parts = estimate_memory(setting(cards=4, framework=FSDP), strategy).parts
    held = 2 * (192 + 384 + 16) + 160
    assert parts["weights"] == 4 * held / 4 + 2 * held
    assert parts["gathered"] == 2 * (192 + 384)


def test_plain_data_parallelism_keeps_copies_and_buckets() -> None:
    """float32 weights and autocast's bfloat16 copies; gradients twice, in DistributedDataParallel's buckets; inputs of
    both norms are float32."""
    parts = estimate_memory(setting(cards=4, framework=FSDP), Strategy(data=4, framework=FSDP)).parts
    held = 2 * (192 + 384 + 16) + 160
    assert (parts["weights"], parts["gradients"]) == (6 * held, 8 * held)
    assert parts["activations"] == 2 * 100 * (360 + 32)


def test_logits_are_gone_when_a_layer_is_computed_again() -> None:
    """Recomputing, the last stage holds the logits or a layer's activations, whatever is more."""
    small = estimate_memory(setting(), Strategy(recompute=FULL)).parts
    assert small["logits"] == 0 and small["activations"] == 100 * (2 * 16 + 360)
    wide = estimate_memory(setting(replace(SMALL, vocabulary=1000)), Strategy(recompute=FULL)).parts
    assert wide["logits"] == 6 * 100 * 1000 and wide["activations"] == 100 * 2 * 16


def test_an_embedding_that_is_the_head_is_held_once_on_one_stage() -> None:
    tied = replace(SMALL, tied=True)
    layers = 2 * (192 + 384 + 16)
    assert count_held(tied, Strategy(), 0).all == layers + 80
    assert [count_held(tied, Strategy(pipeline=2), stage).all for stage in (0, 1)] == [layers / 2 + 80] * 2


def test_experts_keep_what_is_routed_to_them() -> None:
    """Two of four experts: 2 x 2 x 16 bytes of rows, gate and result of width 6 twice and of the shared 5, the router
    8 x 4; with two tensor ranks that share no expert each has half of the rows."""
    kept = dict(memory.expert_terms(EXPERTS, Strategy()))
    assert kept == {"routed": 64, "gate": 2 * 24 + 20, "activated": 2 * 12 + 10, "router": 32}
    split = dict(memory.expert_terms(EXPERTS, Strategy(tensor=2, expert_tensor=1)))
    assert split == {"routed": 32, "gate": 24 + 10, "activated": 12 + 5, "router": 16}


def test_latent_attention_keeps_its_narrow_vectors() -> None:
    latent = replace(SMALL, latent=Latent(6, 4, 2, 1, 3))
    assert latent.attention_parameters == 8 * 6 + 6 * 6 + 8 * 5 + 4 * 2 * 5 + 6 * 8 + 6 + 4
    assert dict(memory.saved_terms(latent, Strategy()))["latent"] == 2 * 2 * (6 + 4 + 1)


def test_blocks_are_recomputed_in_each_chunk() -> None:
    model = replace(SMALL, layers=8)
    some = Strategy(pipeline=2, chunks=2, recompute=FULL, savings=Savings(layers=1))
    parts = estimate_stage(setting(model, cards=2, batch=8), some, 0).parts
    assert parts["activations"] == 2.5 * 100 * (2 * 16 + 2 * 360) + 100 * 360


def test_the_middle_stage_may_be_the_fullest() -> None:
    """Dense layers come first and are small: the second stage has the experts."""
    model = replace(EXPERTS, layers=4, dense_layers=1, feed_forward=4, vocabulary=1)
    assert estimate_memory(setting(model, cards=4, batch=4), Strategy(pipeline=4)).stage == 1


def test_layers_may_be_dealt_out_unequally() -> None:
    """The first stage has one layer of four and two micro batches, the second three and one."""
    model = replace(SMALL, layers=4)
    strategy = Strategy(pipeline=2, stage_layers=(1, 3))
    stages = [estimate_stage(setting(model, cards=2), strategy, stage).parts for stage in (0, 1)]
    assert [parts["activations"] for parts in stages] == [2 * 100 * 360, 3 * 100 * 360]
    dense = replace(EXPERTS, layers=4, dense_layers=2)
    assert [memory.layers_of_stage(dense, strategy, stage) for stage in (0, 1)] == [(1, 0), (1, 2)]


def test_what_fits_is_told_with_its_margins() -> None:
    """Of 64 GiB a process can take 60.97; PyTorch's part may be a tenth less or 12 % more than the formula's."""
    parts = dict.fromkeys(memory.PARTS, 0.0)
    outside = Range(1.0 * GIB, 1.5 * GIB, 2.0 * GIB)
    verdicts = {}
    for inside in (52.6, 52.7, 66.6, 66.7):
        verdicts[inside] = memory.Memory({**parts, "weights": inside * GIB}, outside, 0).judge(64 * GIB)
    assert verdicts == {52.6: "fits", 52.7: "unsure", 66.6: "unsure", 66.7: "not"}


def test_an_update_may_be_the_peak() -> None:
    """torch's foreach AdamW makes a list as long as the weights: Llama-7B in plain data parallelism ends there."""
    model = known_models()["llama-7b"]
    alone = estimate_memory(setting(model, sequence=128, framework=FSDP), Strategy(framework=FSDP, recompute=FULL))
    assert alone.parts["working"] == pytest.approx(4 * (model.parameters - model.hidden))
    assert alone.parts["activations"] == 0


models = st.builds(
    lambda heads, groups, dim, layers, ratio, vocabulary, experts: Model(
        "any",
        heads * groups * dim,
        layers,
        heads * groups,
        heads,
        dim,
        ratio * 8 * groups * heads,
        vocabulary * 8,
        experts=experts,
        chosen_experts=min(experts, 2),
        expert_width=16 if experts else 0,
    ),
    st.sampled_from((1, 2, 4, 8)),
    st.sampled_from((1, 2, 4)),
    st.sampled_from((16, 64)),
    st.integers(1, 12),
    st.integers(1, 40),
    st.integers(10, 4000),
    st.sampled_from((0, 4, 8)),
)


@settings(max_examples=60, deadline=None)
@given(models, st.sampled_from((1, 2, 4, 8, 16)), st.sampled_from((1, 8, 24)), st.sampled_from((512, 4096)))
def test_every_candidate_is_whole(model: Model, cards: int, batch: int, sequence: int) -> None:
    """Degrees multiply to the cards, nothing is broken, ranges are in order, and what is sharded never grows."""
    given_setting = setting(model, cards, batch * cards, sequence)
    space = find_candidates(given_setting)
    assert len(set(space.candidates)) == len(space.candidates)
    for strategy in space.candidates[:200]:
        assert strategy.cards == cards and model.layers % strategy.pipeline == 0
        assert batch * cards == strategy.micro_batches(given_setting) * strategy.data * strategy.micro
        total = estimate_memory(given_setting, strategy).total
        assert 0 < total.low <= total.middle <= total.high
        held = count_held(model, strategy, 0).all
        if strategy.tensor * 2 <= 8 and model.heads % (strategy.tensor * 2) == 0:
            assert count_held(model, replace(strategy, tensor=strategy.tensor * 2), 0).all <= held
        lean = estimate_memory(given_setting, replace(strategy, recompute=FULL))
        assert lean.inside <= estimate_memory(given_setting, replace(strategy, recompute=NONE)).inside * 1.0001 or (
            model.layers // strategy.pipeline == 1
        )
        if strategy.data > 1:
            sharded = estimate_memory(given_setting, replace(strategy, zero=1)).inside
            assert sharded <= estimate_memory(given_setting, replace(strategy, zero=0)).inside
