"""The same rehearsal with one thing changed: settings of the allocator, and cures where memory runs out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.launch import Plugin
from ascend_workbook.migration.dry_run.memory import ACCUMULATE, BATCH, Change, Option, find_options
from ascend_workbook.planning.rehearsal.runs import CHILD, RankRun, Rehearsal, run_ranks

#: Of torch_npu's allocator (its page on PYTORCH_NPU_ALLOC_CONF); expandable_segments goes with none of the others.
ALLOC_CONF = "PYTORCH_NPU_ALLOC_CONF"
SETTINGS = (
    "",
    "expandable_segments:True",
    "max_split_size_mb:50",
    "garbage_collection_threshold:0.95",
    "max_split_size_mb:50,garbage_collection_threshold:0.95",
)


@dataclass(frozen=True)
class Variant:
    """One change: what it is called, and what it sets. `words`: the script's own arguments, None where they stay."""

    name: str
    label: Sentence
    environment: Mapping[str, str]
    words: tuple[str, ...] | None = None
    plugins: tuple[Plugin, ...] = ()


def list_settings() -> Iterator[Variant]:
    """Yield a variant for each setting of the allocator, the default first."""
    for setting in SETTINGS:
        label = Sentence("rehearsal.setting", setting=setting or "-")
        yield Variant(setting or "default", label, {ALLOC_CONF: setting} if setting else {})


def list_cures(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Yield what may help where memory runs out, the cheapest first: settings, the update, activations again, batch."""
    expandable = {ALLOC_CONF: "expandable_segments:True"}
    yield Variant("expandable_segments", Sentence("rehearsal.cure_expandable"), expandable)
    lean = Plugin(CHILD / "lean_update.py", {"one_by_one": True})
    yield Variant("one_by_one", Sentence("rehearsal.cure_one_by_one"), expandable, plugins=(lean,))
    if rehearsal.cluster.cards > 1:
        sharded = Plugin(CHILD / "lean_update.py", {"one_by_one": True, "sharded": True})
        yield Variant("sharded", Sentence("rehearsal.cure_sharded"), expandable, plugins=(sharded,))
    again = Plugin(CHILD / "recompute.py")
    yield Variant("recompute", Sentence("rehearsal.cure_recompute"), expandable, plugins=(again,))
    yield Variant("recompute_one_by_one", Sentence("rehearsal.cure_recompute_one"), expandable, plugins=(again, lean))
    if rehearsal.cluster.cards > 1:
        spread = Plugin(CHILD / "shard_model.py", {"offload": False})
        yield Variant("fsdp", Sentence("rehearsal.cure_fsdp"), expandable, plugins=(spread, lean))
        yield Variant(
            "fsdp_recompute", Sentence("rehearsal.cure_fsdp_recompute"), expandable, None, (spread, again, lean)
        )
    halved = _halve_batch(rehearsal)
    if halved is not None:
        words, label = halved
        yield Variant("batch", label, expandable, words)
        both = Sentence("rehearsal.cure_both", batch=label)
        yield Variant("recompute_batch", both, expandable, words, (again, lean))
    moved = Plugin(CHILD / "offload_activations.py")
    yield Variant(
        "offload_activations", Sentence("rehearsal.cure_offload_activations"), expandable, None, (moved, lean)
    )
    states = Plugin(CHILD / "shard_model.py", {"offload": True})
    yield Variant("offload", Sentence("rehearsal.cure_offload"), expandable, None, (states, lean))
    yield Variant(
        "offload_recompute", Sentence("rehearsal.cure_offload_recompute"), expandable, None, (states, again, lean)
    )


def run_variant(rehearsal: Rehearsal, variant: Variant, rank: int) -> RankRun:
    """Run one rank with the change, in a folder of its own."""
    plan = rehearsal.plan
    if variant.words is not None:
        plan = replace(plan, original=replace(plan.original, args=variant.words))
    plan = replace(plan, out=plan.out / "variants" / variant.name, touched={}, copies={})
    environment = {**(rehearsal.environment or {}), **variant.environment}
    changed = replace(rehearsal, plan=plan, environment=environment, plugins=variant.plugins)
    return run_ranks(changed, [rank])[0]


def _halve_batch(rehearsal: Rehearsal) -> tuple[tuple[str, ...], Sentence] | None:
    """Return the script's arguments with half its batch, and accumulation doubled where it has an option for that."""
    original = rehearsal.plan.original
    options = {option.role: option for option in find_options(original.script) if option.role in (BATCH, ACCUMULATE)}
    batch = options.get(BATCH)
    now = _value_of(batch, original.args) if batch is not None else None
    if batch is None or not now or now < 2 or not batch.names[0].startswith("-"):
        return None
    words = _set_option(original.args, Change(batch, now // 2))
    label = Sentence("rehearsal.cure_batch", option=batch.names[0], value=now // 2)
    accumulate = options.get(ACCUMULATE)
    steps = _value_of(accumulate, original.args) if accumulate is not None else None
    if accumulate is not None and steps and accumulate.names[0].startswith("-"):
        words = _set_option(words, Change(accumulate, steps * 2))
        label = Sentence(
            "rehearsal.cure_accumulate",
            option=batch.names[0],
            value=now // 2,
            other=accumulate.names[0],
            steps=steps * 2,
        )
    return words, label


def _value_of(option: Option | None, args: tuple[str, ...]) -> int | None:
    """Return what the command says of the option, else its default."""
    if option is None:
        return None
    for at, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name in option.names:
            text = value if equals else args[at + 1] if at + 1 < len(args) else ""
            return int(text) if text.isdigit() else None
    return option.now


def _set_option(args: tuple[str, ...], change: Change) -> tuple[str, ...]:
    """Return the arguments with the option at the new value."""
    words = list(args)
    for at, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if name in change.option.names:
            if equals:
                words[at] = f"{name}={change.to}"
            else:
                words[at + 1 : at + 2] = [str(change.to)]
            return tuple(words)
    return (
        (*words, f"{change.option.names[0]}={change.to}")
        if change.option.joined
        else (
            *words,
            change.option.names[0],
            str(change.to),
        )
    )
