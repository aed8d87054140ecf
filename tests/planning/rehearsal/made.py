"""Rehearsals as they come back, without running any."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ascend_workbook.findings.finding import Place
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.machine.launch.result import ChildError
from ascend_workbook.planning.card import GIB
from ascend_workbook.planning.rehearsal.memory import KINDS, Holder, Memory
from ascend_workbook.planning.rehearsal.reads import Read
from ascend_workbook.planning.rehearsal.runs import RankRun
from ascend_workbook.planning.rehearsal.settings import Cluster, make_cluster
from ascend_workbook.planning.rehearsal.work import Call, Collective, Work


def make_memory(
    reserved_gib: float, *, rank: int = 0, refused_gib: float = 0.0, active_gib: float | None = None
) -> Memory:
    """Make the memory of a rank that reserves so much, half of it weights."""
    reserved = int(reserved_gib * GIB)
    active = reserved if active_gib is None else int(active_gib * GIB)
    by_kind = {**dict.fromkeys(KINDS, 0), "weights": active // 2, "activations": active - active // 2}
    holders = (
        Holder("weights", "layers.*.q", "", 0, active // 2, 32),
        Holder("activations", "head", "train.py", 8, 5, 1),
    )
    curve = ((1, reserved, by_kind),)
    refused = int(refused_gib * GIB)
    return Memory(rank, active, reserved, active, True, by_kind, holders, curve, (), refused, GIB, 3.0, 4.0)


MATMUL = Call("aten::mm", ((4096, 4096), (4096, 4096)), ("DT_BF16", "DT_BF16"), ((4096, 4096),), ("DT_BF16",))
REDUCE = Collective("hcom_allReduce", "g", 1 << 20, "bfp16", 1 << 21, 1 << 21, 7)
WORK = Work((MATMUL, MATMUL, MATMUL, REDUCE))


def make_run(
    memory: Memory | None,
    *,
    rank: int = 0,
    error: ChildError | None = None,
    work: Work | None = WORK,
    reads: tuple[Read, ...] = (),
) -> RankRun:
    """Make a run that came to its steps, or ended with the error."""
    trouble = Sentence("launch.failed", error=error.message, place="", code=1, steps=1) if error else None
    result = LaunchResult("failed" if error else "stopped_after", int(bool(error)), Path(), (), 1.0, error, trouble)
    return RankRun(rank, result, memory, work, reads)


def make_rehearsal(cluster: Cluster | None = None, root: Path = Path("/nowhere")) -> Any:
    """Make what a report asks of a rehearsal, for the script train.py in a folder."""
    layout, script = SimpleNamespace(root=root), root / "train.py"
    original = SimpleNamespace(
        given=script, script=script, args=("--size", "7b"), findings=(), layout=layout, texts={script: b""}
    )
    original.place_of_line = lambda name, line: Place(name.as_posix(), line)
    plan = SimpleNamespace(
        original=original, out=Path("/nowhere"), script=Path("train.py"), steps=2, touched={}, copies={}, network=False
    )
    return SimpleNamespace(plan=plan, cluster=cluster or make_cluster("910B3", 1, None, "60GiB"), environment=None)
