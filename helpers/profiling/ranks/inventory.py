"""What was found: findings about profiles that are missing, doubled, unread or of another run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.readers.ranks import RankProfiles
from helpers.words import Scalar

CODE = "PRF350"


def inventory(
    found: RankProfiles, cluster: Cluster, unread: Mapping[int, WorkbookError], others: list[int]
) -> Iterator[Finding]:
    """One finding for each thing that is not as it should be."""
    for rank, error in unread.items():
        told: Scalar = {"say": error.key, "args": error.arguments}
        yield Finding("PRF310", Status.FAIL, "PRF310.unread", {"rank": rank, "error": told})
    for rank, older in found.older.items():
        used = found.profiles[rank]
        twice: dict[str, Scalar] = {"rank": rank, "count": len(older) + 1, "used": used.name}
        yield Finding(CODE, Status.WARN, "PRF350.twice", twice, Place(str(used)))
    for path in found.untold:
        yield Finding(CODE, Status.WARN, "PRF350.untold", {"path": str(path)}, Place(str(path)))
    if others:
        args: dict[str, Scalar] = {"others": list(others), "kept": list(cluster.ranks)}
        yield Finding(CODE, Status.WARN, "PRF350.other_run", args)
    tables = [rank for rank, one in cluster.ranks.items() if one.tables_only]
    if tables:
        yield Finding(CODE, Status.NOTE, "PRF350.tables", {"ranks": list(tables)})
    yield from _missing(found, cluster)


def _missing(found: RankProfiles, cluster: Cluster) -> Iterator[Finding]:
    world = cluster.world_size
    missing = [rank for rank in range(world) if rank not in found.profiles]
    if missing:
        args: dict[str, Scalar] = {"ranks": world - len(missing), "world": world, "missing": spans(missing)}
        yield Finding(CODE, Status.SKIPPED, "PRF350.missing", args)


def spans(numbers: list[int]) -> str:
    """[2, 3, 4, 7] -> `2-4, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def selected(text: str) -> list[int]:
    """`0,3-5` -> [0, 3, 4, 5]. Raises WorkbookError for anything else."""
    found: set[int] = set()
    for piece in text.split(","):
        first, dash, last = (part.strip() for part in piece.partition("-"))
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) < 10**6):
            raise WorkbookError("ranks.selection", given=text)
        found.update(range(int(first), int(last) + 1))
    return sorted(found)
