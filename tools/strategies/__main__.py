"""Draws pairs of strategies, rehearses both, and counts how often the formula says which needs less memory.

    python -m tools.strategies working PEAKS.json     # the half that the formula may be mended with
    python -m tools.strategies held PEAKS.json        # the half that judges it

Half of the models of models.json, shuffled with a seed, are the working half and the others the held one. For each a
setting and strategies are drawn from those that `plan` looks at, and all pairs of them are asked. What was rehearsed is
kept in PEAKS.json and not run again; DeepSpeed has to be installed for its strategies."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random

from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.planning.card import GIB
from ascend_workbook.planning.replicas import can_rehearse, rehearse_stages
from ascend_workbook.planning.strategy.candidates import find_candidates
from ascend_workbook.planning.strategy.choice import DEEPSPEED, FSDP, MINDSPEED, Setting, Strategy
from ascend_workbook.planning.strategy.memory import compare_memories, estimate_memory, list_stages
from ascend_workbook.planning.strategy.reading import known_models

SEED = 20261127
HALVES = ("working", "held")
#: How many strategies are drawn for a model, by framework; none that needs more cards' memory than this
DRAWN = {MINDSPEED: 5, DEEPSPEED: 2, FSDP: 2}
MOST_CARDS_OF_MEMORY = 3
CARD = 64.0 * GIB
#: Two peaks that differ by less than this part are called near
NEAR = 0.1


def draw_strategies(half: str) -> Iterator[tuple[Setting, Strategy]]:
    """Yield what is compared, of one model after another."""
    distinct = {replace(model, name="", source=""): model for _, model in sorted(known_models().items())}
    models = list(distinct.values())
    Random(SEED).shuffle(models)
    for model in models[HALVES.index(half) :: 2]:
        random = Random(f"{SEED} {model.name}")
        cards = random.choice([8, 16, 32, 64])
        sequence = random.choice([length for length in (512, 1024, 2048, 4096, 8192) if length <= model.positions])
        batch = cards * random.choice([4, 8, 16])
        for framework, many in DRAWN.items():
            setting = Setting(model, cards, -(-cards // 8), find_chip("910B3"), CARD, batch, sequence, framework)
            kinds: dict[tuple[object, ...], list[Strategy]] = {}
            for candidate in find_candidates(setting).candidates:
                fits = estimate_memory(setting, candidate).inside < MOST_CARDS_OF_MEMORY * CARD
                if fits and can_rehearse(setting, candidate):
                    kinds.setdefault((candidate.degrees, candidate.chunks, candidate.zero), []).append(candidate)
            for kind in random.sample(sorted(kinds), min(many, len(kinds))):
                yield setting, random.choice(kinds[kind])


def key_of(setting: Setting, strategy: Strategy) -> str:
    return f"{setting.model.name} {setting.cards} x {setting.sequence} {strategy.framework} {strategy.text}"


def rehearse_drawn(drawn: Sequence[tuple[Setting, Strategy]], peaks_file: Path) -> dict[str, float | None]:
    """Return the rehearsed peak of each strategy's fullest card, and keep it. None where a rehearsal failed."""
    peaks: dict[str, float | None] = json.loads(peaks_file.read_text(encoding="utf-8")) if peaks_file.is_file() else {}
    missing = [pair for pair in drawn if key_of(*pair) not in peaks]
    for at in range(0, len(missing), sum(DRAWN.values())):
        some = missing[at : at + sum(DRAWN.values())]
        jobs = [(*pair, stage) for pair in some for stage in list_stages(pair[1])]
        results = dict(zip(((key_of(*job[:2]), job[2]) for job in jobs), rehearse_stages(jobs)))
        for pair in some:
            stages = [results[key_of(*pair), stage] for stage in list_stages(pair[1])]
            whole = [stage for stage in stages if stage is not None]
            peaks[key_of(*pair)] = max(whole) if len(whole) == len(stages) else None
            print(f"{key_of(*pair)}: {peaks[key_of(*pair)]}", flush=True)
        peaks_file.write_text(json.dumps(peaks, indent=1), encoding="utf-8")
    return peaks


def judge_pairs(drawn: Sequence[tuple[Setting, Strategy]], peaks: dict[str, float | None]) -> Counter[str]:
    """Print each strategy's error and each wrong answer; return how often what was said, and right."""
    counts: Counter[str] = Counter()
    cases: dict[str, list[tuple[Setting, Strategy, float]]] = {}
    for setting, strategy in drawn:
        peak = peaks[key_of(setting, strategy)]
        if peak is None:
            counts["failed rehearsals"] += 1
            continue
        memory = estimate_memory(setting, strategy)
        print(f"{memory.inside / peak:6.3f} of {peak / GIB:7.2f} GiB  {key_of(setting, strategy)}")
        cases.setdefault(f"{setting.model.name}", []).append((setting, strategy, peak))
    for of_model in cases.values():
        for case, beside in combinations(of_model, 2):
            ratio = compare_memories(estimate_memory(*case[:2]), estimate_memory(*beside[:2]))
            real = case[2] / beside[2]
            answer = "equal" if ratio.low <= 1 <= ratio.high else "less" if ratio.high < 1 else "more"
            width = ratio.high / ratio.middle
            right = 1 / width <= real <= width if answer == "equal" else (real < 1) == (answer == "less")
            near = "near" if max(real, 1 / real) < 1 + NEAR else "apart"
            for name in ("pairs", answer, near):
                counts[name] += 1
                counts[f"{name} right"] += right
            if not right:
                print(f"wrong: {answer}, said {ratio.middle:.3f}, real {real:.3f}")
                print(f"    {key_of(*case[:2])}\n    {key_of(*beside[:2])}")
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("half", choices=HALVES)
    parser.add_argument("peaks", type=Path)
    options = parser.parse_args(arguments)
    drawn = list(draw_strategies(options.half))
    counts = judge_pairs(drawn, rehearse_drawn(drawn, options.peaks))
    for name in ("pairs", "less", "more", "equal", "near", "apart"):
        many = counts[name]
        print(f"{name}: {many}, right {counts[f'{name} right']} ({counts[f'{name} right'] / max(many, 1):.1%})")
    print(f"failed rehearsals: {counts['failed rehearsals']} of {len(drawn)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
