"""`rehearse`: an unmodified training at its full size on the simulated NPU, shapes only; will it fit, and how long."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.launch import Progress
from ascend_workbook.migration.dry_run import sides
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.migration.rewrite.change import INJECT
from ascend_workbook.planning.rehearsal import report as reports
from ascend_workbook.planning.rehearsal.exposed import add_exposed
from ascend_workbook.planning.rehearsal.profile import check_folder, write_profile
from ascend_workbook.planning.rehearsal.reads import format_assumptions
from ascend_workbook.planning.rehearsal.runs import RankRun, Rehearsal, make_rehearsal, run_ranks
from ascend_workbook.planning.rehearsal.settings import DISTINCT, STEPS, choose_ranks, make_cluster
from ascend_workbook.planning.rehearsal.times import count_tokens, estimate_step
from ascend_workbook.planning.rehearsal.variants import list_cures, list_settings, run_variant

SEED = 1234
#: What stands for a card without a limit: 16 TiB.
UNLIMITED_MIB = 1 << 24


def rehearse(
    script: str | os.PathLike[str],
    args: Sequence[str] = (),
    *,
    cards: int | None = None,
    chip: str = "910B3",
    memory: str | None = None,
    nodes: int | None = None,
    ranks: str | Sequence[int] = DISTINCT,
    steps: int = STEPS,
    assume: Sequence[str] = (),
    stand_ins: bool = True,
    cures: bool = True,
    allocator: bool = False,
    profile: str | os.PathLike[str] | None = None,
    basis: str | os.PathLike[str] | None = None,
    out: str | Path | None = None,
    network: bool = False,
    seed: int = SEED,
    python: str = sys.executable,
    timeout_s: float | None = None,
    on_progress: Callable[[int, Progress], None] | None = None,
) -> Report:
    """Rehearses a training at full size without an NPU: no value is computed, torch_npu's own allocator tells memory.

    `script` may be a launch command (`"torchrun --nproc_per_node=8 train.py"`), a shell script with one, or a notebook;
    `cards` is how many it runs on (default: what the command says), `chip` and `memory` (`64GB` as it is sold, `60GiB`
    exactly) what they are, `nodes` how many machines. `ranks` is distinct (those that differ, found by halving), all,
    or numbers: each runs alone, with imagined peers. `assume` sets values that the script reads and nobody computed
    (`train.py:88=2.5`, `rows=0.5`). Data, pretrained weights and loggers that are not here are made up, where
    `stand_ins` allows it; the report names each. Where memory runs out `cures` are rehearsed too, the cheapest first;
    `allocator` compares the settings of the allocator. `profile` is a folder for the estimated profile, which `analyse`
    reads. Times are estimates from `basis`, as ranges, if nothing waits. Raises WorkbookError where nothing could be
    launched; a script that fails is a Fix finding."""
    original = prepare_training(os.fspath(script), args, 1)
    cluster = make_cluster(chip, cards if cards is not None else original.nproc, nodes, memory)
    chosen = choose_ranks(ranks, cluster.cards)
    known = load_basis(basis)
    if profile is not None:
        check_folder(Path(profile))
    with sides.open_out_folder(out, "rehearse-") as folder:
        rehearsal = make_rehearsal(
            original,
            folder,
            cluster,
            steps,
            seed=seed,
            assume=format_assumptions(assume, original, INJECT),
            stand_ins=stand_ins,
            network=network,
            python=python,
            timeout_s=timeout_s,
            on_progress=on_progress,
        )
        runs = tuple(run_ranks(rehearsal, chosen))
        material = reports.Material(rehearsal, runs, known)
        if profile is not None:
            material = replace(material, profile=_write_estimates(material, Path(profile)))
        return reports.make_report(_complete(material, cures=cures, settings=allocator))


def _write_estimates(material: reports.Material, folder: Path) -> str:
    """Write the estimated profile of the ranks that came to their step; empty where none has."""
    works = {run.rank: run.work for run in material.runs if run.result.ok and run.work is not None}
    if not works:
        return ""
    return str(write_profile(works, material.rehearsal.cluster, material.basis, folder))


def _complete(material: reports.Material, *, cures: bool, settings: bool) -> reports.Material:
    """Add what follows from the ranks' runs: the same without a limit, cures, settings, times."""
    rehearsal, worst = material.rehearsal, material.worst
    free: RankRun | None = None
    tried: list[reports.Tried] = []
    if worst.out_of_memory:
        free = _run_unlimited(rehearsal, worst.rank)
        for variant in list_cures(rehearsal) if cures else ():
            run = run_variant(rehearsal, variant, worst.rank)
            tried.append(reports.Tried(variant, run))
            if run.result.ok:
                break
    compared = [
        reports.Tried(variant, run_variant(rehearsal, variant, worst.rank))
        for variant in (list_settings() if settings else ())
    ]
    timed = free if free is not None else worst
    times = None
    if timed.work is not None and timed.result.ok:
        alone = estimate_step(timed.work, rehearsal.cluster, material.basis)
        times = add_exposed(alone, timed.work, rehearsal.cluster, material.basis)
    tokens = count_tokens(timed.work) if timed.work is not None else 0
    return replace(material, times=times, free=free, cures=tuple(tried), settings=tuple(compared), tokens=tokens)


def _run_unlimited(rehearsal: Rehearsal, rank: int) -> RankRun:
    """Run a rank that found no memory again on a card without a limit, to learn how much it would take."""
    plan = replace(rehearsal.plan, out=Path(rehearsal.plan.out) / "unlimited", touched={}, copies={})
    environment = {**(rehearsal.environment or {}), "ASCEND_WORKBOOK_SIM_MEMORY_MIB": str(UNLIMITED_MIB)}
    return replace(rehearsal, plan=plan, environment=environment).run_rank(rank)
