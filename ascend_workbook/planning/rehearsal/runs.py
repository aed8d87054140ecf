"""Runs ranks of a training on the simulated NPU in its shapes-only mode, each alone; which ranks have to be run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, Plugin, Progress
from ascend_workbook.migration.dry_run import sides
from ascend_workbook.migration.dry_run.original import Original
from ascend_workbook.migration.rewrite.change import INJECT
from ascend_workbook.planning.card import outside_bytes
from ascend_workbook.planning.rehearsal.memory import Memory, load_memory
from ascend_workbook.planning.rehearsal.reads import Read, load_reads
from ascend_workbook.planning.rehearsal.settings import DISTINCT, Cluster
from ascend_workbook.planning.rehearsal.stand_ins import (
    FORWARD,
    LAUNCHER,
    MOST_FILES,
    StandIn,
    configure,
    configure_hub,
    configure_pipelines,
    find_missing,
    load_stand_ins,
)
from ascend_workbook.planning.rehearsal.work import Work, load_work

Note = TypeVar("Note", Read, StandIn)
CHILD = Path(__file__).parents[1] / "child"
WATCH = CHILD / "rehearsal_watch.py"
PEERS = CHILD / "pipeline_peers.py"
#: In a rank's folder: what it and stages before it told, and the mark of one that wanted to know.
TOLD, WANTED = "told", "wanted"
STAND_INS = CHILD / "stand_ins.py"
FILES = CHILD / "files.py"
WEIGHTS = CHILD / "weights.py"
LOGGERS = CHILD / "loggers.py"
OLDER = CHILD / "older.py"
HUB = CHILD / "hub.py"
GRAPHS = CHILD / "graphs.py"
PROCESSORS = CHILD / "processors.py"
PIPELINES = CHILD / "pipelines.py"
MOVED = CHILD / "moved.py"
LEAN_LOADING = CHILD / "lean_loading.py"
MIB = 1 << 20
#: Events of the allocator that are kept, about 0.3 KiB each.
MOST_EVENTS = 2_000_000
#: Ranks that are run where they differ: the search stops there, and the report says between which ranks.
MOST_DISTINCT = 8
#: The part of a run's time after which it writes down what there is: one that is ended may have made steps.
WRITTEN_AT = 0.85
PORT = 29500
#: torch.distributed.broadcast asks for it (torch 2.13); torch_npu has none and takes it from the environment.
CAPABILITY = "8.0"


@dataclass(frozen=True)
class RankRun:
    """What one rank of a rehearsal came to. memory, work: None where it ended before there was any."""

    rank: int
    result: LaunchResult
    memory: Memory | None
    work: Work | None
    reads: tuple[Read, ...]
    stand_ins: tuple[StandIn, ...] = ()

    @property
    def out_of_memory(self) -> bool:
        """Return whether the device's memory ran out."""
        return bool(self.memory is not None and self.memory.refused and not self.result.ok)

    @property
    def signature(self) -> tuple[object, ...]:
        """Return what two ranks that do the same share: the peak to the byte and the work."""
        memory, work = self.memory, self.work
        return (self.result.ok, memory and (memory.peak, memory.reserved), work and work.signature)


@dataclass(frozen=True)
class Rehearsal:
    """One way to run a training: the plan of its launches, the cluster, and what is set in its environment.

    stand_ins: whether what is not on this machine is made up. files: those that a run did not find, and that the runs
    after it are given."""

    plan: sides.Plan
    cluster: Cluster
    device: Device
    assume: str = ""
    environment: Mapping[str, str] | None = None
    plugins: tuple[Plugin, ...] = ()
    stand_ins: bool = True
    files: list[str] = field(default_factory=list)
    on_progress: Callable[[int, Progress], None] | None = None

    def run_rank(self, rank: int) -> RankRun:
        """Run one rank of the world alone; its peers are imagined.

        Where data is not there that may be made up, it is run again with that; what stops it then is told beside what
        was made up, for either may be to blame. One that never used the NPU is run again with its models there."""
        folder = self.plan.out / f"rank{rank}"
        result = self._launch(rank)
        while not result.ok and self.stand_ins and len(self.files) < MOST_FILES:
            missing = find_missing(result, folder)
            if missing is None or missing in self.files:
                break
            self.files.append(missing)
            result = self._launch(rank)
        written = folder / f"memory.rank{rank}.json"
        memory = load_memory(written) if written.is_file() else None
        trained = result.ok or memory is not None and bool(memory.steps)
        if trained and self.stand_ins and not _used_device(memory):
            moved = self._launch(rank, Plugin(MOVED, early=True))
            memory = load_memory(written) if written.is_file() else None
            blamed = moved.ok or not result.ok or memory is None or not memory.steps
            result = moved if _used_device(memory) and blamed else result  # a script that ran through is not at fault
        reads = tuple(self._find_in_original(rank, read) for read in load_reads(folder / "reads.jsonl"))
        stand_ins = tuple(self._find_in_original(rank, each) for each in load_stand_ins(folder / "stand_ins.jsonl"))
        return RankRun(rank, result, memory, load_work(folder / f"work.rank{rank}"), reads, stand_ins)

    def _find_in_original(self, rank: int, note: Note) -> Note:
        """Return what a run noted with its place in the user's own file."""
        place = sides.place_of(self.plan, f"rank{rank}", note.file, note.line)
        return note if place is None else replace(note, file=place.path, line=place.line)

    def _launch(self, rank: int, *others: Plugin) -> LaunchResult:
        side = f"rank{rank}"
        folder = self.plan.out / side
        shutil.rmtree(folder, ignore_errors=True)
        limit = self.plan.timeout_s
        early = None if limit is None else limit * WRITTEN_AT
        config = {"record_step": self.plan.steps, "most_events": MOST_EVENTS, "write_after_s": early}
        if self.shapes_folder.is_dir():
            shutil.copytree(self.shapes_folder, folder / TOLD)
        peers = Plugin(PEERS, {"folder": str(folder / TOLD)})
        plugins = [Plugin(WATCH, config), peers, Plugin(LEAN_LOADING, early=True)]
        if self.stand_ins:
            plugins += [Plugin(file, early=True) for file in (OLDER, GRAPHS, PROCESSORS)]
            plugins.append(Plugin(STAND_INS, {"forward": FORWARD in self.files}, early=True))
            plugins.append(Plugin(LOGGERS, {"offline": not self.plan.network}, early=True))
            files = configure(self.files, self.plan.network)
            plugins += [Plugin(FILES, files, early=True), Plugin(WEIGHTS, {"files": files["weights"]}, early=True)]
            plugins.append(Plugin(PIPELINES, configure_pipelines(), early=True))
            plugins.append(Plugin(HUB, configure_hub(self.plan.network, self.files), early=True))
        result = sides.run_side(
            self.plan,
            side,
            self.device,
            self._tell_progress(rank),
            [*plugins, *others, *self.plugins],
            grad_norm=False,
            deterministic=False,
            environment=self._make_environment(rank, folder),
        )
        for file in folder.glob(f"{TOLD}/*.{TOLD}"):
            self.shapes_folder.mkdir(exist_ok=True)
            shutil.copy(file, self.shapes_folder)
        return result

    @property
    def shapes_folder(self) -> Path:
        """Return the folder where pipeline stages tell each other the shapes of what they send."""
        return self.plan.out / TOLD

    def _tell_progress(self, rank: int) -> sides.Told | None:
        tell = self.on_progress
        return None if tell is None else lambda _, progress: tell(rank, progress)

    def _make_environment(self, rank: int, folder: Path) -> dict[str, str]:
        cluster = self.cluster
        least, _ = outside_bytes(0)
        env = {
            "ASCEND_WORKBOOK_SIM_SHAPES_ONLY": "1",
            "ASCEND_WORKBOOK_SIM_MEMORY_MIB": str((cluster.memory - least) // MIB),
            "ASCEND_WORKBOOK_SIM_DEVICES": str(cluster.node_cards),
            "ASCEND_WORKBOOK_SIM_READS": str(folder / "reads.jsonl"),
            "OMP_NUM_THREADS": "1",
            "TORCH_NPU_DEVICE_CAPABILITY": CAPABILITY,
            **(self.environment or {}),
        }
        if self.assume:
            env["ASCEND_WORKBOOK_SIM_ASSUME"] = self.assume
        if cluster.cards > 1 or LAUNCHER in self.files:
            place = {"RANK": rank, "WORLD_SIZE": cluster.cards, "LOCAL_RANK": rank % cluster.node_cards}
            place |= {"LOCAL_WORLD_SIZE": cluster.node_cards, "GROUP_RANK": rank // cluster.node_cards}
            place |= {"GROUP_WORLD_SIZE": cluster.nodes, "MASTER_PORT": PORT + os.getpid() % 20000 + rank % 512}
            env |= {name: str(value) for name, value in place.items()}
            env["MASTER_ADDR"] = "127.0.0.1"
        if cluster.cards > 1:
            env["ASCEND_WORKBOOK_SIM_ALONE"] = "1"
        return env


def _used_device(memory: Memory | None) -> bool:
    """Return whether anything was ever asked of the device."""
    return memory is not None and bool(memory.reserved or memory.refused)


def make_rehearsal(
    original: Original,
    out: Path,
    cluster: Cluster,
    steps: int,
    *,
    seed: int,
    assume: str = "",
    stand_ins: bool = True,
    network: bool = False,
    python: str = sys.executable,
    timeout_s: float | None = None,
    on_progress: Callable[[int, Progress], None] | None = None,
) -> Rehearsal:
    """Make the rehearsal of a training. Raises WorkbookError where there is no simulated NPU."""
    device = devices.find("npu-simulated", python=python)
    plan = sides.Plan(replace(original, nproc=1), out, steps, seed, python, timeout_s, None, None, INJECT, network)
    return Rehearsal(plan, cluster, device, assume, stand_ins=stand_ins, on_progress=on_progress)


def run_ranks(rehearsal: Rehearsal, ranks: Sequence[int] | str) -> list[RankRun]:
    """Run the ranks that are asked for; of `distinct` those that differ, found by halving between ranks that do."""
    if ranks != DISTINCT:
        return _run_together(rehearsal, [int(rank) for rank in ranks])
    last = rehearsal.cluster.cards - 1
    runs = {run.rank: run for run in _run_together(rehearsal, sorted({0, last}))}
    if not all(run.result.ok for run in runs.values()):
        return [runs[rank] for rank in sorted(runs)]
    middle = last // 2
    if middle not in runs:  # both ends alike say nothing of a stage in the middle
        runs |= {run.rank: run for run in _run_together(rehearsal, [middle])}
    while len(runs) < MOST_DISTINCT:
        gaps = _find_differences(runs)[: min(MOST_DISTINCT - len(runs), os.cpu_count() or 1)]
        if not gaps:
            break
        runs |= {run.rank: run for run in _run_together(rehearsal, [sum(gap) // 2 for gap in gaps])}
    return [runs[rank] for rank in sorted(runs)]


def _find_differences(runs: Mapping[int, RankRun]) -> list[tuple[int, int]]:
    """Return the neighbours that differ and have ranks between them, those with most first."""
    known = sorted(runs)
    gaps = [(low, high) for low, high in zip(known, known[1:]) if high - low > 1]
    differing = [(low, high) for low, high in gaps if runs[low].signature != runs[high].signature]
    return sorted(differing, key=lambda gap: gap[0] - gap[1])


def _run_together(rehearsal: Rehearsal, ranks: Sequence[int]) -> list[RankRun]:
    """Run several ranks; those again that wanted to know what the first stage of a pipeline sends."""
    runs = _run_at_once(rehearsal, ranks)
    wanting = [rank for rank in ranks if (rehearsal.plan.out / f"rank{rank}" / TOLD / WANTED).is_file()]
    if wanting:
        if 0 not in ranks:
            rehearsal.run_rank(0)
        again = {run.rank: run for run in _run_at_once(rehearsal, wanting)}
        runs = [again.get(run.rank, run) for run in runs]
    return runs


def _run_at_once(rehearsal: Rehearsal, ranks: Sequence[int]) -> list[RankRun]:
    """Run several ranks, as many at once as there are processors; the first error ends all."""
    with ThreadPoolExecutor(max(1, min(len(ranks), os.cpu_count() or 1))) as pool:
        return list(pool.map(rehearsal.run_rank, ranks))
